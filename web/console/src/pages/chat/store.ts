import { useEffect, useState } from "preact/hooks";
import { call, del, get, post, Problem, type Page } from "../../lib/api";
import { listen, type StreamEvent, type StreamState } from "../../lib/events";
import { newKey, type ChatFile, type Conversation, type Pending, type Post } from "./types";

const size = 50;

/** The posts of one conversation that are loaded, oldest first. */
export interface Talk {
  posts: Post[];
  /** Leads to older posts; null: there are none. */
  next: string | null;
  loading: boolean;
  error?: Problem;
  /** Whether the newest posts were loaded. */
  loaded: boolean;
  /** Whether the server knows no such conversation of this person. */
  missing?: boolean;
  pending: Pending[];
}

const path = (id: string, rest = "") => `v1/chat/conversations/${encodeURIComponent(id)}${rest}`;

/** The conversations of the person, kept in step with the server and other tabs. It lives
 * as long as the browser's tab, so that going to another page and back loads nothing. */
class Store {
  conversations: Conversation[] = [];
  next: string | null = null;
  listed = false;
  error?: Problem;
  state: StreamState = "connecting";
  private talks = new Map<string, Talk>();
  private watchers = new Set<() => void>();
  private stop?: () => void;
  private scheduled = false;
  private read = new Map<string, number>(); // the newest post that was read, by conversation
  private telling = new Map<string, number>(); // timers that tell the server so

  watch(f: () => void): () => void {
    this.watchers.add(f);
    this.stop ??= listen("v1/chat/events", { event: (e) => this.take(e), state: (s) => this.become(s) });
    return () => void this.watchers.delete(f);
  }

  // Many pieces may come between two frames of the screen; one drawing shows them all.
  private changed() {
    if (this.scheduled) return;
    this.scheduled = true;
    const draw = () => {
      this.scheduled = false;
      this.watchers.forEach((w) => w());
    };
    if (document.hidden) setTimeout(draw, 50);
    else requestAnimationFrame(draw);
  }

  talk(id: string): Talk {
    let t = this.talks.get(id);
    if (!t) this.talks.set(id, (t = { posts: [], next: null, loading: false, loaded: false, pending: [] }));
    return t;
  }

  // become notes the state of the stream. It may have missed events while it was lost:
  // what it has is read anew, unless the stream resumes by itself.
  private become(s: StreamState) {
    const before = this.state;
    this.state = s;
    if (s === "live") {
      if (before !== "live") this.refresh();
      this.talks.forEach((t, id) => t.pending.filter((p) => p.error && !p.sending).forEach((p) => void this.deliver(id, p)));
    }
    this.changed();
  }

  private refresh() {
    void this.loadList();
    this.talks.forEach((t, id) => t.posts.length > 0 && void this.load(id));
  }

  private take(e: StreamEvent) {
    switch (e.type) {
      case "hello":
        if ((e.data as { reset?: boolean }).reset) this.refresh();
        return;
      case "post":
        this.put(e.data as Post);
        if ((e.data as Post).kind === "question") void this.loadList(); // its task waits for the person now, or no more
        break;
      case "piece":
        this.append(e.data as { conversation: string; post: string; at: number; text: string });
        break;
      case "emptied": {
        const id = (e.data as { conversation: string }).conversation;
        Object.assign(this.talk(id), { posts: [], next: null });
        void this.load(id);
        void this.loadList();
        break;
      }
      case "read": { // perhaps in another browser
        const { conversation, seq } = e.data as { conversation: string; seq: number };
        this.read.set(conversation, Math.max(seq, this.read.get(conversation) ?? 0));
        if (Number(this.talk(conversation).posts.at(-1)?.id ?? 0) <= seq) this.noDot(conversation);
        break;
      }
      case "gone": {
        const { conversation, id } = e.data as { conversation: string; id?: string };
        if (id) {
          const t = this.talk(conversation);
          t.posts = t.posts.filter((p) => p.id !== id);
        } else this.dropped(conversation);
      }
    }
    this.changed();
  }

