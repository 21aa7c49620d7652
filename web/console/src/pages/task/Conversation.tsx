import { useMemo, useState } from "preact/hooks";
import { duration } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Markdown } from "../../lib/markdown";
import { href, Link } from "../../lib/router";
import { State } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Select } from "../../ui/Field";
import { time } from "../../lib/format";
import { MessageView } from "./MessageView";
import { elapsed, gist, type Message, senderName, type Step, type Subtask, subtaskName, subtaskOf } from "./types";
import { Windowed } from "./Windowed";

const page = 60;

/** Results of tool calls by the place of their call: "SEQ/CALL" of the message that made it. */
export function resultsOf(messages: Message[], steps: Step[]): Map<string, Message> {
  const bySeq = new Map(messages.map((m) => [m.seq, m]));
  return new Map(steps.filter((s) => s.call_seq && s.seq && bySeq.get(s.seq)?.type === "tool_result").map((s) => [`${s.call_seq}/${s.call}`, bySeq.get(s.seq!)!]));
}

/** What the model of a sub-task said and did, in order, with the results in their calls. */
export function Conversation({ id, subtask: s, messages, steps }: { id: string; subtask: Subtask; messages: Message[]; steps: Step[] }) {
  const t = useTexts();
  const own = useMemo(() => messages.filter((m) => subtaskOf(m) === s.id), [messages, s.id]);
  const results = useMemo(() => resultsOf(messages, steps), [messages, steps]);
  const inside = useMemo(() => new Set([...results.values()].map((m) => m.seq)), [results]);
  const shown = own.filter((m) => !inside.has(m.seq) && !(m.type === "status_update" && m.content?.event === "started"));
  const [from, setFrom] = useState(0);
  const turns = steps.filter((x) => x.subtask === s.id && x.kind === "work");
  return (
    <div class="stack">
      <header class="stack">
        <div class="row"><h2>{subtaskName(s.id, t)} · {s.name}</h2><State state={s.state} /><span class="num muted">{duration(elapsed(s.started_at, s.ended_at))}</span><span class="faint">{t("turns", { n: turns.length })}</span></div>
        <Markdown text={s.description} />
        {s.after.length > 0 && <p class="faint">{t("sees")} {s.after.map((a) => <><Link to={href("tasks", id, "subtasks", a)}>{subtaskName(a, t)}</Link> </>)}</p>}
        {s.reason && <p class="note is-bad">{t("reason", { reason: s.reason })}</p>}
        {turns.length > 0 && <p class="faint">{t("prompts")} {turns.slice(0, 20).map((x, i) => <><Link to={href("tasks", id, "steps", x.id)}>{i + 1}</Link> </>)}</p>}
      </header>
      {shown.length > page && (
        <div class="row">
          <Button small disabled={from === 0} icon="left" onClick={() => setFrom(Math.max(0, from - page))}>{t("earlier")}</Button>
          <span class="num faint">{t("range", { from: from + 1, to: Math.min(from + page, shown.length), all: shown.length })}</span>
          <Button small disabled={from + page >= shown.length} icon="right" onClick={() => setFrom(from + page)}>{t("later")}</Button>
          <Button small onClick={() => setFrom(Math.floor((shown.length - 1) / page) * page)}>{t("last")}</Button>
        </div>
      )}
      {shown.slice(from, from + page).map((m) => <MessageView key={m.seq} id={id} message={m} results={results} />)}
      {shown.length === 0 && <p class="muted">{t("nothing")}</p>}
    </div>
  );
}

/** All messages of a task as rows; a row opens its message. */
export function Journal({ id, messages, complete }: { id: string; messages: Message[]; complete: boolean }) {
  const t = useTexts();
  const [type, setType] = useState("");
  const [words, setWords] = useState("");
  const [open, setOpen] = useState<Message>();
  const types = [...new Set(messages.map((m) => m.type))].sort();
  const wanted = words.toLowerCase();
  const rows = useMemo(() => messages.filter((m) => (!type || m.type === type) && (!wanted || JSON.stringify(m.content).toLowerCase().includes(wanted))), [messages, type, wanted]);
  return (
    <div class="stack">
      <div class="row">
        <Select label={t("type")} value={type} onChange={setType} options={[["", t("type.all")], ...types.map((k): [string, string] => [k, t("type." + k)])]} />
        <input class="input task-search" type="search" aria-label={t("search")} placeholder={t("search")} value={words} onInput={(e) => setWords(e.currentTarget.value)} />
        <span class="faint num" role="status">{complete ? t("count", { n: rows.length }) : t("loading")}</span>
      </div>
      <Windowed label={t("journal")} rows={rows} height={34} tall={24} row={(m) => (
        <button type="button" class="task-event" onClick={() => setOpen(m)}>
          <span class="num faint task-event-seq">{m.seq}</span><span class="faint num">{time(m.timestamp)}</span><span class="task-event-type">{t("type." + m.type)}</span>
          <span class="mono clip task-event-from">{senderName(m, t)}</span><span class="clip grow" title={m.content?.event}>{gist(m, t)}</span>
        </button>
      )} />
      {open && <Dialog wide title={`${t("type." + open.type)} #${open.seq}`} onClose={() => setOpen(undefined)}><MessageView id={id} message={open} open /></Dialog>}
    </div>
  );
}
