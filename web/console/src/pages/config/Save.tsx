import { useEffect, useRef, useState } from "preact/hooks";
import { post, Problem, put } from "../../lib/api";
import { time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Field } from "../../ui/Field";
import { Icon } from "../../ui/Icon";
import { Spinner } from "../../ui/Spinner";
import { Diff } from "./Diff";
import type { ConfigCheck, ConfigCode, ConfigSaved } from "./types";

/** Shows what a text changes, asks for the code that some changes need, and saves it. */
export function Save({ text, etag, onClose, onSaved, onConflict, onMistakes }: {
  text: string; etag: string; onClose: () => void; onSaved: (saved: ConfigSaved) => void; onConflict: () => void; onMistakes: (checked: ConfigCheck) => void;
}) {
  const t = useTexts();
  const [checked, setChecked] = useState<ConfigCheck>();
  const [sent, setSent] = useState<ConfigCode>();
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    post<ConfigCheck>("v1/config/check", { text }).then(
      (c) => (c.errors.length > 0 ? onMistakes(c) : setChecked(c)),
      (err) => setError((err as Error).message),
    );
  }, []);
  useEffect(() => { if (sent) input.current?.focus(); }, [sent]);
  const dangerous = checked?.dangerous ?? [];
  const send = async () => {
    setBusy(true);
    setError("");
    try {
      setSent(await post<ConfigCode>("v1/config/code", { text }));
    } catch (err) {
      setError((err as Error).message);
    }
    setBusy(false);
  };
  const save = async () => {
    setBusy(true);
    setError("");
    try {
      onSaved(await put<ConfigSaved>("v1/config", code ? { text, code: code.trim() } : { text }, { "If-Match": etag }));
    } catch (err) {
      setBusy(false);
      if (err instanceof Problem && err.status === 412) onConflict();
      else setError((err as Error).message);
      input.current?.select();
    }
  };
  const needsCode = dangerous.length > 0;
  useEffect(() => { if (checked) document.querySelector<HTMLElement>(".dialog-foot .is-primary")?.focus(); }, [checked]);
  // A reload waits some seconds for new tool servers.
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!busy) return;
    const timer = setTimeout(() => setSlow(true), 1500);
    return () => clearTimeout(timer);
  }, [busy]);
  return (
    <Dialog wide title={t("save.title")} onClose={onClose} actions={<>
      <Button onClick={onClose}>{t("cancel")}</Button>
      {needsCode && !sent
        ? <Button kind="primary" busy={busy} onClick={send}>{t("code.show")}</Button>
        : <Button kind="primary" busy={busy} disabled={!checked || (needsCode && code.trim() === "")} onClick={save}>{t("save.do")}</Button>}
    </>}>
      {!checked && !error && <Spinner page />}
      {checked && <Diff text={checked.diff} label={t("save.diff")} />}
      {needsCode && (
        <div class="note is-warn">
          <Icon name="lock" />
          <div class="grow">
            <p>{t("code.why")}</p>
            <p>{dangerous.map((k, i) => <>{i > 0 && ", "}<code key={k}>{k}</code></>)}</p>
          </div>
        </div>
      )}
      {sent && (
        <form onSubmit={(e) => { e.preventDefault(); if (code.trim()) void save(); }}>
          <Field label={t("code.label")} hint={<>{t("code.sent", { until: time(sent.expires_at) })} <Button kind="plain" small type="button" onClick={() => { setCode(""); void send(); }}>{t("code.again")}</Button></>}>
            {(p) => <input {...p} ref={input} type="text" autocomplete="one-time-code" spellcheck={false} class="input mono config-codefield" value={code} onInput={(e) => setCode(e.currentTarget.value)} />}
          </Field>
        </form>
      )}
      {slow && <p role="status" class="muted">{t("save.wait")}</p>}
      {error && <p class="note is-bad" role="alert">{error}</p>}
    </Dialog>
  );
}
