import { useState } from "preact/hooks";
import { clock, duration } from "../../lib/format";
import { type Translate, useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { Figure } from "../../ui/Card";
import { Check } from "../../ui/Field";
import { Windowed } from "./Windowed";
import { isModel, type Step, type Steps, subtaskName } from "./types";

const part = (s: Step) => (isModel(s) ? "model" : s.kind === "tool" ? "tool" : s.kind === "ask" || s.kind === "queue" ? "wait" : "other");

/** When each step was possible, ran and ended. Pale is waiting; a diamond marks the
 * critical path. */
export function Timeline({ id, steps }: { id: string; steps: Steps }) {
  const t = useTexts();
  const [onlyCritical, setOnly] = useState(false);
  const rows = onlyCritical ? steps.items.filter((s) => s.critical_ms > 0) : steps.items;
  const start = Math.min(...steps.items.map((s) => Date.parse(s.wanted_at)));
  const end = Math.max(...steps.items.map((s) => (s.ended_at ? Date.parse(s.ended_at) : Date.now())), start + 1);
  const at = (time: number) => `${(100 * (time - start)) / (end - start)}%`;
  return (
    <div class="stack">
      <div class="task-figures">
        <Figure label={t("critical")} value={duration(steps.critical.all_ms)} note={t("critical.parts", { model: duration(steps.critical.model_ms), tool: duration(steps.critical.tool_ms), wait: duration(steps.critical.waiting_ms) })} />
        <Figure label={t("model.time")} value={duration(steps.model_ms)} />
        <Figure label={t("tool.time")} value={duration(steps.tool_ms)} />
        <Figure label={t("wait.time")} value={duration(steps.waiting_ms)} />
      </div>
      <div class="row task-legend">
        {["model", "tool", "wait", "other"].map((k) => <span key={k} class="row"><i class={"task-key is-" + k} aria-hidden="true" />{t("part." + k)}</span>)}
        <span>◆ {t("critical")}</span>
        <Check label={t("critical.only")} checked={onlyCritical} onChange={setOnly} />
      </div>
      <Windowed label={t("timeline")} rows={rows} height={34} tall={22} row={(s) => {
        const wanted = Date.parse(s.wanted_at), began = s.started_at ? Date.parse(s.started_at) : end, ended = s.ended_at ? Date.parse(s.ended_at) : end;
        const title = stepTitle(t, s, steps.items.find((x) => x.id === s.after));
        return (
          <Link to={href("tasks", id, "steps", s.id)} class="task-bar" title={title}>
            <span class="task-bar-name clip">{s.critical_ms > 0 && <span aria-hidden="true">◆ </span>}{stepName(t, s)}</span>
            <span class="task-track" aria-hidden="true">
              <i class="task-span is-before" style={{ left: at(wanted), width: at(start + Math.max(0, began - wanted)) }} />
              <i class={`task-span is-${part(s)}${s.state === "failed" ? " is-failed" : ""}`} style={{ left: at(began), width: at(start + Math.max(0, ended - began)) }} />
            </span>
            <span class="task-bar-time num">{clock(s.took_ms)}</span>
            <span class="sr-only">{title}</span>
          </Link>
        );
      }} />
    </div>
  );
}

/** The name of a step in few words: "web.search · Step a of plan 1". */
export function stepName(t: Translate, s: Step): string {
  const what = s.kind === "tool" ? s.name ?? "" : s.kind === "ask" ? t("ask." + s.name) : s.kind === "file" ? `${t("kind.file")} ${s.name ?? ""}` : t("kind." + s.kind);
  return s.subtask ? `${what} · ${subtaskName(s.subtask, t)}` : what;
}

function stepTitle(t: Translate, s: Step, before?: Step): string {
  return [stepName(t, s), t("step." + s.state), t("took", { time: duration(s.took_ms) }), s.wait_ms > 0 && t("waited", { time: duration(s.wait_ms) }), s.critical_ms > 0 && t("critical"), before && t("follows", { step: stepName(t, before) })].filter(Boolean).join(" · ");
}
