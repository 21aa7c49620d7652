import { useState } from "preact/hooks";
import { at } from "../../lib/base";
import { get } from "../../lib/api";
import { bytes, fullTime, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Markdown } from "../../lib/markdown";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Json } from "../../ui/Json";
import { failed } from "../../ui/Toast";
import { LongText } from "./LongText";
import { besides, decided, gist, type Message, senderName, subtaskName, type TaskFile } from "./types";

const whole = new Map<string, unknown>(); // contents that were loaded whole, the newest last

/** Reads the whole content of a message in parts. */
async function readWhole(id: string, seq: number): Promise<unknown> {
  const key = `${id}/${seq}`;
  if (!whole.has(key)) {
    let text = "";
    for (let offset: number | null = 0; offset !== null;) {
      const part: { part: string; next_offset: number | null } = await get(`v1/tasks/${encodeURIComponent(id)}/context/${seq}`, { offset, limit: 262144 });
      text += part.part;
      offset = part.next_offset;
    }
    if (whole.size > 20) whole.delete(whole.keys().next().value!);
    whole.set(key, JSON.parse(text));
  }
  return whole.get(key);
}

/** A message with its content: texts as Markdown, calls and results folded unless open. */
export function MessageView({ id, message: m, results, open }: { id: string; message: Message; results?: Map<string, Message>; open?: boolean }) {
  const t = useTexts();
  const [content, setContent] = useState<any>(m.content);
  const [busy, setBusy] = useState(false);
  const cut = content === m.content && !!m.content_bytes;
  const load = async () => {
    setBusy(true);
    await readWhole(id, m.seq).then(setContent, failed);
    setBusy(false);
  };
  return (
    <article class={"task-message is-" + m.sender_type} id={"m" + m.seq} aria-label={`${t("type." + m.type)} ${m.seq}`}>
      <header class="row"><strong>{t("type." + m.type)}</strong><span class="faint" title={m.sender_id}>{senderName(m, t)}</span><span class="grow" /><time class="faint" dateTime={m.timestamp} title={fullTime(m.timestamp)}>#{m.seq} · {time(m.timestamp)}</time></header>
      <Content id={id} m={m} content={content} results={results} open={open} />
      {cut && <div><Button small busy={busy} icon="download" onClick={load}>{t("whole", { size: bytes(m.content_bytes) })}</Button></div>}
      {m.files && <Files files={m.files} />}
    </article>
  );
}

function Content({ id, m, content: c, results, open }: { id: string; m: Message; content: any; results?: Map<string, Message>; open?: boolean }) {
  const t = useTexts();
  if (typeof c === "string") return <LongText text={c} label={t("content")} />;
  if (c === null || typeof c !== "object") return <Json value={c} />;
  if (m.type === "tool_result") {
    return (
      <Fold open={open} head={<><span class="mono">{c.tool}</span> {c.failed && <Badge tone="bad">{t("result.failed")}</Badge>}{c.outcome_unknown && <Badge tone="warn">{t("result.unknown")}</Badge>} <span class="faint clip">{gist({ ...m, content: { text: c.text } }, t)}</span></>}>
        {c.result_bytes > 0 && <p class="faint">{t("result.cut", { size: bytes(c.result_bytes) })}</p>}
        <LongText text={String(c.text ?? "")} label={t("result")} />
      </Fold>
    );
  }
  if (Array.isArray(c.calls) && m.type !== "approval") {
    return (
      <>
        {c.thought && <Markdown text={String(c.thought)} />}
        {c.calls.map((call: any, i: number) => {
          const result = results?.get(`${m.seq}/${i + 1}`);
          return (
            <Fold key={i} open={open} head={<><Icon name="tools" size={14} /> <span class="mono">{call.tool}</span> {call.refusal && <Badge tone="bad">{t("refused")}</Badge>} <span class="faint clip">{typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments)}</span></>}>
              <Arguments value={call.arguments} />
              {call.refusal && <p>{call.refusal}</p>}
              {call.result && <LongText text={String(call.result)} label={t("result")} />}
              {result && <MessageView id={id} message={result} open />}
            </Fold>
          );
        })}
      </>
    );
  }
  if (Array.isArray(c.subtasks)) {
    return (
      <>
        {c.thought && <Markdown text={String(c.thought)} />}
        <ul>{c.subtasks.map((s: any) => <li key={s.id}><strong>{subtaskName(s.id, t)} · {s.name}</strong>: {s.description}{s.after?.length > 0 && <span class="faint"> ← {s.after.map((a: string) => subtaskName(a, t)).join(", ")}</span>}</li>)}</ul>
      </>
    );
  }
  if (m.type === "approval" && c.decision) {
    const rest = besides(c);
    return <><p title={c.approval}>{decided({ ...m, content: c }, t)}</p>{c.comment && <Markdown text={String(c.comment)} />}{Object.keys(rest).length > 0 && <Json value={rest} open={2} />}</>;
  }
  const prose = ["goal", "answer", "observation", "human_input", "thought"].includes(m.type) && typeof c.text === "string";
  const { text, subtask: _, ...rest } = c;
  return (
    <>
      {c.event && m.type === "status_update" && <p>{gist(m, t)}</p>}
      {prose && (text.length > 60_000 ? <LongText text={text} label={t("content")} /> : <Markdown text={text} />)}
      {(!prose || Object.keys(rest).length > 0) && <Json value={prose ? rest : c} open={2} />}
    </>
  );
}

/** Arguments of a call: long texts in them stay readable. */
export function Arguments({ value }: { value: unknown }) {
  const t = useTexts();
  return typeof value === "string" ? <LongText text={value} label={t("arguments")} /> : <LongText text={JSON.stringify(value, null, 2)} label={t("arguments")} />;
}

function Fold({ head, open, children }: { head: preact.ComponentChildren; open?: boolean; children: preact.ComponentChildren }) {
  const [shown, setShown] = useState(!!open);
  return <details class="task-fold" open={shown} onToggle={(e) => setShown(e.currentTarget.open)}><summary>{head}</summary>{shown && <div class="stack">{children}</div>}</details>;
}

/** Files with their sizes, to be downloaded. */
export function Files({ files }: { files: TaskFile[] }) {
  return <ul class="task-files">{files.map((f) => <li key={f.id}><a href={at("v1/files/" + f.id).href} download={f.name}><Icon name="file" size={14} /> {f.name}</a> <span class="faint">{f.type} · {bytes(f.bytes)}</span></li>)}</ul>;
}
