/** A server-sent event. */
export interface StreamEvent { type: string; id: string; data: unknown }

/** The state of a stream: "signed_out" and "over" are final. */
export type StreamState = "connecting" | "live" | "lost" | "signed_out" | "over";

export interface Sink { event(e: StreamEvent): void; state(s: StreamState): void }

// The server sends a comment each 15 s. A connection that is silent for longer is dead,
// for example because the machine slept.
const silence = 40_000;
const longestWait = 15_000;

/** Reads a stream of server-sent events until stop is called, and connects again after
 * the last event whenever it is lost. EventSource cannot tell a session that has ended
 * from a lost connection, therefore this reads it by fetch. */
export class Stream {
  private stopped = false;
  private abort = new AbortController();
  private lastID = "";
  private failures = 0;
  private wake = () => {};
  current: StreamState = "connecting";

  constructor(private readonly url: string, private readonly sink: Sink) { void this.run(); }

  stop() {
    this.stopped = true;
    this.abort.abort();
    this.wake();
  }

  /** Connects again at once, for example because the network is back. */
  hurry() {
    if (this.current === "live") return;
    this.failures = 0;
    this.wake();
  }

  private tell(s: StreamState) {
    if (this.stopped || s === this.current) return;
    this.current = s;
    this.sink.state(s);
  }

  private async run() {
    while (!this.stopped) {
      const end = await this.connect().catch(() => "lost" as const);
      if (this.stopped) return;
      this.tell(end);
      if (end !== "lost") return;
      const wait = Math.min(longestWait, 500 * 2 ** this.failures++) * (0.75 + Math.random() / 2);
      await new Promise<void>((done) => {
        this.wake = done;
        setTimeout(done, wait);
      });
    }
  }

  private async connect(): Promise<"lost" | "over" | "signed_out"> {
    this.abort = new AbortController();
    let timer = setTimeout(() => this.abort.abort(), silence);
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.abort.abort(), silence);
    };
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.lastID) headers["Last-Event-ID"] = this.lastID;
      const response = await fetch(this.url, { headers, cache: "no-store", signal: this.abort.signal });
      if (response.status === 401) return "signed_out";
      if (response.status === 204 || response.status === 404 || response.status === 403) return "over";
      if (!response.ok || !response.body) return "lost";
      this.failures = 0;
      this.tell("live");
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const parser = new Parser((e) => {
        if (e.id) this.lastID = e.id;
        if (!this.stopped) this.sink.event(e);
      });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "lost";
        alive();
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Parses text/event-stream: html.spec.whatwg.org/multipage/server-sent-events.html */
export class Parser {
  private rest: string[] = [];
  private type = "";
  private id = "";
  private data: string[] = [];

  constructor(private readonly emit: (e: StreamEvent) => void) {}

  feed(text: string) {
    const lines = text.split("\n");
    this.rest.push(lines[0]);
    if (lines.length === 1) return;
    this.line(this.rest.join(""));
    for (const line of lines.slice(1, -1)) this.line(line);
    this.rest = [lines[lines.length - 1]];
  }

  private line(line: string) {
    if (line.endsWith("\r")) line = line.slice(0, -1);
    if (line === "") return this.end();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.type = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id") this.id = value;
  }

  private end() {
    if (this.data.length > 0) {
      let data: unknown = this.data.join("\n");
      try {
        data = JSON.parse(data as string);
      } catch {
        // text that is no JSON stays a text
      }
      this.emit({ type: this.type || "message", id: this.id, data });
    }
    this.type = this.id = "";
    this.data = [];
  }
}
