import { fullTime, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Markdown } from "../../lib/markdown";
import { memo } from "../../lib/memo";
import { href, Link } from "../../lib/router";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Code";
import { Icon } from "../../ui/Icon";
import { Spinner } from "../../ui/Spinner";
import { Board } from "./Board";
import { FileView } from "./FileView";
import { Question } from "./Question";
import { Buttons } from "./Buttons";
import type { Pending, Post } from "./types";

/** One post. added: it was added to a running task. onReply answers a question in words;
 * onRetry asks the question of an answer again. */
export const PostView = memo(({ post: p, added, onReply, onRetry }: { post: Post; added?: boolean; onReply: (text: string) => void; onRetry?: () => void }) => {
  const t = useTexts();
  const files = [...(p.files ?? []), ...(p.file ? [p.file] : [])];
  if (p.mine) {
    return (
      <article class={"post is-mine" + (added ? " is-added" : "")} aria-label={t("you")}>
        {p.text && <div class="post-text">{p.text}</div>}
        <Files post={p} files={files} />
        <time class="post-time faint" dateTime={p.at} title={fullTime(p.at)}>{time(p.at)}</time>
      </article>
    );
  }
  const kind = ["post", "is-" + p.kind, p.adds && "adds", p.failed && "is-failed"].filter(Boolean).join(" ");
  return (
    <article class={kind} aria-label="legwork" aria-busy={p.partial}>
      {p.failed && <p class="post-failed"><Icon name="error" size={16} />{t("failed")}</p>}
      {p.board && <Board board={p.board} live={!!p.partial || !!p.buttons?.length} />}
      {p.text && !(p.board && p.kind === "board") && <Markdown text={p.text} />}
      {p.kind === "answer" && p.partial && <span class="post-cursor" aria-hidden="true" />}
      <Files post={p} files={files} />
      {p.kind === "question" ? <Question post={p} onReply={onReply} /> : <Buttons post={p} />}
      {(p.footer || p.kind === "answer") && !p.partial && (
        <footer class="post-foot faint">
          {p.footer && <span>{p.footer}</span>}
          {p.task && "task" in PAGES && <Link to={href("tasks", p.task)}>{t("details")}</Link>}
          {onRetry && p.kind === "answer" && <Button kind="plain" small icon="refresh" onClick={onRetry}>{t("retry")}</Button>}
          {p.text && <Copy text={p.text} label={t("copy.answer")} />}
          <time dateTime={p.at} title={fullTime(p.at)}>{time(p.at)}</time>
        </footer>
      )}
    </article>
  );
});

function Files({ post, files }: { post: Post; files: NonNullable<Post["files"]> }) {
  return files.length > 0 ? <div class="post-files">{files.map((f) => <FileView key={f.id} conversation={post.conversation} file={f} />)}</div> : null;
}

/** A message on its way, or one that did not arrive. */
export function PendingView({ pending: p, again, back }: { pending: Pending; again: () => void; back: () => void }) {
  const t = useTexts();
  return (
    <article class="post is-mine is-pending" aria-label={t("you")}>
      {p.text && <div class="post-text">{p.text}</div>}
      {p.files.map((f) => <span key={f.id} class="faint">{f.name}</span>)}
      {p.error ? (
        <div class="post-unsent" role="alert">
          <span>{t("unsent")}</span>
          <Button small onClick={again}>{t("again")}</Button><Button small kind="plain" onClick={back}>{t("edit")}</Button>
        </div>
      ) : <span class="post-time faint"><Spinner /> {t("sending")}</span>}
    </article>
  );
}
