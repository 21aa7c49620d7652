import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { at } from "./base";
import { language } from "./i18n";

/** A mistake in a request: location is "body.goal", "query.limit"; config errors have a line and a key. */
export interface Mistake { location?: string; message: string; line?: number; column?: number; key?: string }

/** An error of a call, RFC 9457. Its message is a sentence for people. */
export class Problem extends Error {
  constructor(
    /** The status; 0: the server did not answer. */
    readonly status: number,
    readonly code: string,
    readonly title: string,
    detail: string,
    readonly errors: Mistake[] = [],
    /** Seconds after which another try makes sense; 0: unknown. */
    readonly retryAfter = 0,
  ) {
    super(detail || title);
  }
}

export interface Options {
  /** Sent as JSON, except a Blob, which is sent as it is. */
  body?: unknown;
  query?: Record<string, string | number | boolean | undefined | null>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Reply<T> { data: T; status: number; etag: string }

let onSignedOut = () => {};
/** Sets what happens when a call or a stream finds that the session has ended. */
export function whenSignedOut(f: () => void) { onSignedOut = f; }
/** Says that a stream found that the session has ended. */
export function signedOut() { onSignedOut(); }

/** Calls the server. It throws a Problem; a 401 is reported to whenSignedOut too. */
export async function call<T = unknown>(method: string, path: string, o: Options = {}): Promise<Reply<T>> {
  const url = at(path);
  for (const [name, value] of Object.entries(o.query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  const headers: Record<string, string> = { Accept: "application/json", "Accept-Language": language(), ...o.headers };
  let body: BodyInit | undefined;
  if (o.body instanceof Blob) body = o.body;
  else if (o.body !== undefined) {
    body = JSON.stringify(o.body);
    headers["Content-Type"] ??= "application/json";
  }
  let response: Response;
  try {
    response = await fetch(url, { method, headers, body, signal: o.signal });
  } catch (err) {
    if (o.signal?.aborted) throw err;
    throw new Problem(0, "unreachable", "The server did not answer", "");
  }
  if (!response.ok) throw await problemOf(response);
  const type = response.headers.get("Content-Type") ?? "";
  const data = response.status === 204 ? undefined : type.includes("json") ? await response.json() : await response.text();
  return { data: data as T, status: response.status, etag: response.headers.get("ETag") ?? "" };
}

/** Reads the problem document of a reply. */
export async function problemOf(response: Response): Promise<Problem> {
  const p = await response.json().catch(() => ({}));
  if (response.status === 401) onSignedOut();
  return new Problem(response.status, p.code ?? "", p.title ?? response.statusText, p.detail ?? "", p.errors, Number(response.headers.get("Retry-After")) || 0);
}

export const get = async <T>(path: string, query?: Options["query"], signal?: AbortSignal) => (await call<T>("GET", path, { query, signal })).data;
export const post = async <T = void>(path: string, body: unknown = {}) => (await call<T>("POST", path, { body })).data;
export const put = async <T = void>(path: string, body: unknown, headers?: Record<string, string>) => (await call<T>("PUT", path, { body, headers })).data;
export const del = async (path: string) => { await call("DELETE", path); };

export interface Loaded<T> {
  /** Undefined until the first reply. It stays while it is loaded again. */
  data?: T;
  etag: string;
  error?: Problem;
  loading: boolean;
  reload(): void;
  /** Shows other data until the next reload. */
  set(data: T): void;
}

/** Loads a path, again when path or query change. An empty path loads nothing. */
export function useData<T>(path: string, query?: Options["query"]): Loaded<T> {
  const key = path && path + "?" + JSON.stringify(query ?? {});
  const [state, setState] = useState<{ key: string; data?: T; etag: string; error?: Problem; loading: boolean }>({ key, etag: "", loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    setState((s) => (s.key === key ? { ...s, loading: true } : { key, etag: "", loading: true }));
    call<T>("GET", path, { query, signal: stop.signal }).then(
      (r) => { if (!stop.signal.aborted) setState({ key, data: r.data, etag: r.etag, loading: false }); },
      (error) => { if (!stop.signal.aborted) setState((s) => ({ ...s, error, loading: false })); },
    );
    return () => stop.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const set = useCallback((data: T) => setState((s) => ({ ...s, data })), []);
  const current = state.key === key ? state : { etag: "", loading: !!path, data: undefined, error: undefined };
  return { ...current, reload, set };
}

/** A page of a list. */
export interface Page<T> { items: T[]; next_cursor?: string | null }

export interface List<T> { items: T[]; error?: Problem; loading: boolean; more: boolean; loadMore(): void; reload(): void }

/** Loads a list page by page. cursor is the name of the parameter that takes next_cursor. */
export function useList<T>(path: string, query: NonNullable<Options["query"]> = {}, cursor = "cursor"): List<T> {
  const key = path + "?" + JSON.stringify(query);
  const [state, setState] = useState<{ key: string; items: T[]; next: string | null; error?: Problem; loading: boolean }>({ key: "", items: [], next: null, loading: true });
  const running = useRef<AbortController | null>(null);
  const load = useCallback((from: string | null) => {
    running.current?.abort();
    const stop = (running.current = new AbortController());
    setState((s) => ({ ...s, items: s.key === key ? s.items : [], key, loading: true, error: undefined }));
    get<Page<T>>(path, from ? { ...query, [cursor]: from } : query, stop.signal).then(
      (page) => { if (!stop.signal.aborted) setState((s) => ({ key, items: from ? [...s.items, ...page.items] : page.items, next: page.next_cursor ?? null, loading: false })); },
      (error) => { if (!stop.signal.aborted) setState((s) => ({ ...s, error, loading: false })); },
    );
  }, [key]);
  useEffect(() => {
    if (path) load(null);
    return () => running.current?.abort();
  }, [key]);
  return {
    items: state.key === key ? state.items : [], error: state.error, loading: state.loading, more: !!state.next,
    loadMore: () => { if (!state.loading && state.next) load(state.next); },
    reload: () => load(null),
  };
}
