import { useState } from "preact/hooks";
import { useTexts } from "../../lib/i18n";
import { href, Link, navigate } from "../../lib/router";
import { signIn } from "../../lib/session";
import { Button } from "../../ui/Button";

/** Signs in by a one-time link. The code is in the fragment, which no server sees, and a
 * press spends it, since programs that preview links open them. */
export default function Enter() {
  const t = useTexts();
  const [code] = useState(() => location.hash.slice(1));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(code ? "" : t("nocode"));
  const enter = async () => {
    setBusy(true);
    try {
      await signIn({ link: code });
      history.replaceState(null, "", href("enter")); // the code stays in no history
      navigate(href(), true);
    } catch (err) {
      setError((err as { status?: number }).status === 401 ? t("spent") : (err as Error).message);
      setBusy(false);
    }
  };
  return (
    <main class="gate" id="main">
      <div class="gate-card stack">
        <h1 class="gate-brand"><img src={href("icon.svg")} alt="" width="36" height="36" />legwork</h1>
        <p>{t("lead")}</p>
        {error && <p class="note is-bad" role="alert">{error}</p>}
        {!code && <Link to={href()} class="button is-wide">{t("open")}</Link>}
        {code && <Button kind="primary" wide busy={busy} onClick={enter} autofocus>{t("do")}</Button>}
        <p class="faint">{t("careful")}</p>
      </div>
    </main>
  );
}
