import { useData } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { ago, bytes, duration, fullTime, money, number, short, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { Badge, State } from "../../ui/Badge";
import { Card, Figure, PageHead } from "../../ui/Card";
import { Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";

interface Health {
  version: string; commit?: string; started_at: string; ready: boolean; paused?: string;
  parts: { name: string; state: "ok" | "degraded" | "down"; problem?: string }[];
  store: { type: string; bytes: number; file_bytes: number };
  backups: { every_seconds: number; keep: number; items: { name: string; at: string; bytes: number }[] };
  alerts: { webhooks: string[]; waiting: number; oldest_seconds: number; recent: { at: string; kind: string; task?: string; summary: string; problem?: string }[] };
  queue: { tasks: Record<string, number>; slots: number; working: number; waiting_seconds: number; approvals: number; approvals_oldest_seconds: number };
  budgets: { name: string; unit: "usd" | "tokens"; limit: number; spent: number }[];
}

const live = ["queued", "planning", "working", "waiting", "answering"];

/** The state of the process: parts, queue, budgets, data, backups and alerts. */
export default function HealthPage() {
  const t = useTexts();
  const { data: h, error, reload } = useData<Health>("v1/health");
  useEvery(10, reload);
  if (!h) return error ? <div class="page"><Failed error={error} again={reload} /></div> : <Spinner page />;
  const sound = h.ready && h.parts.every((p) => p.state === "ok");
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("version", { version: h.version, time: ago(h.started_at) })}>
        {sound ? <Badge tone="good">{t("sound")}</Badge> : <Badge tone={h.ready ? "warn" : "bad"}>{t(h.ready ? "degraded" : "notready")}</Badge>}
      </PageHead>
      {error && <Failed error={error} again={reload} />}
      {h.paused && <p class="note is-warn">{t("paused", { who: h.paused })}</p>}
      <div class="health-cards">
        <Card title={t("parts")}>
          <ul class="health-parts">{h.parts.map((p) => <li key={p.name}><div class="row"><span class="grow">{part(t, p.name)}</span><State state={p.state} /></div>{p.problem && <p class="faint">{p.problem}</p>}</li>)}</ul>
        </Card>
        <Queue queue={h.queue} />
        <Card title={t("store")}>
          <div class="health-figures">
            <Figure label={t("database")} value={bytes(h.store.bytes)} note={t("store." + h.store.type)} />
            <Figure label={t("files")} value={bytes(h.store.file_bytes)} />
          </div>
          {h.budgets.length > 0 && <h3>{t("budgets")}</h3>}
          {h.budgets.map((b) => <Budget key={b.name} budget={b} />)}
        </Card>
      </div>
      <Backups backups={h.backups} />
      <Card title={t("alerts")} actions={h.alerts.waiting > 0 && <Badge tone="warn">{t("undelivered", { n: h.alerts.waiting, time: duration(h.alerts.oldest_seconds * 1000) })}</Badge>}>
        <p class="muted">{h.alerts.webhooks.length ? t("webhooks", { names: h.alerts.webhooks.join(", ") }) : t("nowebhooks")}</p>
        {h.alerts.recent.length === 0 ? <p class="muted">{t("noalerts")}</p> : (
          <Table caption={t("alerts")} rows={h.alerts.recent} rowKey={(a) => a.at + a.kind + a.summary} columns={[
            { id: "summary", label: t("what"), cell: (a) => <>{a.summary}{a.problem && <span class="faint block">{a.problem}</span>}</> },
            { id: "kind", label: t("kind"), cell: (a) => <span class="mono">{a.kind}</span> },
            { id: "task", label: t("task"), cell: (a) => (a.task ? <Link to={href("tasks", a.task)}>{t("open")}</Link> : "") },
            { id: "at", label: t("when"), cell: (a) => <span title={fullTime(a.at)}>{time(a.at)}</span> },
          ]} />
        )}
      </Card>
    </div>
  );
}

function part(t: ReturnType<typeof useTexts>, name: string) {
  const key = "part." + name, text = t(key);
  return text === key ? name : text;
}

function Queue({ queue: q }: { queue: Health["queue"] }) {
  const t = useTexts();
  const states = Object.entries(q.tasks).filter(([state, n]) => live.includes(state) && n > 0);
  return (
    <Card title={t("queue")}>
      <div class="health-figures">
        <Figure label={t("working")} value={number(q.working)} note={t("slots", { n: q.slots })} />
        <Figure label={t("approvals")} value={number(q.approvals)} note={q.approvals ? t("oldest", { time: duration(q.approvals_oldest_seconds * 1000) }) : ""} />
      </div>
      {q.waiting_seconds > 0 && <p class="note is-warn">{t("waits", { time: duration(q.waiting_seconds * 1000) })}</p>}
      <div class="row">{states.map(([state, n]) => <span key={state} class="row"><State state={state} /> {number(n)}</span>)}</div>
      <p class="faint">{t("ended", { done: q.tasks.done ?? 0, failed: q.tasks.failed ?? 0, stopped: q.tasks.stopped ?? 0 })}</p>
    </Card>
  );
}

function Budget({ budget: b }: { budget: Health["budgets"][0] }) {
  const t = useTexts();
  const show = b.unit === "usd" ? money : short;
  const used = Math.round((b.spent / b.limit) * 100);
  return (
    <label class="health-budget">
      <span class="row"><span class="grow">{t("budget." + b.name)}</span><span class="num">{t("spent", { spent: show(b.spent), limit: show(b.limit), percent: used })}</span></span>
      <meter min={0} max={b.limit} high={b.limit * 0.8} value={Math.min(b.spent, b.limit)} />
    </label>
  );
}

function Backups({ backups: b }: { backups: Health["backups"] }) {
  const t = useTexts();
  const newest = b.items[0];
  const late = b.every_seconds > 0 && newest && Date.now() - new Date(newest.at).getTime() > 2000 * b.every_seconds;
  return (
    <Card title={t("backups")} actions={late ? <Badge tone="warn">{t("late")}</Badge> : newest && <Badge tone="good">{t("newest", { time: ago(newest.at) })}</Badge>}>
      <p class="muted">{b.every_seconds > 0 ? t("every", { time: hours(t, b.every_seconds), n: b.keep }) : t("nobackups")}</p>
      {b.items.length > 0 && (
        <Table caption={t("backups")} rows={b.items} rowKey={(x) => x.name} columns={[
          { id: "name", label: t("file"), cell: (x) => <span class="mono">{x.name}</span> },
          { id: "at", label: t("when"), cell: (x) => <span title={fullTime(x.at)}>{time(x.at)}</span> },
          { id: "bytes", label: t("size"), align: "end", cell: (x) => bytes(x.bytes) },
        ]} />
      )}
    </Card>
  );
}

const hours = (t: ReturnType<typeof useTexts>, seconds: number) => (seconds % 3600 === 0 ? t("hours", { n: seconds / 3600 }) : duration(seconds * 1000));
