import type { Me } from "../lib/session";

// The pages in the navigation, in groups. A page appears when its folder exists and the
// session may use it.
const groups: string[][] = [
  ["chat", "tasks", "inbox"],
  ["tools", "models", "usage", "schedules"],
  ["people", "audit", "health", "config"],
];

// The operation that a session must be allowed to do for a page; the others are for all.
const needs: Record<string, string> = {
  tools: "groups", models: "servers", usage: "usage", schedules: "schedules", connections: "connections", people: "people", audit: "audit", health: "health",
};

/** Whether the session may use a page. */
export function mayUse(me: Me, page: string): boolean {
  if (page === "chat") return me.chat;
  if (page === "config") return me.config;
  return !needs[page] || me.can.includes(needs[page]);
}

export const nav = (me: Me): string[][] =>
  groups.map((group) => group.filter((page) => page in PAGES && mayUse(me, page))).filter((group) => group.length > 0);

/** The folder of the page that shows an address: /tasks/ID has the page "task". */
export function pageOf(parts: string[]): string {
  const first = parts[0] ?? "chat";
  return first === "tasks" && parts.length > 1 ? "task" : first;
}
