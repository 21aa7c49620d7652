import { useEffect, useRef, useState } from "preact/hooks";
import { useList } from "../../lib/api";
import { useStream } from "../../lib/events";
import { ago, fullTime } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link, navigate, useRoute } from "../../lib/router";
import type { PageProps } from "../../shell/Lazy";
import { Badge, State } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { PageHead } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Field, Select } from "../../ui/Field";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";

interface Summary { id: string; state: string; goal: string; chat: string; from: string; groups: string[]; rounds: number; waits_for_person: boolean; created_at: string; updated_at: string }

const live = "queued,planning,working,waiting,answering";
const filters = ["chat", "person", "group", "q"] as const;

/** All tasks that the session may see, the newest first, and what of them is under way. */
export default function Tasks(_: PageProps) {
  const t = useTexts();
  const { query } = useRoute();
  const wanted = Object.fromEntries(["state", ...filters].map((name) => [name, query.get(name) ?? ""]));
  const list = useList<Summary>("v1/tasks", { ...wanted, limit: 100 });
  const turn = useRef(0);
  const reload = useRef(list.reload);
  reload.current = list.reload;
  // Messages come in bursts; one reload per second shows them all.
  useStream("v1/events", () => { turn.current ||= window.setTimeout(() => { turn.current = 0; reload.current(); }, 1000); });
  useEffect(() => () => clearTimeout(turn.current), []);
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(location.search);
    if (value) next.set(name, value);
    else next.delete(name);
    navigate(location.pathname + (next.size ? "?" + next : ""), true);
  };
  const filtered = Object.values(wanted).some(Boolean);
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      <div class="tasks-filters" role="search" aria-label={t("filter")}>
        <Field label={t("state")}>{(p) => <Select {...p} value={wanted.state} onChange={(v) => set("state", v)} options={[["", t("any")], [live, t("live")], ...["queued", "planning", "working", "waiting", "answering", "done", "failed", "stopped"].map((s): [string, string] => [s, t("state." + s)])]} />}</Field>
        {filters.map((name) => <Filter key={name} label={t("by." + name)} hint={t("example." + name)} value={wanted[name]} onChange={(v) => set(name, v)} />)}
        {filtered && <Button kind="plain" icon="close" onClick={() => navigate(location.pathname, true)}>{t("clear")}</Button>}
      </div>
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.loading && list.items.length === 0 ? <Spinner page /> : list.items.length === 0 && !list.more ? <Empty icon="tasks" title={filtered ? t("nomatch") : t("none")} text={filtered ? undefined : t("none.text")} /> : (
        <Table caption={t("title")} rows={list.items} rowKey={(s) => s.id} busy={list.loading} more={list.more} onMore={list.loadMore} onRow={(s) => navigate(href("tasks", s.id))} columns={[
          { id: "goal", label: t("goal"), cell: (s) => <Link to={href("tasks", s.id)} class="tasks-goal">{s.goal || t("nogoal")}</Link> },
          { id: "state", label: t("state"), cell: (s) => <span class="row"><State state={s.state} />{s.waits_for_person && s.state !== "waiting" && <Badge tone="warn">{t("waits")}</Badge>}</span> },
          { id: "from", label: t("by.person"), cell: (s) => <span class="mono">{s.from}</span> },
          { id: "chat", label: t("by.chat"), cell: (s) => <span class="mono">{s.chat.split("/")[0]}</span>, hideNarrow: true },
          { id: "groups", label: t("groups"), cell: (s) => s.groups.join(", "), hideNarrow: true },
          { id: "created", label: t("created"), align: "end", cell: (s) => <time dateTime={s.created_at} title={fullTime(s.created_at)}>{ago(s.created_at)}</time> },
        ]} />
      )}
    </div>
  );
}

/** A filter that applies when the person pauses. */
function Filter({ label, hint, value, onChange }: { label: string; hint: string; value: string; onChange: (v: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Field label={label}>
      {(p) => <input {...p} type="search" placeholder={hint} value={text} onInput={(e) => {
        const next = e.currentTarget.value;
        setText(next);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => onChange(next.trim()), 300);
      }} />}
    </Field>
  );
}
