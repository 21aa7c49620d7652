import type { Translate } from "../../lib/i18n";
/** A task, as GET /v1/tasks/ID has it. */
export interface Task {
  id: string; state: string; goal: string; chat: string; from: string; from_name?: string; run: boolean; rounds: number; subtasks: Subtask[];
  answer: string | null; files?: TaskFile[]; reason?: string; problem?: string; waiting: string[]; paused?: boolean; usage: Usage;
  version: number; seq: number; created_at: string; updated_at: string; finished_at: string | null; worked_seconds: number;
}

export interface Subtask {
  id: string; name: string; description: string; after: string[]; state: string; round: number; result: string | null; reason?: string;
  started_at: string | null; ended_at: string | null;
}

export interface TaskFile { id: string; name: string; type: string; bytes: number }

export interface Usage { input_tokens: number; cached_input_tokens: number; output_tokens: number; usd: number | null; unpriced: boolean }

/** A message of a task's context: one event of its journal. */
export interface Message {
  seq: number; sender_id: string; sender_type: string; type: string; content: any; content_bytes?: number; files?: TaskFile[]; timestamp: string;
}

export interface Step {
  id: string; kind: string; name?: string; subtask?: string; group?: string; model?: string; state: string; error?: string; after?: string;
  wanted_at: string; started_at: string | null; ended_at: string | null; took_ms: number; wait_ms: number; critical_ms: number;
  usage: Usage; call_seq?: number; call?: number; seq?: number;
}

export interface Steps {
  items: Step[]; seq: number; critical: { all_ms: number; model_ms: number; tool_ms: number; waiting_ms: number };
  model_ms: number; tool_ms: number; waiting_ms: number;
}

export interface Prompt {
  model: string; exact: boolean; note?: string; tools: { name: string; description: string; schema: unknown }[];
  messages: { role: string; content: string; tool_calls?: { id: string; name: string; arguments: string }[]; tool_call_id?: string; images?: number }[];
}

export const isModel = (s: Step) => ["plan", "review", "work", "answer"].includes(s.kind);
export const over = (t: Task) => ["done", "failed", "stopped"].includes(t.state);

/** How many milliseconds a step or sub-task has run, until now while it runs. */
export const elapsed = (from: string | null | undefined, to: string | null | undefined, now = Date.now()): number | undefined =>
  from ? Math.max(0, (to ? Date.parse(to) : now) - Date.parse(from)) : undefined;

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens, cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens, output_tokens: a.output_tokens + b.output_tokens,
    usd: a.usd === null && b.usd === null ? null : (a.usd ?? 0) + (b.usd ?? 0), unpriced: a.unpriced || b.unpriced,
  };
}

/** The name of a sub-task in words, by its id: "Step a of plan 1" for "1/a". */
export function subtaskName(id: string, t: Translate): string {
  const [plan, step] = id.split("/");
  return step ? t("subtask.name", { plan, step }) : id === "answer" ? t("kind.answer") : id;
}

/** Says in words what happened; the raw kind where this version has no words for it. */
function eventWords(kind: string, t: Translate): string {
  const words = t("event." + kind);
  return words.startsWith("event.") ? kind : words;
}

/** What a message is about, in words: a board, an answer. Questions have no words of their own. */
function slotWords(slot: unknown, t: Translate): string {
  const name = String(slot ?? "").split(".")[0];
  return name === "board" || name === "answer" ? t("slot." + name) : "";
}

/** A decision in words: who allowed or denied what. */
export function decided(m: Message, t: Translate): string {
  const c = m.content;
  if (c.decision === "renewed") return t("decided.renewed", { budget: c.budget });
  const said = t("decided." + c.decision, { who: m.sender_id.replace(/^(api|agent|web):/, ""), what: c.tools?.join(", ") || t("about." + c.kind) });
  return c.scope ? `${said}, ${t("scope." + c.scope)}` : said;
}

// What decided says, and the comment beside it.
const told = ["decision", "kind", "approval", "tools", "scope", "budget", "comment"];

/** What else a decision holds: the values of a form, a changed plan. */
export const besides = (c: object) => Object.fromEntries(Object.entries(c).filter(([name]) => !told.includes(name)));

/** The one line that stands for a message in lists. */
export function gist(m: Message, t: Translate): string {
  const c = m.content ?? {};
  if (typeof c !== "object") return line(String(c));
  if (Array.isArray(c.calls) && m.type !== "approval") return line(c.calls.map((x: any) => `${x.tool}(${brief(x.arguments)})`).join("  "));
  if (Array.isArray(c.subtasks)) return line(c.subtasks.map((s: any) => `${s.id.split("/")[1] ?? s.id} ${s.name}: ${s.description}`).join("  ·  "));
  if (m.type === "approval" && c.decision) return line([decided(m, t), c.comment].filter(Boolean).join(" · "));
  if (m.type === "approval") return line([c.decision, c.kind, ...(c.calls ?? []).map((x: any) => x.tool), c.text, c.comment].filter(Boolean).join(" · "));
  if (typeof c.text === "string") return line((c.tool ? c.tool + ": " : "") + c.text);
  if (m.type === "error") return line([c.code, c.reason].filter(Boolean).join(": "));
  if (c.event) return line([eventWords(String(c.event), t), slotWords(c.what, t), c.subtask && subtaskName(c.subtask, t), c.tool, c.name].filter(Boolean).join(" · "));
  return line(brief(c));
}

const line = (s: string) => s.slice(0, 400).replace(/\s+/g, " ");
const brief = (v: unknown) => { const s = typeof v === "string" ? v : JSON.stringify(v) ?? ""; return s.length > 120 ? s.slice(0, 120) + "…" : s; };

/** The sub-task that a message belongs to; empty for the whole task. */
export const subtaskOf = (m: Message): string => m.content?.subtask || (m.sender_id.startsWith("legwork/") && m.sender_id.includes("/", 8) ? m.sender_id.slice(8) : "");

/** Who a message is of, in words: a sub-task, or the id of the sender. */
export const senderName = (m: Message, t: Translate): string => (subtaskOf(m) ? subtaskName(subtaskOf(m), t) : m.sender_id);
