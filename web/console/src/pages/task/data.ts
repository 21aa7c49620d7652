import { useEffect, useRef, useState } from "preact/hooks";
import { get, type Loaded, type Problem, useData } from "../../lib/api";
import { useStream } from "../../lib/events";
import { type Message, over, type Steps, type Task } from "./types";

export interface TaskData { task: Loaded<Task>; steps: Loaded<Steps>; messages: Message[]; complete: boolean; error?: Problem; reload(): void }

/** Everything about a task, kept up to date while it goes on. Messages come page by page,
 * so that the first ones of a long task are shown at once, and then from its stream. */
export function useTask(id: string): TaskData {
  const path = "v1/tasks/" + encodeURIComponent(id);
  const task = useData<Task>(path), steps = useData<Steps>(path + "/steps");
  const [state, setState] = useState<{ messages: Message[]; complete: boolean; error?: Problem; after: number }>({ messages: [], complete: false, after: 0 });
  const reload = useRef(() => {});
  reload.current = () => { task.reload(); steps.reload(); };
  useEffect(() => {
    const stop = new AbortController();
    const all: Message[] = [];
    setState({ messages: [], complete: false, after: 0 });
    (async () => {
      for (let after = 0, more = true; more;) {
        const page = await get<{ messages: Message[]; next_after: number | null }>(path + "/context", { after, limit: 1000 }, stop.signal);
        all.push(...page.messages);
        more = page.next_after !== null;
        after = page.next_after ?? all.at(-1)?.seq ?? 0;
        setState({ messages: [...all], complete: !more, after });
      }
    })().catch((error) => { if (!stop.signal.aborted) setState((s) => ({ ...s, error, complete: true })); });
    return () => stop.abort();
  }, [path]);
  const timer = useRef(0), fresh = useRef<Message[]>([]);
  const flush = () => {
    timer.current = 0;
    const news = fresh.current;
    fresh.current = [];
    setState((s) => {
      const last = s.messages.at(-1)?.seq ?? 0;
      return { ...s, messages: [...s.messages, ...news.filter((m) => m.seq > last)] };
    });
    reload.current();
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const follow = state.complete && !state.error && task.data && !over(task.data);
  const [from, setFrom] = useState("");
  useEffect(() => { if (follow && !from) setFrom(`${path}/events?after=${state.after}`); }, [follow]);
  useEffect(() => setFrom(""), [path]);
  useStream(from.startsWith(path + "/") ? from : "", (e) => {
    if (e.type !== "end") fresh.current.push(e.data as Message);
    timer.current ||= window.setTimeout(flush, 400);
  });
  return { task, steps, messages: state.messages, complete: state.complete, error: task.error ?? state.error, reload: () => reload.current() };
}
