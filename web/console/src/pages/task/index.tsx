import { useMemo, useState } from "preact/hooks";
import { post, useList } from "../../lib/api";
import { duration, fullTime, money, number, short, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { inline, Markdown } from "../../lib/markdown";
import { Chat, Person } from "../../lib/names";
import { href, Link, navigate } from "../../lib/router";
import { may, useMe } from "../../lib/session";
import type { PageProps } from "../../shell/Lazy";
import { Badge, State } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Card, Figure, PageHead } from "../../ui/Card";
import { Confirm } from "../../ui/Dialog";
import { Empty, Failed } from "../../ui/Empty";
import { Field } from "../../ui/Field";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";
import { Tabs } from "../../ui/Tabs";
import { failed, toast } from "../../ui/Toast";
import { type Approval, ApprovalCard } from "../inbox/Approval";
import { Conversation, Journal } from "./Conversation";
import { type TaskData, useTask } from "./data";
import { Graph } from "./Graph";
import { LongText } from "./LongText";
import { Files, MessageView } from "./MessageView";
import { StateView } from "./StateView";
import { StepView } from "./StepView";
import { Timeline } from "./Timeline";
import { addUsage, elapsed, isModel, over, type Step, subtaskName, type Task, type Usage } from "./types";

/** One task: what it was asked, what it did, why its answer is what it is. The address
 * names the view: /tasks/ID/timeline, /tasks/ID/steps/STEP, /tasks/ID/subtasks/1%2Fa. */
export default function TaskPage({ parts }: PageProps) {
  const [id = "", view = "overview", item = ""] = parts;
  return <TaskView key={id} id={id} view={view} item={item} />;
}

function TaskView({ id, view, item }: { id: string; view: string; item: string }) {
  const t = useTexts();
  const data = useTask(id);
  const task = data.task.data, steps = data.steps.data;
  if (data.task.error?.status === 404) return <Empty title={t("notyours.task")} icon="lock"><Link to={href("tasks")} class="button">{t("notyours.tasks")}</Link></Empty>;
  if (!task) return <div class="page">{data.error ? <Failed error={data.error} again={data.reload} /> : <Spinner page />}</div>;
  const tab = view === "subtasks" ? "overview" : view === "steps" ? "timeline" : view;
  const subtask = view === "subtasks" ? task.subtasks.find((s) => s.id === item) : undefined;
  const step = view === "steps" ? steps?.items.find((s) => s.id === item) : undefined;
  return (
    <div class="page is-wide">
      <Head id={id} data={data} task={task} />
      {data.error && <Failed error={data.error} again={data.reload} />}
      <Waiting key={task.waiting.join()} id={id} task={task} reload={data.reload} />
      <div>
        <Tabs label={t("views")} value={tab} onChange={(v) => navigate(v === "overview" ? href("tasks", id) : href("tasks", id, v))}
          tabs={["overview", "timeline", "journal", "state", "usage"].map((v) => ({ id: v, label: t("view." + v) }))}>
          {(subtask || step) && <p class="task-back"><Link to={subtask ? href("tasks", id) : href("tasks", id, "timeline")}>← {t(subtask ? "view.overview" : "view.timeline")}</Link></p>}
          {subtask ? <Conversation key={item} id={id} subtask={subtask} messages={data.messages} steps={steps?.items ?? []} />
            : step ? <StepView key={item} id={id} step={step} steps={steps!.items} messages={data.messages} />
            : tab === "timeline" ? (steps && steps.items.length > 0 ? <Timeline id={id} steps={steps} /> : data.steps.error ? <Failed error={data.steps.error} again={data.steps.reload} /> : <p class="muted">{t("nothing")}</p>)
            : tab === "journal" ? <Journal id={id} messages={data.messages} complete={data.complete} />
            : tab === "state" ? <StateView id={id} version={task.version} messages={data.messages} over={over(task)} />
            : tab === "usage" ? <UsageView id={id} task={task} steps={steps?.items ?? []} />
            : <Overview id={id} task={task} steps={steps?.items ?? []} data={data} />}
        </Tabs>
      </div>
    </div>
  );
}