  private put(p: Post) {
    const t = this.talk(p.conversation);
    const at = t.posts.findIndex((q) => q.id === p.id);
    if (at >= 0) {
      if (t.posts[at].seq <= p.seq) t.posts = t.posts.with(at, p);
    } else if (t.loaded) {
      t.posts = [...t.posts, p];
      if (p.mine) t.pending = t.pending.filter((q) => !(q.sending && q.text === (p.text ?? "")));
    }
    this.head(p);
  }

  // head moves the conversation of a post to the top of the list.
  private head(p: Post) {
    const at = this.conversations.findIndex((c) => c.id === p.conversation);
    const live = !!p.task && (!!p.partial || p.kind === "question" || p.kind === "board");
    if (at < 0) {
      if (!p.mine) return void this.loadList();
      this.conversations = [{ id: p.conversation, title: (p.text ?? "").slice(0, 100), last_at: p.at, unread: false, task: live ? p.task! : "" }, ...this.conversations];
      return;
    }
    const old = this.conversations[at];
    // A change of an old post is no news. Its seq was its id when it came.
    const news = !p.mine && (p.kind === "answer" || p.seq === Number(p.id)) && Number(p.id) > (this.read.get(p.conversation) ?? 0);
    const c = { ...old, unread: old.unread || news, task: p.kind === "answer" && !p.partial ? "" : live ? p.task! : old.task };
    if (p.partial && at === 0 && c.task === old.task && c.unread === old.unread) return;
    c.last_at = p.at > old.last_at ? p.at : old.last_at;
    this.conversations = c.last_at === old.last_at ? this.conversations.with(at, c) : [c, ...this.conversations.toSpliced(at, 1)];
  }

  private append(piece: { conversation: string; post: string; at: number; text: string }) {
    const t = this.talk(piece.conversation);
    const at = t.posts.findIndex((p) => p.id === piece.post);
    const known = at >= 0 ? t.posts[at].text ?? "" : undefined;
    if (known === undefined || piece.at > known.length) { // a gap
      if (t.loaded) void this.load(piece.conversation);
      return;
    }
    t.posts = t.posts.with(at, { ...t.posts[at], partial: true, text: known.slice(0, piece.at) + piece.text });
  }

  async loadList(more = false) {
    const before = this.conversations;
    try {
      const page = await get<Page<Conversation>>("v1/chat/conversations", { before: more ? this.next : undefined });
      const known = new Set(page.items.map((c) => c.id));
      const rest = this.conversations.filter((c) => !known.has(c.id));
      // Without more, only conversations that began while the list was on its way stay.
      this.conversations = more ? [...rest, ...page.items] : [...rest.filter((c) => !before.some((b) => b.id === c.id)), ...page.items];
      this.next = page.next_cursor ?? null;
      this.error = undefined;
      this.listed = true;
    } catch (err) {
      this.error = err as Problem;
    }
    this.changed();
  }

  /** Loads the newest posts; older: those before the ones that are there. */
  async load(id: string, older = false) {
    const t = this.talk(id);
    if (t.loading || older && !t.next) return;
    t.loading = true;
    t.error = undefined;
    this.changed();
    try {
      const page = await get<Page<Post>>(path(id, "/posts"), { before: older ? t.next : undefined, limit: size });
      const fresh = new Map(page.items.map((p) => [p.id, p]));
      if (older) {
        t.posts = [...page.items, ...t.posts.filter((p) => !fresh.has(p.id))];
        t.next = page.next_cursor ?? null;
      } else {
        // Posts that are loaded stay if the page reaches them; otherwise something is missing between.
        // A page without next_cursor has all posts: others were deleted.
        const reaches = page.next_cursor && t.posts.some((p) => fresh.has(p.id));
        const first = page.items[0];
        const before = reaches && first ? t.posts.filter((p) => !fresh.has(p.id) && Number(p.id) < Number(first.id)) : [];
        const known = new Map(t.posts.map((p) => [p.id, p]));
        const newer = t.posts.filter((p) => first && !fresh.has(p.id) && Number(p.id) > Number(page.items.at(-1)!.id));
        t.posts = [...before, ...page.items.map((p) => ((known.get(p.id)?.seq ?? 0) > p.seq ? known.get(p.id)! : p)), ...newer];
        if (before.length === 0) t.next = page.next_cursor ?? null;
      }
      t.loaded = true;
      t.missing = false;
    } catch (err) {
      if ([404, 422].includes((err as Problem).status)) t.loaded = t.missing = true; // or it begins with its first message
      else t.error = err as Problem;
    }
    t.loading = false;
    this.changed();
  }

