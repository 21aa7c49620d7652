import { useEffect, useRef, useState } from "preact/hooks";
import { signedOut } from "./api";
import { at, consoleURL } from "./base";
import { Hub, type News, type Order } from "./hub";
import type { StreamEvent, StreamState } from "./stream";

export type { StreamEvent, StreamState };

type Listener = { event(e: StreamEvent): void; state(s: StreamState): void };

const listeners = new Map<string, Set<Listener>>();
const states = new Map<string, StreamState>();
let order: ((o: Order) => void) | undefined;

function receive(news: News) {
  if (news.state) states.set(news.url, news.state);
  if (news.state === "signed_out") signedOut();
  listeners.get(news.url)?.forEach((l) => (news.event ? l.event(news.event) : l.state(news.state!)));
}

// connect reaches the hub: in the shared worker, or in this page where browsers have no
// shared workers.
function connect(): (o: Order) => void {
  const send = start();
  addEventListener("online", () => send({ do: "hurry" }));
  document.addEventListener("visibilitychange", () => document.hidden || send({ do: "hurry" }));
  addEventListener("pagehide", () => send({ do: "bye" }));
  addEventListener("pageshow", (e) => {
    if (e.persisted) listeners.forEach((_, url) => send({ do: "open", url }));
  });
  return send;
}

function start(): (o: Order) => void {
  if ("SharedWorker" in window) {
    try {
      const worker = new SharedWorker(new URL(WORKER, consoleURL), { type: "module", name: "legwork" });
      worker.port.onmessage = (m: MessageEvent<News>) => receive(m.data);
      return (o) => worker.port.postMessage(o);
    } catch {
      // the browser forbids it, for example in a private window
    }
  }
  const hub = new Hub<null>((_, news) => receive(news));
  return (o) => hub.take(null, o);
}

/** Listens to the stream of a path, such as "v1/chat/events", and returns a function
 * that ends it. All tabs share one connection per path. */
export function listen(path: string, listener: Listener): () => void {
  const url = at(path).href;
  order ??= connect();
  const all = listeners.get(url) ?? new Set();
  listeners.set(url, all);
  all.add(listener);
  if (all.size === 1) order({ do: "open", url });
  else listener.state(states.get(url) ?? "connecting");
  return () => {
    all.delete(listener);
    if (all.size > 0) return;
    listeners.delete(url);
    states.delete(url);
    order?.({ do: "close", url });
  };
}

/** Opens all streams that ended because the session had ended. */
export function reopenStreams() {
  listeners.forEach((_, url) => order?.({ do: "open", url }));
}

/** Listens while the component is shown; an empty path listens to nothing. It returns
 * the state of the stream. onEvent is always the newest. */
export function useStream(path: string, onEvent: (e: StreamEvent) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const latest = useRef(onEvent);
  latest.current = onEvent;
  useEffect(() => {
    if (!path) return;
    setState("connecting");
    return listen(path, { event: (e) => latest.current(e), state: setState });
  }, [path]);
  return state;
}
