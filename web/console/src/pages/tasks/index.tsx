import { useEffect, useRef, useState } from "preact/hooks";
import { useData, useList } from "../../lib/api";
import { useStream } from "../../lib/events";
import { ago, fullTime } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Chat, Person } from "../../lib/names";
import { href, Link, navigate, useRoute } from "../../lib/router";
import { may } from "../../lib/session";
import type { PageProps } from "../../shell/Lazy";
import { Badge, State } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { PageHead } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Field, Select } from "../../ui/Field";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";

interface Summary { id: string; state: string; goal: string; chat: string; from: string; from_name?: string; groups: string[]; rounds: number; waits_for_person: boolean; created_at: string; updated_at: string }

const live = "queued,planning,working,waiting,answering";
const filters = ["chat", "person", "q"] as const;

/** All tasks that the session may see, the newest first, and what of them is under way. */
export default function Tasks(_: PageProps) {
  const t = useTexts();
  const { query } = useRoute();
  const wanted = Object.fromEntries(["state", "group", ...filters].map((name) => [name, query.get(name) ?? ""]));
  const list = useList<Summary>("v1/tasks", { ...wanted, limit: 100 });
  const config = useData<{ items: { name: string }[] }>(may("groups") ? "v1/groups" : "");
  // What was seen before a filter stays a choice.
  const seen = useRef({ chat: new Set<string>(), person: new Set<string>(), group: new Set<string>(), q: new Set<string>() }).current;
  for (const s of list.items) {
    seen.chat.add(s.chat.split("/")[0]);
    seen.person.add(s.from);
    s.groups.forEach((g) => seen.group.add(g));
  }
  const groups = [...new Set([...config.data?.items.map((g) => g.name) ?? [], ...seen.group, ...wanted.group ? [wanted.group] : []])].sort();
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
        <Field label={t("by.group")}>{(p) => <Select {...p} value={wanted.group} onChange={(v) => set("group", v)} options={[["", t("any.group")], ...groups.map((g): [string, string] => [g, g])]} />}</Field>
        {filters.map((name) => <Filter key={name} known={[...seen[name]]} label={t("by." + name)} hint={t("example." + name)} value={wanted[name]} onChange={(v) => set(name, v)} />)}
        {filtered && <Button kind="plain" icon="close" onClick={() => navigate(location.pathname, true)}>{t("clear")}</Button>}
      </div>
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.loading && list.items.length === 0 ? <Spinner page /> : list.items.length === 0 && !list.more ? <Empty icon="tasks" title={filtered ? t("nomatch") : t("none")} text={filtered ? undefined : t("none.text")} /> : (
        <Table caption={t("title")} rows={list.items} rowKey={(s) => s.id} busy={list.loading} more={list.more} onMore={list.loadMore} onRow={(s) => navigate(href("tasks", s.id))} columns={[
          { id: "goal", label: t("goal"), cell: (s) => <Link to={href("tasks", s.id)} class="tasks-goal">{s.goal || t("nogoal")}</Link> },
          { id: "state", label: t("state"), cell: (s) => <span class="row"><State state={s.state} />{s.waits_for_person && s.state !== "waiting" && <Badge tone="warn">{t("waits")}</Badge>}</span> },
          { id: "from", label: t("by.person"), cell: (s) => <Person id={s.from} name={s.from_name} /> },
          { id: "chat", label: t("by.chat"), cell: (s) => <Chat id={s.chat} />, hideNarrow: true },
          { id: "groups", label: t("groups"), cell: (s) => s.groups.join(", "), hideNarrow: true },
          { id: "created", label: t("created"), align: "end", cell: (s) => <time dateTime={s.created_at} title={fullTime(s.created_at)}>{ago(s.created_at)}</time> },
        ]} />
      )}
    </div>
  );
}

/** A filter that applies when the person pauses. known are values that the browser offers. */
function Filter({ label, hint, value, known, onChange }: { label: string; hint: string; value: string; known: string[]; onChange: (v: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Field label={label}>
      {(p) => (
        <>
          <input {...p} type="search" list={known.length > 0 ? p.id + "-known" : undefined} placeholder={hint} value={text} onInput={(e) => {
            const next = e.currentTarget.value;
            setText(next);
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => onChange(next.trim()), 300);
          }} />
          {known.length > 0 && <datalist id={p.id + "-known"}>{known.map((v) => <option key={v} value={v} />)}</datalist>}
        </>
      )}
    </Field>
  );
}
