import { useState } from "preact/hooks";
import { del, useList } from "../../lib/api";
import { ago, fullTime } from "../../lib/format";
import { type Translate, useTexts } from "../../lib/i18n";
import { signOut, useMe } from "../../lib/session";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { PageHead } from "../../ui/Card";
import { Confirm } from "../../ui/Dialog";
import { Empty, Failed } from "../../ui/Empty";
import { Check } from "../../ui/Field";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";

interface Signed { id: string; name?: string; person?: string; role?: string; way?: string; made_at?: string; used_at?: string; expires_at?: string; address?: string; browser?: string; current?: boolean }

// The first entry that fits wins, because Edge calls itself Chrome too, and Chrome Safari.
const browsers: [sign: RegExp, name: string][] = [[/Edg(e|A|iOS)?\//, "Edge"], [/(Firefox|FxiOS)\//, "Firefox"], [/Chromium\/|HeadlessChrome\//, "Chromium"], [/(Chrome|CriOS)\//, "Chrome"], [/Safari\//, "Safari"]];
const systems: [sign: RegExp, name: string][] = [[/Android/, "Android"], [/iPhone|iPad/, "iOS"], [/Windows/, "Windows"], [/Mac OS X/, "macOS"], [/CrOS/, "ChromeOS"], [/Linux/, "Linux"]];

/** The browser and its system in words, by the User-Agent: "Firefox on Linux". An unknown one stays as it is. */
function browserName(agent: string, t: Translate): string {
  const find = (list: [RegExp, string][]) => list.find(([sign]) => sign.test(agent))?.[1];
  const browser = find(browsers), system = find(systems);
  return browser && system ? t("where.on", { browser, system }) : browser ?? agent;
}

/** Where a person is signed in, and signs out elsewhere. Admins see all sessions. */
export default function Sessions() {
  const t = useTexts();
  const me = useMe();
  const [all, setAll] = useState(false);
  const [ending, setEnding] = useState<Signed>();
  const list = useList<Signed>("v1/sessions", all ? { all: true } : {});
  const own = (s: Signed) => s.current ?? s.id === me.session?.id;
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")}>{me.role === "admin" && <Check label={t("all")} checked={all} onChange={setAll} />}</PageHead>
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.loading && list.items.length === 0 ? <Spinner page /> : list.items.length === 0 ? <Empty title={t("none")} icon="sessions" /> : (
        <Table caption={t("title")} rows={list.items} rowKey={(s) => s.id} more={list.more} onMore={list.loadMore} busy={list.loading} columns={[
          { id: "who", label: t("who"), cell: (s) => <>{s.name || s.person || me.name} {own(s) && <Badge tone="good">{t("this")}</Badge>}</> },
          { id: "way", label: t("way"), cell: (s) => s.way ?? "", hideNarrow: true },
          { id: "where", label: t("where"), cell: (s) => <span title={s.browser}>{[s.browser && browserName(s.browser, t), s.address].filter(Boolean).join(", ")}</span> },
          { id: "used", label: t("used"), cell: (s) => <span title={fullTime(s.used_at)}>{ago(s.used_at)}</span> },
          { id: "until", label: t("until"), cell: (s) => <span title={fullTime(s.expires_at)}>{ago(s.expires_at)}</span> },
          { id: "end", label: "", align: "end", cell: (s) => <Button small kind="danger" onClick={() => setEnding(s)}>{own(s) ? t("signout") : t("end")}</Button> },
        ]} />
      )}
      {ending && <Confirm title={own(ending) ? t("signout") : t("end")} text={t("end.text")} label={own(ending) ? t("signout") : t("end")} danger onClose={() => setEnding(undefined)}
        doIt={async () => { if (own(ending)) await signOut(); else { await del(`v1/sessions/${encodeURIComponent(ending.id)}`); list.reload(); } }} />}
    </div>
  );
}