function Head({ id, data, task }: { id: string; data: TaskData; task: Task }) {
  const t = useTexts();
  const [asking, setAsking] = useState("");
  const [guiding, setGuiding] = useState(false);
  const steps = data.steps.data;
  const me = useMe();
  const talk = task.from === me.person && task.chat.startsWith("web:") ? task.chat.slice(4) : ""; // the person's own conversation in this page
  const act = (action: "cancel" | "retry") => async () => {
    const after = await post<Task>(`v1/tasks/${encodeURIComponent(id)}/${action}`, action === "retry" ? {} : undefined);
    if (action === "retry") navigate(href("tasks", after.id));
    else data.reload();
  };
  return (
    <>
      <PageHead title={task.goal.length > 300 ? task.goal.slice(0, 300) + "…" : task.goal}
        lead={<span class="row"><State state={task.state} />{task.paused && <Badge tone="warn">{t("paused")}</Badge>}<Person id={task.from} name={task.from_name} />{talk ? <Link to={href("chat", talk)}>{t("talk")}</Link> : task.chat.split("/")[0] !== task.from && <Chat id={task.chat} />}<time dateTime={task.created_at} title={fullTime(task.created_at)}>{time(task.created_at)}</time></span>}>
        {!over(task) && may("add") && <Button icon="edit" onClick={() => setGuiding(!guiding)}>{t("guide")}</Button>}
        {!over(task) && may("cancel") && <Button kind="danger" icon="stop" onClick={() => setAsking("cancel")}>{t("stop")}</Button>}
        {over(task) && task.run && may("retry") && <Button icon="refresh" onClick={() => setAsking("retry")}>{t("retry")}</Button>}
      </PageHead>
      {guiding && <Guide id={id} onSent={() => { setGuiding(false); data.reload(); }} />}
      <div class="task-figures">
        <Figure label={t("elapsed")} value={duration(elapsed(task.created_at, task.finished_at))} note={steps && t("critical.short", { time: duration(steps.critical.all_ms) })} />
        <Figure label={t("tokens")} value={short(task.usage.input_tokens + task.usage.output_tokens)} note={t("cached", { n: short(task.usage.cached_input_tokens) })} />
        <Figure label={t("money")} value={task.usage.usd === null ? "–" : money(task.usage.usd)} note={task.usage.unpriced ? t("unpriced") : undefined} />
        <Figure label={t("subtasks")} value={number(task.subtasks.length)} note={t("rounds", { n: task.rounds })} />
      </div>
      {asking && <Confirm title={t(asking === "cancel" ? "stop" : "retry")} text={t(asking === "cancel" ? "stop.text" : "retry.text")} label={t(asking === "cancel" ? "stop" : "retry")} danger={asking === "cancel"} doIt={act(asking as "cancel" | "retry")} onClose={() => setAsking("")} />}
    </>
  );
}

function Guide({ id, onSent }: { id: string; onSent: () => void }) {
  const t = useTexts();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const send = (e: Event) => {
    e.preventDefault();
    if (!text.trim()) return;
    setBusy(true);
    post(`v1/tasks/${encodeURIComponent(id)}/messages`, { type: "human_input", content: text.trim() }).then(() => { toast(t("guide.sent")); onSent(); }, failed).finally(() => setBusy(false));
  };
  return (
    <form class="card" onSubmit={send}>
      <Field label={t("guide")} hint={t("guide.hint")}>{(p) => <textarea {...p} rows={3} value={text} onInput={(e) => setText(e.currentTarget.value)} />}</Field>
      <div><Button kind="primary" type="submit" icon="send" busy={busy}>{t("guide.send")}</Button></div>
    </form>
  );
}

/** The approvals that the task waits for. */
function Waiting({ id, task, reload }: { id: string; task: Task; reload: () => void }) {
  const list = useList<Approval>(task.waiting.length > 0 ? "v1/approvals" : "", { task: id });
  if (task.waiting.length === 0) return null;
  return <div class="stack">{list.error && <Failed error={list.error} again={list.reload} />}{list.items.filter((a) => task.waiting.includes(a.id)).map((a) => <ApprovalCard key={a.id} approval={a} onDecided={reload} />)}</div>;
}

