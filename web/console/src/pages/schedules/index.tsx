import { useState } from "preact/hooks";
import { post, useList } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { ago, fullTime, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { Badge, State } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { PageHead } from "../../ui/Card";
import { Confirm } from "../../ui/Dialog";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";
import { failed, toast } from "../../ui/Toast";

interface Schedule {
  id: string; name?: string; goal: string; when: string; timezone: string; chat: string; from: string; from_name?: string; config: boolean; catch_up: boolean;
  state: "active" | "paused" | "over"; why?: string; next_at: string | null; last_at: string | null; skipped_at: string | null; last_task?: string; last_state?: string; may_change: boolean;
}

/** The schedules that the session sees. Their person and admins pause, run and delete them. */
export default function Schedules() {
  const t = useTexts();
  const list = useList<Schedule>("v1/schedules");
  const [deleting, setDeleting] = useState<Schedule>();
  const [busy, setBusy] = useState("");
  useEvery(20, list.reload);
  const act = async (s: Schedule, action: string) => {
    setBusy(s.id + action);
    try {
      await post(`v1/schedules/${encodeURIComponent(s.id)}`, { action });
      toast(t("done." + action));
    } finally {
      setBusy("");
      list.reload();
    }
  };
  const button = (s: Schedule, action: string, icon: string) => (
    <Button small icon={icon} label={t("action." + action, { goal: s.name ?? s.goal })} busy={busy === s.id + action} onClick={() => act(s, action).catch(failed)} />
  );
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.items.length === 0 ? (list.loading ? <Spinner page /> : !list.error && <Empty title={t("none")} text={t("none.text")} icon="schedules" />) : (
        <Table caption={t("title")} rows={list.items} rowKey={(s) => s.id} columns={[
          { id: "goal", label: t("goal"), cell: (s) => <div class="schedules-goal"><span class="schedules-text">{s.goal}</span><span class="faint">{[s.name, s.config && t("config"), s.catch_up && t("catchup")].filter(Boolean).join(" · ")}</span></div> },
          { id: "when", label: t("when"), cell: (s) => <>{s.when}<br /><span class="faint">{s.timezone}</span></> },
          { id: "who", label: t("who"), cell: (s) => <>{s.from_name || s.from}<br /><span class="faint">{s.chat}</span></>, hideNarrow: true },
          { id: "state", label: t("next"), cell: (s) => <Next schedule={s} /> },
          { id: "last", label: t("last"), cell: (s) => (s.last_at ? <>{s.last_task ? <Link to={href("tasks", s.last_task)}>{time(s.last_at)}</Link> : time(s.last_at)} {s.last_state && <State state={s.last_state} />}</> : "–") },
          { id: "actions", label: "", align: "end", cell: (s) => s.may_change && (
            <span class="row schedules-actions">
              {button(s, "run", "play")}
              {s.state === "paused" ? button(s, "resume", "play") : s.state === "active" && button(s, "pause", "pause")}
              {!s.config && <Button small icon="trash" label={t("action.delete", { goal: s.goal })} onClick={() => setDeleting(s)} />}
            </span>
          ) },
        ]} />
      )}
      {deleting && <Confirm title={t("delete.title")} text={t("delete.text", { goal: deleting.goal })} label={t("delete")} danger doIt={() => act(deleting, "delete")} onClose={() => setDeleting(undefined)} />}
    </div>
  );
}

// Next is when a schedule runs next, or why it does not.
function Next({ schedule: s }: { schedule: Schedule }) {
  const t = useTexts();
  return (
    <div class="schedules-next">
      {s.state === "active" ? <span title={fullTime(s.next_at)}>{time(s.next_at)} <span class="faint">({ago(s.next_at)})</span></span>
        : <Badge tone={s.state === "paused" ? "warn" : "calm"}>{t("state." + s.state)}</Badge>}
      {s.why && <span class="faint">{t("why." + s.why)}{s.skipped_at && `: ${time(s.skipped_at)}`}</span>}
    </div>
  );
}
