import { useEffect, useState } from "preact/hooks";
import { Problem } from "../lib/api";
import { at } from "../lib/base";
import { get } from "../lib/api";
import { useTexts } from "../lib/i18n";
import { href } from "../lib/router";
import { signIn } from "../lib/session";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";

interface Ways { token: boolean; oidc: string }

/** Asks for a token, or leads to the sign-in of an organisation. inside: within a dialog. */
export function SignIn({ inside }: { inside?: boolean }) {
  const t = useTexts();
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const [ways, setWays] = useState<Ways>();
  useEffect(() => { get<Ways>("v1/session/ways").then(setWays, () => setWays({ token: true, oidc: "" })); }, []);

  const submit = async (e: Event) => {
    e.preventDefault();
    if (!token.trim()) return setError(t("signin.empty"));
    setBusy(true);
    setError("");
    try {
      await signIn({ token: token.trim() });
    } catch (err) {
      const p = err as Problem;
      setError(p.status === 401 ? t("signin.wrong") : p.message);
    }
    setBusy(false);
  };
  const form = (
    <>
      {ways?.oidc && <a class="button is-primary is-wide" href={at("v1/session/oidc").href}>{ways.oidc}</a>}
      {ways?.token !== false && (
        <form class="stack" onSubmit={submit}>
          <Field label={t("signin.token")} hint={t("signin.hint")} error={error}>
            {(p) => <input {...p} type="password" autocomplete="current-password" spellcheck={false} value={token} onInput={(e) => setToken(e.currentTarget.value)} autofocus />}
          </Field>
          <Button kind={ways?.oidc ? undefined : "primary"} type="submit" busy={busy} wide>{t("signin.do")}</Button>
        </form>
      )}
      <p class="faint">{t("signin.link")}</p>
    </>
  );
  if (inside) return <div class="stack">{form}</div>;
  return (
    <main class="gate" id="main">
      <div class="gate-card stack">
        <h1 class="gate-brand"><img src={href("icon.svg")} alt="" width="36" height="36" />legwork</h1>
        <p class="muted">{t("signin.lead")}</p>
        {form}
      </div>
    </main>
  );
}
