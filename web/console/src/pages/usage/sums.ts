/** A row of GET /v1/usage by day and one more key. */
export interface Row {
  day: string; user?: string; chat?: string; model?: string; group?: string; calls: number;
  input_tokens: number; cached_tokens: number; output_tokens: number; usd: number | null; unpriced?: boolean;
}

export interface Sum { name: string; usd: number; tokens: number; input: number; output: number; calls: number; priced: boolean; unpriced: boolean }

type Key = "user" | "chat" | "model" | "group";

/** The sums of all days by name: the most expensive first, then those with the most tokens. */
export function byName(rows: Row[], key: Key): Sum[] {
  const sums = new Map<string, Sum>();
  for (const r of rows) {
    const name = r[key] ?? "";
    const s = sums.get(name) ?? { name, usd: 0, tokens: 0, input: 0, output: 0, calls: 0, priced: false, unpriced: false };
    sums.set(name, {
      name, usd: s.usd + (r.usd ?? 0), input: s.input + r.input_tokens, output: s.output + r.output_tokens, tokens: s.tokens + r.input_tokens + r.output_tokens,
      calls: s.calls + r.calls, priced: s.priced || r.usd !== null, unpriced: s.unpriced || !!r.unpriced,
    });
  }
  return [...sums.values()].sort((a, b) => b.usd - a.usd || b.tokens - a.tokens);
}

/** One series for each of the first five names, and one for all others. */
export function byDay(rows: Row[], key: Key, what: "usd" | "tokens", span: string[], names: Sum[], others: string): { label: string; values: number[] }[] {
  const most = names.length > 6 ? 5 : 6;
  const series = names.slice(0, most).map((n) => ({ label: n.name, values: span.map(() => 0) }));
  const rest = { label: others, values: span.map(() => 0) };
  const at = new Map(span.map((day, i) => [day, i]));
  for (const r of rows) {
    const i = at.get(r.day);
    if (i === undefined) continue;
    const s = series.find((s) => s.label === (r[key] ?? "")) ?? rest;
    s.values[i] += what === "usd" ? r.usd ?? 0 : r.input_tokens + r.output_tokens;
  }
  return names.length > most ? [...series, rest] : series;
}

const iso = (d: Date) => `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, "0")}-${String(d.getDate()).padStart(2, "0")}`;

export const today = () => iso(new Date());

/** 30 days, both ends included. */
export function defaultFrom(to: string): string {
  const d = new Date(to + "T12:00:00");
  d.setDate(d.getDate() - 29);
  return iso(d);
}

/** All days of a span, at most 1,000. */
export function days(from: string, to: string): string[] {
  const list: string[] = [];
  for (const d = new Date(from + "T12:00:00"); iso(d) <= to && list.length < 1000; d.setDate(d.getDate() + 1)) list.push(iso(d));
  return list;
}
