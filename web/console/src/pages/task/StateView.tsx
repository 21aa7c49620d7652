import { useEffect, useState } from "preact/hooks";
import { call, Problem, useData } from "../../lib/api";
import { fullTime, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { may } from "../../lib/session";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Failed } from "../../ui/Empty";
import { Field } from "../../ui/Field";
import { Json } from "../../ui/Json";
import { toast } from "../../ui/Toast";
import { type Message, senderName } from "./types";

interface Shared { state: Record<string, unknown>; version: number; versions: Record<string, number>; over?: boolean }

/** The shared state with the version of each key, its changes, and a way to edit it. A
 * change that somebody else made meanwhile is not overwritten. */
export function StateView({ id, version, messages, over }: { id: string; version: number; messages: Message[]; over: boolean }) {
  const t = useTexts();
  const path = `v1/tasks/${encodeURIComponent(id)}/state`;
  const { data, error, reload, etag } = useData<Shared>(path);
  const [edit, setEdit] = useState<{ key: string; text: string; fresh: boolean; etag: string }>();
  useEffect(reload, [version]);
  if (error) return <Failed error={error} again={reload} />;
  if (!data) return null;
  const keys = Object.keys(data.state).sort();
  const changes = messages.filter((m) => m.content?.state || m.content?.calls?.some?.((c: any) => c.tool === "update_state"));
  return (
    <div class="stack">
      <div class="row"><h2 class="grow">{t("state.title", { version: data.version })}</h2>{may("merge") && !over && <Button icon="plus" onClick={() => setEdit({ key: "", text: "", fresh: true, etag })}>{t("state.add")}</Button>}</div>
      {keys.length === 0 && <p class="muted">{t("state.none")}{over && " " + t("state.over")}</p>}
      {keys.map((key) => (
        <section key={key} class="card">
          <header class="card-head"><h3 class="mono">{key}</h3><div class="row"><span class="faint">{t("state.version", { version: data.versions[key] ?? 0 })}</span>{may("merge") && !over && <Button small icon="edit" label={t("state.edit", { key })} onClick={() => setEdit({ key, text: JSON.stringify(data.state[key], null, 2), fresh: false, etag })} />}</div></header>
          <Json value={data.state[key]} open={2} />
        </section>
      ))}
      {changes.length > 0 && (
        <section class="stack"><h3>{t("state.changes")}</h3>
          {changes.slice(-100).reverse().map((m) => (
            <details key={m.seq} class="task-fold"><summary><span class="num faint">#{m.seq}</span> <time dateTime={m.timestamp} title={fullTime(m.timestamp)}>{time(m.timestamp)}</time> <span title={m.sender_id}>{senderName(m, t)}</span>{m.content.version ? <span class="faint"> {t("state.version", { version: m.content.version })}</span> : null}</summary>
              <Json value={m.content.state ?? m.content.calls.filter((c: any) => c.tool === "update_state").map((c: any) => c.arguments)} open={3} /></details>
          ))}
        </section>
      )}
      {edit && <Edit path={path} start={edit} onClose={() => { setEdit(undefined); reload(); }} />}
    </div>
  );
}

function Edit({ path, start, onClose }: { path: string; start: { key: string; text: string; fresh: boolean; etag: string }; onClose: () => void }) {
  const t = useTexts();
  const [key, setKey] = useState(start.key);
  const [text, setText] = useState(start.text);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (value: unknown) => {
    setBusy(true);
    setError("");
    try {
      await call("PUT", path, { body: { [key.trim()]: value }, headers: { "If-Match": start.etag } });
      toast(t("state.saved"));
      onClose();
    } catch (err) {
      setError(err instanceof Problem && err.status === 412 ? t("state.changed") : (err as Error).message);
      setBusy(false);
    }
  };
  const save = () => {
    if (!key.trim()) return setError(t("state.nokey"));
    let value: unknown;
    try { value = JSON.parse(text); } catch { return setError(t("form.nojson")); }
    void send(value);
  };
  return (
    <Dialog wide title={start.fresh ? t("state.add") : t("state.edit", { key: start.key })} onClose={onClose} actions={<>
      {!start.fresh && <Button kind="danger" icon="trash" onClick={() => send(null)}>{t("delete")}</Button>}
      <Button kind="primary" busy={busy} onClick={save}>{t("save")}</Button>
    </>}>
      {start.fresh && <Field label={t("state.key")}>{(p) => <input {...p} class="input mono" value={key} onInput={(e) => setKey(e.currentTarget.value)} />}</Field>}
      <Field label={t("state.value")} hint={t("state.hint")} error={error}>{(p) => <textarea {...p} class="input mono" rows={12} spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />}</Field>
    </Dialog>
  );
}
