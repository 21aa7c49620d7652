import { useEffect, useMemo, useState } from "preact/hooks";
import { useTitle } from "../../lib/title";
import { useTexts } from "../../lib/i18n";
import { href, navigate } from "../../lib/router";
import type { PageProps } from "../../shell/Lazy";
import { Button } from "../../ui/Button";
import { List } from "./List";
import { useStore } from "./store";
import { Thread } from "./Thread";
import { newID } from "./types";

/** The web chat: the conversations at the left, the open one beside it. */
export default function Chat({ parts }: PageProps) {
  const t = useTexts();
  const store = useStore();
  const fresh = useMemo(() => newID(), [parts[0]]);
  const id = parts[0] ?? fresh;
  const [listOpen, setListOpen] = useState(false);
  useEffect(() => { if (!store.listed) void store.loadList(); }, []);
  useEffect(() => { setListOpen(false); }, [id]);
  const start = () => { navigate(href("chat")); setListOpen(false); document.getElementById("chat-text")?.focus(); };
  const title = store.conversations.find((c) => c.id === parts[0])?.title || t("new");
  useTitle(title);
  return (
    <div class={"chat" + (listOpen ? " is-list" : "")}>
      <List current={parts[0] ?? ""} onNew={start} />
      <section class="chat-main" aria-label={title}>
        <header class="chat-bar">
          <Button kind="plain" icon={listOpen ? "left" : "chat"} label={t("conversations")} aria-expanded={listOpen} class="chat-toggle" onClick={() => setListOpen(!listOpen)} />
          <h1 class="chat-title clip">{title}</h1>
          <Button kind="plain" icon="plus" label={t("new")} class="chat-toggle" onClick={start} />
        </header>
        <Thread key={id} id={id} fresh={!parts[0]} onFirst={() => parts[0] || navigate(href("chat", id), true)} />
      </section>
    </div>
  );
}
