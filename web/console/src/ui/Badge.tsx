import type { ComponentChildren } from "preact";
import { useTexts } from "../lib/i18n";
import { Icon } from "./Icon";

export type Tone = "good" | "warn" | "bad" | "busy" | "calm";

const icons: Record<Tone, string> = { good: "check", warn: "warning", bad: "error", busy: "running", calm: "" };

/** A word about a state. An icon stands beside the colour, so that colour alone carries no meaning. */
export function Badge({ tone = "calm", icon, children, title }: { tone?: Tone; icon?: string; children: ComponentChildren; title?: string }) {
  const name = icon ?? icons[tone];
  return <span class={"badge is-" + tone} title={title}>{name && <Icon name={name} size={12} />}{children}</span>;
}

const tones: Record<string, Tone> = {
  running: "busy", working: "busy", planning: "busy", started: "busy",
  done: "good", completed: "good", ok: "good", ready: "good", succeeded: "good", answered: "good",
  failed: "bad", error: "bad", down: "bad",
  waiting: "warn", waiting_for_approval: "warn", review: "warn", paused: "warn", degraded: "warn", queued: "calm",
};

/** The state of a task, step or part: shown in words ("state.NAME" of the texts) and colour. */
export function State({ state }: { state: string }) {
  const t = useTexts();
  const key = "state." + state, text = t(key);
  return <Badge tone={tones[state] ?? "calm"}>{text === key ? state : text}</Badge>;
}
