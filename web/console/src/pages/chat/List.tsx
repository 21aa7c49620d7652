import { useEffect, useState } from "preact/hooks";
import { time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { plainText } from "../../lib/markdown";
import { href, Link, navigate } from "../../lib/router";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Dialog";
import { Failed } from "../../ui/Empty";
import { Icon } from "../../ui/Icon";
import { Spinner } from "../../ui/Spinner";
import { store, useStore } from "./store";
import type { Conversation } from "./types";

/** The conversations, newest first, with a search over their words. */
export function List({ current, onNew }: { current: string; onNew: () => void }) {
  const t = useTexts();
  const { conversations, listed, next, error } = useStore();
  const [words, setWords] = useState("");
  const [found, setFound] = useState<Conversation[]>();
  const [deleting, setDeleting] = useState<Conversation>();
  useEffect(() => {
    if (!words.trim()) return setFound(undefined);
    const stop = new AbortController();
    const timer = setTimeout(() => store.search(words, stop.signal).then((page) => setFound(page.items), () => {}), 200);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [words]);
  const shown = found ?? conversations;
  return (
    <aside class="chat-list" aria-label={t("conversations")}>
      <div class="chat-list-head">
        <Button kind="primary" icon="plus" wide onClick={onNew}>{t("new")}</Button>
        <input class="input" type="search" placeholder={t("search.words")} aria-label={t("search.words")} value={words} onInput={(e) => setWords(e.currentTarget.value)} />
      </div>
      {error && <Failed error={error} again={() => void store.loadList()} />}
      {!listed && !error ? <Spinner page /> : shown.length === 0 ? <p class="chat-list-none faint">{words ? t("search.none") : t("none")}</p> : (
        <ul role="list">
          {shown.map((c) => (
            <li key={c.id} class={"chat-entry" + (c.id === current ? " is-current" : "")}>
              <Link to={href("chat", c.id)} aria-current={c.id === current ? "page" : undefined} class="chat-entry-link">
                <span class="chat-entry-title clip">
                  {c.waits ? <><Icon name="person" size={14} /><span class="sr-only">{t("waits")}: </span></> : c.task && <><Spinner /><span class="sr-only">{t("working")}: </span></>}
                  {c.title || t("untitled")}
                </span>
                <span class="chat-entry-time faint">{time(c.last_at)}</span>
                {c.waits && <span class="chat-entry-waits" aria-hidden="true">{t("waits")}</span>}
                {c.found && <span class="chat-entry-found faint">{marked(plainText(c.found), words)}</span>}
                {c.unread && c.id !== current && <span class="chat-unread"><span class="sr-only">{t("unread")}</span></span>}
              </Link>
              <Button kind="plain" small icon="trash" class="chat-entry-delete" label={t("delete.one", { title: c.title || t("untitled") })} onClick={() => setDeleting(c)} />
            </li>
          ))}
          {next && !found && <li class="chat-list-more"><Button small onClick={() => void store.loadList(true)}>{t("more")}</Button></li>}
        </ul>
      )}
      {deleting && <Confirm title={t("delete.title")} text={t("delete.text", { title: deleting.title || t("untitled") })} label={t("delete")} danger onClose={() => setDeleting(undefined)}
        doIt={async () => { await store.forget(deleting.id); if (deleting.id === current) navigate(href("chat"), true); }} />}
    </aside>
  );
}

// marked marks words in a text.
function marked(text: string, words: string) {
  const list = words.split(/\s+/).filter(Boolean).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return list.length === 0 ? text : text.split(new RegExp(`(${list.join("|")})`, "gi")).map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part));
}
