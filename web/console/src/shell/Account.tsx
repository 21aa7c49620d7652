import { useState } from "preact/hooks";
import { browserZone, otherZone } from "../lib/format";
import { language, languages, useTexts, type Language } from "../lib/i18n";
import { href, navigate } from "../lib/router";
import { prefer, signOut, type Me } from "../lib/session";
import { setTheme, theme, type Theme } from "../lib/theme";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { failed } from "../ui/Toast";
import { mayUse } from "./nav";

/** Who is signed in, with connections, sessions, language, theme and signing out. */
export function Account({ me }: { me: Me }) {
  const t = useTexts();
  const [, setTurn] = useState(0);
  const pick = (value: Theme) => { setTheme(value); setTurn((n) => n + 1); };
  return (
    <Menu class="account" up label={<><Icon name="person" /><span class="grow clip">{me.name || me.person}<span class="faint block">{t("role." + me.role)}</span></span><Icon name="more" /></>} name={t("account")} items={[
      ...mayUse(me, "connections") ? [{ label: t("nav.connections"), do: () => navigate(href("connections")) }] : [],
      ..."sessions" in PAGES ? [{ label: t("nav.sessions"), do: () => navigate(href("sessions")) }] : [],
      { label: t("signout"), do: () => signOut().catch(failed) },
      { heading: t("theme") },
      ...(["auto", "light", "dark"] as Theme[]).map((value) => ({ label: t("theme." + value), checked: theme() === value, do: () => pick(value) })),
      { heading: t("language") },
      ...(Object.keys(languages) as Language[]).map((value) => ({ label: languages[value], lang: value, checked: language() === value, do: () => prefer({ language: value }).catch(failed) })),
      ...otherZone() ? [{ heading: t("zone", { zone: otherZone() }) }, { label: t("zone.use", { zone: browserZone }), do: () => prefer({ timezone: browserZone }).catch(failed) }] : [],
    ]} />
  );
}