  /** Sends a message. It is shown at once, and sent again when the server is back. */
  send(id: string, text: string, files: ChatFile[], replyTo?: string) {
    const p: Pending = { key: newKey(), text, files, replyTo, at: new Date().toISOString(), sending: false };
    const t = this.talk(id);
    t.pending = [...t.pending, p];
    return this.deliver(id, p);
  }

  async deliver(id: string, p: Pending) {
    p.sending = true;
    p.error = undefined;
    this.changed();
    try {
      const sent = await post<Post>(path(id, "/messages"), { key: p.key, text: p.text, files: p.files.map((f) => f.id), ...(p.replyTo ? { reply_to: p.replyTo } : {}) });
      this.drop(id, p);
      this.talk(id).loaded = true;
      this.put({ ...sent, conversation: id });
    } catch (err) {
      const problem = err as Problem;
      p.sending = false;
      p.error = problem.message;
      const passing = problem.status === 0 || problem.status >= 500 || problem.status === 429;
      if (!passing || problem.status === 401) { // it will not succeed as it is: the writer gets it back
        this.drop(id, p);
        this.changed();
        throw err;
      }
    }
    this.changed();
  }

  /** Takes a message back that was not sent. */
  drop(id: string, p: Pending) {
    const t = this.talk(id);
    t.pending = t.pending.filter((q) => q !== p);
    this.changed();
  }

  /** Presses a button and returns the note about it, which may be empty. */
  async press(p: Post, data: string, more: Record<string, unknown> = {}): Promise<string> {
    return (await call<{ note: string }>("POST", path(p.conversation, "/press"), { body: { key: newKey(), post: p.id, data, ...more } })).data.note;
  }

  /** Marks what a person has seen, here at once and on the server after a moment: posts may
   * come many times a second. */
  markRead(id: string) {
    const newest = Number(this.talk(id).posts.at(-1)?.id ?? 0);
    if (newest > (this.read.get(id) ?? 0) && this.conversations.find((c) => c.id === id)?.unread) {
      this.read.set(id, newest);
      clearTimeout(this.telling.get(id));
      this.telling.set(id, window.setTimeout(() => post(path(id, "/read"), { seq: newest }).catch(() => this.read.delete(id)), 300));
    }
    this.noDot(id);
  }

  private noDot(id: string) {
    const at = this.conversations.findIndex((c) => c.id === id);
    if (at < 0 || !this.conversations[at].unread) return;
    this.conversations = this.conversations.with(at, { ...this.conversations[at], unread: false });
    this.changed();
  }

  async forget(id: string) {
    await del(path(id));
    this.dropped(id);
    this.changed();
  }

  private dropped(id: string) {
    this.conversations = this.conversations.filter((c) => c.id !== id);
    const t = this.talks.get(id);
    if (t) Object.assign(t, { posts: [], next: null, loaded: true });
  }

  search(q: string, signal: AbortSignal) {
    return get<Page<Conversation>>("v1/chat/conversations", { q }, signal);
  }
}

export const store = new Store();

/** Draws the component again whenever the store changes. */
export function useStore(): Store {
  const [, setTurn] = useState(0);
  useEffect(() => store.watch(() => setTurn((n) => n + 1)), []);
  return store;
}

/** The address of a file of a post. */
export const filePath = (conversation: string, file: string) => path(conversation, "/files/" + encodeURIComponent(file));

const draftKey = (id: string) => "legwork.draft." + id;

/** What was written in a conversation and not sent. It survives a reload. */
export const drafts = {
  get: (id: string) => localStorage.getItem(draftKey(id)) ?? "",
  set(id: string, text: string) {
    if (text) localStorage.setItem(draftKey(id), text);
    else localStorage.removeItem(draftKey(id));
  },
};
