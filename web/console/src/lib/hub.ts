import { Stream, type StreamEvent, type StreamState } from "./stream";

/** A message from a page to the hub. */
export type Order = { do: "open" | "close"; url: string } | { do: "hurry" | "bye" };
/** A message from the hub to a page. */
export type News = { url: string; event?: StreamEvent; state?: StreamState };

/** Shares one connection per address among listeners. A new listener of a stream that
 * runs already gets the events from now on. */
export class Hub<L> {
  private streams = new Map<string, { stream: Stream; listeners: Set<L> }>();

  constructor(private readonly send: (to: L, news: News) => void) {}

  take(from: L, order: Order) {
    switch (order.do) {
      case "open":
        return this.open(from, order.url);
      case "close":
        return this.close(from, order.url);
      case "hurry":
        return this.streams.forEach((s) => s.stream.hurry());
      case "bye":
        return this.streams.forEach((_, url) => this.close(from, url));
    }
  }

  private open(from: L, url: string) {
    const known = this.streams.get(url);
    if (known && known.stream.current !== "signed_out" && known.stream.current !== "over") {
      known.listeners.add(from);
      this.send(from, { url, state: known.stream.current });
      return;
    }
    known?.stream.stop();
    const listeners = known?.listeners ?? new Set<L>();
    listeners.add(from);
    this.streams.set(url, { listeners, stream: new Stream(url, {
      event: (event) => listeners.forEach((l) => this.send(l, { url, event })),
      state: (state) => listeners.forEach((l) => this.send(l, { url, state })),
    }) });
  }

  private close(from: L, url: string) {
    const known = this.streams.get(url);
    known?.listeners.delete(from);
    if (known?.listeners.size !== 0) return;
    known.stream.stop();
    this.streams.delete(url);
  }
}