function Overview({ id, task, steps, data }: { id: string; task: Task; steps: Step[]; data: TaskData }) {
  const t = useTexts();
  const deciding = [...steps].reverse().find((s) => isModel(s) && s.state === "done" && (s.kind !== "work" || task.subtasks.length === 1));
  const decisions = useMemo(() => data.messages.filter((m) => m.type === "approval" && m.content?.decision), [data.messages]);
  return (
    <div class="stack">
      {(task.answer !== null || task.problem) && (
        <Card title={task.answer !== null ? t("answer") : t("outcome")} actions={deciding && <Link class="button is-small" to={href("tasks", id, "steps", deciding.id)}>{t("why")}</Link>}>
          {task.problem && <p class="note is-bad">{task.problem}</p>}
          {task.answer !== null && (task.answer.length > 60_000 ? <LongText text={task.answer} label={t("answer")} /> : <Markdown text={task.answer} />)}
          {task.files && <Files files={task.files} />}
        </Card>
      )}
      <Summary id={id} />
      {task.goal.length > 300 && <Card title={t("goal")}><Markdown text={task.goal} /></Card>}
      {task.subtasks.length > 0 && <Card title={t("plan")}><p class="faint">{t("plan.lead")}</p><Graph id={id} subtasks={task.subtasks} steps={steps} /></Card>}
      {decisions.length > 0 && <Card title={t("decisions")}>{decisions.slice(-50).map((m) => <MessageView key={m.seq} id={id} message={m} />)}</Card>}
    </div>
  );
}

/** Five lines by a model, when somebody asks for them: they cost money. */
function Summary({ id }: { id: string }) {
  const t = useTexts();
  const [lines, setLines] = useState<string[]>();
  const [busy, setBusy] = useState(false);
  if (!may("outline")) return null;
  const ask = () => {
    setBusy(true);
    post<{ lines: string[] }>(`v1/tasks/${encodeURIComponent(id)}/summary`, undefined).then((r) => setLines(r.lines), failed).finally(() => setBusy(false));
  };
  return (
    <section class={lines ? "card" : "row"} aria-live="polite">
      {lines && <><h2>{t("summary")}</h2><ul>{lines.map((l, i) => <li key={i}>{inline(l)}</li>)}</ul></>}
      <div class="row"><Button icon="edit" busy={busy} onClick={ask}>{lines ? t("summary.again") : t("summary.ask")}</Button>{!lines && <span class="faint">{t("summary.note")}</span>}</div>
    </section>
  );
}

interface Spent { key: string; label: string; models: number; tools: number; time: number; usage: Usage }

/** Tokens, money and time by sub-task and decision. */
function UsageView({ id, task, steps }: { id: string; task: Task; steps: Step[] }) {
  const t = useTexts();
  const rows = new Map<string, Spent>();
  for (const s of steps) {
    const key = s.subtask || s.kind;
    const row = rows.get(key) ?? { key, label: s.subtask ? subtaskName(s.subtask, t) : t("kind." + s.kind), models: 0, tools: 0, time: 0, usage: { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, usd: null, unpriced: false } };
    rows.set(key, { ...row, label: s.subtask && s.group ? `${subtaskName(s.subtask, t)} · ${s.group}` : row.label, models: row.models + (isModel(s) ? 1 : 0), tools: row.tools + (s.kind === "tool" ? 1 : 0), time: row.time + s.took_ms, usage: addUsage(row.usage, s.usage) });
  }
  const known = new Set(task.subtasks.map((s) => s.id));
  return (
    <Table caption={t("view.usage")} rows={[...rows.values()]} rowKey={(r) => r.key} columns={[
      { id: "step", label: t("step"), cell: (r) => (known.has(r.key) ? <Link to={href("tasks", id, "subtasks", r.key)}>{r.label}</Link> : r.label) },
      { id: "models", label: t("calls.model"), align: "end", cell: (r) => number(r.models) },
      { id: "tools", label: t("calls.tool"), align: "end", cell: (r) => number(r.tools) },
      { id: "in", label: t("tokens.in"), align: "end", cell: (r) => number(r.usage.input_tokens) },
      { id: "cached", label: t("tokens.cached"), align: "end", cell: (r) => number(r.usage.cached_input_tokens), hideNarrow: true },
      { id: "out", label: t("tokens.out"), align: "end", cell: (r) => number(r.usage.output_tokens) },
      { id: "usd", label: t("money"), align: "end", cell: (r) => (r.usage.usd === null ? "–" : money(r.usage.usd)) },
      { id: "time", label: t("time"), align: "end", cell: (r) => duration(r.time) },
    ]} />
  );
}
