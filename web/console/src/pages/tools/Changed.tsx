import { useState } from "preact/hooks";
import { post, Problem } from "../../lib/api";
import { useTexts } from "../../lib/i18n";
import { may } from "../../lib/session";
import { visible } from "../../lib/visible";
import { Button } from "../../ui/Button";
import { Card } from "../../ui/Card";
import { Dialog } from "../../ui/Dialog";
import { Diff } from "../../ui/Diff";
import { Check, Field } from "../../ui/Field";
import { toast } from "../../ui/Toast";
import type { Change, Details } from "./types";

/** The changed tools of a server with their differences. Admins accept them with a code. */
export function Changed({ server, onDone }: { server: Details; onDone: (d: Details) => void }) {
  const t = useTexts();
  const [chosen, setChosen] = useState<string[]>([]);
  const [asking, setAsking] = useState(false);
  const changes = server.changes.filter((c) => chosen.includes(c.id));
  const choose = (c: Change, on: boolean) => setChosen(on ? [...chosen, c.id] : chosen.filter((id) => id !== c.id));
  return (
    <Card title={t("changed.title")} actions={may("tools") && <Button kind="primary" disabled={changes.length === 0} onClick={() => setAsking(true)}>{t("accept")}</Button>}>
      <p class="muted">{may("tools") ? t("changed.text") : t("changed.wait")}</p>
      {server.changes.map((c) => (
        <div key={c.id} class="stack tools-change">
          {may("tools") ? <Check label={<span class="mono">{visible(c.tool)}</span>} checked={chosen.includes(c.id)} onChange={(on) => choose(c, on)} /> : <h3 class="mono">{visible(c.tool)}</h3>}
          <Diff text={c.difference} label={t("difference", { tool: visible(c.tool) })} />
        </div>
      ))}
      {asking && <Accept server={server.name} changes={changes} onClose={() => setAsking(false)} onDone={(d) => { setAsking(false); setChosen([]); onDone(d); }} />}
    </Card>
  );
}

// Accept asks legwork to show a code, and sends it.
function Accept({ server, changes, onClose, onDone }: { server: string; changes: Change[]; onClose: () => void; onDone: (d: Details) => void }) {
  const t = useTexts();
  const [code, setCode] = useState("");
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const send = async (code: string) => {
    setBusy(true);
    setError("");
    try {
      onDone(await post<Details>(`v1/servers/${encodeURIComponent(server)}/accept`, { changes: changes.map((c) => c.id), ...(code && { code }) }));
      toast(t("accepted"));
    } catch (err) {
      const problem = err as Problem;
      setBusy(false);
      if (problem.code === "code_needed") setShown(true);
      else if (problem.status === 422) { setError(t("code.wrong")); setCode(""); } else setError(problem.message);
    }
  };
  return (
    <Dialog title={t("accept.title")} onClose={onClose} actions={
      <><Button onClick={onClose}>{t("cancel")}</Button>
        {shown ? <Button kind="primary" busy={busy} disabled={!code.trim()} onClick={() => send(code.trim())}>{t("accept")}</Button>
          : <Button kind="primary" busy={busy} onClick={() => send("")}>{t("code.show")}</Button>}</>
    }>
      <p>{t("accept.text", { tools: changes.map((c) => visible(c.tool)).join(", ") })}</p>
      {!shown && error && <p class="note is-bad" role="alert">{error}</p>}
      {shown && (
        <form onSubmit={(e) => { e.preventDefault(); if (code.trim()) void send(code.trim()); }}>
          <Field label={t("code")} hint={<>{t("code.hint")} <Button kind="plain" small type="button" onClick={() => { setCode(""); void send(""); }}>{t("code.again")}</Button></>} error={error}>
            {(p) => <input {...p} type="text" autocomplete="one-time-code" spellcheck={false} value={code} ref={(input) => input?.focus()} onInput={(e) => setCode(e.currentTarget.value)} />}
          </Field>
        </form>
      )}
    </Dialog>
  );
}
