import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../../lib/api";
import { useTexts } from "../../lib/i18n";
import { plainText } from "../../lib/markdown";
import { useSession } from "../../lib/session";
import { Button } from "../../ui/Button";
import { Empty, Failed } from "../../ui/Empty";
import { Icon } from "../../ui/Icon";
import { Spinner } from "../../ui/Spinner";
import { toast, Toasts } from "../../ui/Toast";
import { Composer } from "./Composer";
import { PendingView, PostView } from "./PostView";
import { drafts, store, useStore } from "./store";
import type { ChatFile, Pending } from "./types";

const nearEnd = 80; // px

/** One conversation: its posts, and where the person writes. fresh: it begins with the
 * first message. */
export function Thread({ id, fresh, onFirst }: { id: string; fresh: boolean; onFirst: () => void }) {
  const t = useTexts();
  const { state } = useStore();
  const { ended } = useSession();
  const talk = store.talk(id);
  if (fresh) talk.loaded = true;
  const head = store.conversations.find((c) => c.id === id);
  const known = !!head, unread = !!head?.unread;
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [away, setAway] = useState(false);
  const [restored, setRestored] = useState(0); // makes the composer read its draft again
  const seen = useRef(new Set<string>());
  const [news, setNews] = useState("");

  useEffect(() => { if (!talk.loaded) void store.load(id); }, [id, known, ended]);

  // Texts grow between a scroll and its event, so only a move up ends the following.
  const top = useRef(0);
  const down = (b: HTMLElement) => {
    b.scrollTop = b.scrollHeight;
    top.current = b.scrollTop;
  };

  // Whoever reads at the end stays there while texts grow; others are not pulled down.
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(() => { if (follows.current && box.current) down(box.current); });
    watcher.observe(inner.current!);
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  const scrolled = () => {
    const b = box.current!;
    if (b.scrollHeight - b.scrollTop - b.clientHeight < nearEnd) follows.current = true;
    else if (b.scrollTop < top.current) follows.current = false;
    top.current = b.scrollTop;
    setAway(!follows.current);
    if (b.scrollTop < 200 && talk.next && !talk.loading) older();
  };
  const placing = useRef(false); // older posts come in, and the place of the reader is not set yet
  const older = () => {
    if (placing.current) return;
    placing.current = true;
    const b = box.current!, from = b.scrollHeight - b.scrollTop;
    void store.load(id, true).then(() => requestAnimationFrame(() => requestAnimationFrame(() => {
      b.scrollTop = b.scrollHeight - from;
      placing.current = false;
    })));
  };
  // Who came to the top while something was loading gets the older posts after that.
  useEffect(() => { if (!talk.loading && talk.next && !follows.current && box.current!.scrollTop < 200) older(); }, [talk.loading]);
  const toEnd = () => {
    follows.current = true;
    setAway(false);
    down(box.current!);
  };

  // Screen readers hear whole answers and questions, not each piece.
  useEffect(() => {
    const first = seen.current.size === 0;
    let latest = "";
    for (const p of talk.posts) {
      if (p.partial || p.kind === "board" || seen.current.has(p.id)) continue;
      seen.current.add(p.id);
      if (!p.mine) latest = p.text ?? "";
    }
    if (!first && latest) setNews(plainText(latest).slice(0, 600));
  }, [talk.posts]);
  useEffect(() => {
    const read = () => { if (!document.hidden && follows.current && talk.posts.length > 0) store.markRead(id); };
    read();
    document.addEventListener("visibilitychange", read);
    return () => document.removeEventListener("visibilitychange", read);
  }, [talk.posts, away, unread]);

  const send = (text: string, files: ChatFile[], replyTo?: string) => {
    toEnd();
    store.send(id, text, files, replyTo).then(onFirst, (err: Problem) => {
      drafts.set(id, [text, drafts.get(id)].filter(Boolean).join("\n"));
      setRestored((n) => n + 1);
      if (err.status !== 401) toast(err.errors.map((m) => m.message).join("; ") || err.message, true);
    });
  };
  const takeBack = (p: Pending) => {
    store.drop(id, p);
    drafts.set(id, [p.text, drafts.get(id)].filter(Boolean).join("\n"));
    setRestored((n) => n + 1);
  };
  const working = talk.posts.some((p) => p.partial) || !!head?.task;
  // A task takes additions from its plan until its answer.
  const takes = talk.posts.some((p) => p.partial && !!p.board?.items?.length || !!p.plan && !!p.buttons?.length);
  const added = new Set(talk.posts.map((p) => p.adds && p.reply_to));
  const missing = !fresh && talk.missing && talk.posts.length === 0 && talk.pending.length === 0;
  const empty = talk.loaded && talk.posts.length === 0 && talk.pending.length === 0;
  return (
    <>
      {(state === "lost" || state === "connecting" && talk.loaded && talk.posts.length > 0) && (
        <div class="chat-state" role="status"><Icon name="cloud-off" size={16} />{t(state === "lost" ? "lost" : "connecting")}</div>
      )}
      <div class="chat-scroll" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label={t("posts")}>
        <div class="chat-posts" ref={inner}>
          {missing && <Empty title={t("missing")} text={t("missing.text")} icon="chat" />}
          {talk.error && <Failed error={talk.error} again={() => void store.load(id)} />}
          {talk.loading && talk.posts.length === 0 && <Spinner page />}
          {talk.next && <div class="chat-older"><Button small busy={talk.loading} onClick={older}>{t("older")}</Button></div>}
          {empty && !missing && <Welcome onPick={(text) => send(text, [])} />}
          {talk.posts.map((p, i) => <PostView key={p.id} post={p} added={added.has(p.id)} onReply={(text) => send(text, [], p.id)} onRetry={i === talk.posts.length - 1 && !working ? () => send("/retry", []) : undefined} />)}
          {talk.pending.map((p) => <PendingView key={p.key} pending={p} again={() => void store.deliver(id, p)} back={() => takeBack(p)} />)}
        </div>
      </div>
      <div class="sr-only" aria-live="polite">{news}</div>
      <div class="chat-foot">
        {away && <Button class="chat-down" icon="down" label={t("down")} onClick={toEnd} />}
        <Toasts />
        {!missing && <Composer key={restored} id={id} guides={takes} onSend={send} />}
      </div>
    </>
  );
}

/** What a person sees before the first message: what may be asked. */
function Welcome({ onPick }: { onPick: (text: string) => void }) {
  const t = useTexts();
  return (
    <div class="chat-welcome">
      <h2>{t("welcome")}</h2>
      <p class="muted">{t("welcome.text")}</p>
      <div class="chat-examples">
        {["example.1", "example.2", "example.3"].map((key) => <button key={key} type="button" class="chat-example" onClick={() => onPick(t(key))}>{t(key)}</button>)}
      </div>
    </div>
  );
}
