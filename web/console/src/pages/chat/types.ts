import type { Schema } from "../../ui/SchemaForm";

/** A conversation in the list. */
export interface Conversation { id: string; title: string; last_at: string; unread: boolean; task: string; waits?: boolean; found?: string }

export interface ChatFile { id: string; name: string; type: string; bytes: number; as?: "document" | "photo" | "voice" }

export interface BoardItem { id: string; title: string; group: string; state: string; elapsed_ms?: number; doing?: string }

/** A sub-task of a plan. name is its group of tools; after null: in the usual order. */
export interface PlanItem { id: string; name: string; description: string; after?: string[] | null }

export interface FormField {
  name: string;
  title: string;
  description?: string;
  schema?: Schema;
  choices?: { value: unknown; label: string }[];
  many?: boolean;
  required?: boolean;
  default?: unknown;
}

/** A message of a conversation: of the person, or of legwork. */
export interface Post {
  id: string;
  seq: number;
  conversation: string;
  mine?: boolean;
  kind: "text" | "board" | "answer" | "question" | "notice";
  text?: string;
  at: string;
  task?: string;
  partial?: boolean;
  failed?: boolean;
  footer?: string;
  reply_to?: string;
  /** The post that reply_to names was added to the running task. */
  adds?: boolean;
  board?: { title: string; status: string; waiting?: boolean; items: BoardItem[] | null };
  /** words: a comment or a changed plan says the same. */
  buttons?: { label: string; data: string; style?: string; words?: boolean }[];
  calls?: { tool: string; arguments: unknown; reason?: string; detail?: string }[];
  copy?: string;
  free_text?: boolean;
  file?: ChatFile;
  files?: ChatFile[];
  /** A plan that waits. The press of the button with its data may bring a changed one. */
  plan?: { items: PlanItem[]; data: string };
  /** What a server asks for. The press of its data brings all values. */
  form?: { fields: FormField[]; data: string };
}

/** A message that the server has not confirmed yet. */
export interface Pending { key: string; text: string; files: ChatFile[]; replyTo?: string; at: string; error?: string; sending: boolean }

/** A new id of a conversation: the time, then chance, in base 32. */
export function newID(now = Date.now()): string {
  const digits = "0123456789abcdefghjkmnpqrstvwxyz";
  let id = "";
  for (let i = 0, n = now; i < 10; i++, n = Math.floor(n / 32)) id = digits[n % 32] + id;
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) id += digits[byte % 32];
  return id;
}

/** A key that makes sending again harmless. */
export const newKey = (): string => newID();
