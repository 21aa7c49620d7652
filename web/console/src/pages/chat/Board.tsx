import { useEffect, useState } from "preact/hooks";
import { duration } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Icon } from "../../ui/Icon";
import { Spinner } from "../../ui/Spinner";
import type { BoardItem, Post } from "./types";

const icons: Record<string, string> = { done: "check", failed: "error", skipped: "right", waiting: "pause", todo: "clock" };

/** The progress of a task: its sub-tasks as they work. */
export function Board({ board, live }: { board: NonNullable<Post["board"]>; live: boolean }) {
  const items = board.items ?? [];
  const done = items.filter((i) => ["done", "failed", "skipped"].includes(i.state)).length;
  const [since] = useState(() => new Map<string, [number, number]>());
  const running = live && items.some((i) => i.state === "working");
  const [, setTurn] = useState(0);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setTurn((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [running]);
  // Between two frames the clock of a working item goes on here.
  const elapsed = (i: BoardItem) => {
    const ms = i.elapsed_ms ?? 0, known = since.get(i.id);
    if (!known || known[0] !== ms) since.set(i.id, [ms, Date.now()]);
    return i.state === "working" && live ? ms + Date.now() - since.get(i.id)![1] : ms;
  };
  return (
    <div class="board">
      <header class="board-head">
        <strong class="grow">{board.title}</strong>
        <span class="board-status muted">{live && !board.waiting && <Spinner />}{board.status}</span>
      </header>
      {items.length > 0 && <progress class="board-bar" max={items.length} value={done} aria-label={board.title} />}
      {items.length > 0 && <ol class="board-items">{items.map((i) => <Item key={i.id} item={i} elapsed={elapsed(i)} />)}</ol>}
    </div>
  );
}

function Item({ item: i, elapsed }: { item: BoardItem; elapsed: number }) {
  const t = useTexts();
  return (
    <li class={"board-item is-" + i.state}>
      <span class="board-mark">{i.state === "working" ? <Spinner /> : <Icon name={icons[i.state] ?? "clock"} size={16} />}<span class="sr-only">{t("state." + i.state)}: </span></span>
      <span class="grow">{i.title}{i.doing && <span class="board-doing faint mono">{i.doing}</span>}</span>
      {i.group && <span class="badge hide-narrow">{i.group}</span>}
      {elapsed > 0 && <span class="faint num">{duration(Math.floor(elapsed / 1000) * 1000 || elapsed)}</span>}
    </li>
  );
}
