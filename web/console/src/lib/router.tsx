import type { ComponentChildren, HTMLAttributes } from "preact";
import { useEffect, useState } from "preact/hooks";
import { consoleURL } from "./base";

/** Where the browser is: /console/tasks/T1?step=2 has the parts ["tasks", "T1"]. */
export interface Route { parts: string[]; query: URLSearchParams }

const watchers = new Set<() => void>();
addEventListener("popstate", () => watchers.forEach((w) => w()));

export function route(): Route {
  const rest = location.pathname.slice(consoleURL.pathname.length);
  const decode = (s: string) => {
    try { return decodeURIComponent(s); } catch { return s; }
  };
  return { parts: rest.split("/").filter(Boolean).map(decode), query: new URLSearchParams(location.search) };
}

/** The address of a path inside the page: href("tasks", id). */
export const href = (...parts: string[]): string => consoleURL.pathname + parts.map(encodeURIComponent).join("/");

/** Goes to an address inside the page: href("tasks"), or "?state=running" for another query. */
export function navigate(to: string, replace = false) {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  watchers.forEach((w) => w());
}

/** The route; the component is drawn again when it changes. */
export function useRoute(): Route {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const w = () => setTurn((n) => n + 1);
    watchers.add(w);
    return () => void watchers.delete(w);
  }, []);
  return route();
}

/** A link to a path inside the page. */
export function Link({ to, children, ...rest }: { to: string; children?: ComponentChildren } & Omit<HTMLAttributes<HTMLAnchorElement>, "role">) {
  return (
    <a {...rest} href={to} onClick={(e) => {
      if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
      e.preventDefault();
      navigate(to);
    }}>{children}</a>
  );
}
