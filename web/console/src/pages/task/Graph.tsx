import { clock } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { type Step, type Subtask, elapsed, subtaskName } from "./types";

const width = 216, height = 66, gapX = 56, gapY = 18, edge = 8;

/** The plan as a graph from left to right: an arrow leads from a sub-task to those that
 * wait for its result. A thick frame marks the critical path. */
export function Graph({ id, subtasks, steps }: { id: string; subtasks: Subtask[]; steps: Step[] }) {
  const t = useTexts();
  const critical = new Set(steps.filter((s) => s.critical_ms > 0 && s.subtask).map((s) => s.subtask!));
  const { at, columns, rows } = place(subtasks);
  const w = columns * (width + gapX) - gapX + 2 * edge, h = rows * (height + gapY) - gapY + 2 * edge;
  const x = (s: string) => edge + at.get(s)!.column * (width + gapX), y = (s: string) => edge + at.get(s)!.row * (height + gapY);
  return (
    <div class="task-graph" tabIndex={0} role="group" aria-label={t("plan")}>
      <div class="task-graph-area" style={{ width: `${w}px`, height: `${h}px` }}>
        <svg width={w} height={h} aria-hidden="true">
          {subtasks.flatMap((s) => s.after.filter((a) => at.has(a)).map((a) => {
            const x1 = x(a) + width, y1 = y(a) + height / 2, x2 = x(s.id), y2 = y(s.id) + height / 2, bend = Math.max(gapX / 2, (x2 - x1) / 2);
            return <path key={a + s.id} class={critical.has(a) && critical.has(s.id) ? "task-edge is-critical" : "task-edge"} d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 5} ${y2}m-5 -4l5 4l-5 4`} />;
          }))}
        </svg>
        {subtasks.map((s) => (
          <Link key={s.id} to={href("tasks", id, "subtasks", s.id)} title={s.description} class={`task-node is-${s.state}${critical.has(s.id) ? " is-critical" : ""}`}
            style={{ left: `${x(s.id)}px`, top: `${y(s.id)}px`, width: `${width}px`, height: `${height}px` }}>
            <span class="task-node-head"><strong aria-hidden="true">{s.id.split("/")[1]}</strong><span class="sr-only">{subtaskName(s.id, t)}: </span><span class="clip grow">{s.name}</span><span class="num">{clock(elapsed(s.started_at, s.ended_at))}</span></span>
            <span class="task-node-text">{s.description}</span>
            <span class="sr-only">{t("state." + s.state)}{s.after.length > 0 && ", " + t("after", { list: s.after.map((a) => subtaskName(a, t)).join(", ") })}{critical.has(s.id) && ", " + t("critical")}</span>
            <span class="task-node-state" aria-hidden="true">{t("state." + s.state)}{critical.has(s.id) && " ◆"}</span>
          </Link>
        ))}
      </div>
    </div>
  );
}

/** Columns follow the edges, and a later plan stands to the right of the earlier ones. */
function place(subtasks: Subtask[]) {
  const at = new Map<string, { column: number; row: number }>(), filled: number[] = [];
  let first = 0, round = 0;
  for (const s of subtasks) {
    if (s.round !== round) { round = s.round; first = filled.length; }
    const column = Math.max(first, ...s.after.map((a) => (at.get(a)?.column ?? first - 1) + 1));
    while (filled.length <= column) filled.push(0);
    at.set(s.id, { column, row: filled[column]++ });
  }
  return { at, columns: filled.length, rows: Math.max(1, ...filled) };
}
