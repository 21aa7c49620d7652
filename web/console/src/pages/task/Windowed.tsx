import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A list of rows of one height, of which only those in sight are drawn. Page keys and
 * arrows move the focus from row to row. */
export function Windowed<T>({ label, rows, height, row, tall = 28, end }: {
  label: string; rows: T[]; height: number; row: (item: T, index: number) => ComponentChildren; tall?: number;
  /** Keeps the end in sight while rows are added, once the reader is there. */
  end?: boolean;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [size, setSize] = useState(tall * height);
  const atEnd = useRef(!!end);
  useEffect(() => {
    const box = frame.current!;
    const watch = new ResizeObserver(() => setSize(box.clientHeight));
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (end && atEnd.current && frame.current) frame.current.scrollTop = frame.current.scrollHeight;
  }, [rows.length]);
  const from = Math.max(0, Math.floor(top / height) - 10), to = Math.min(rows.length, Math.ceil((top + size) / height) + 10);
  const move = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: Math.floor(size / height), PageUp: -Math.floor(size / height), Home: -rows.length, End: rows.length }[e.key];
    const here = (e.target as Element).closest("[data-row]");
    if (!step || !here) return;
    e.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, Number(here.getAttribute("data-row")) + step));
    const box = frame.current!;
    if (next * height < box.scrollTop || (next + 1) * height > box.scrollTop + box.clientHeight) box.scrollTop = next * height - box.clientHeight / 2;
    setTop(box.scrollTop);
    requestAnimationFrame(() => box.querySelector<HTMLElement>(`[data-row="${next}"] a, [data-row="${next}"] button`)?.focus({ preventScroll: true }));
  };
  return (
    <div class="task-window" ref={frame} style={{ maxHeight: `min(${tall * height}px, 75vh)` }} onKeyDown={move} onScroll={(e) => {
      const box = e.currentTarget;
      atEnd.current = box.scrollTop + box.clientHeight > box.scrollHeight - height;
      setTop(box.scrollTop);
    }}>
      <ul aria-label={label} class="task-rows" style={{ height: `${rows.length * height}px` }}>
        {rows.slice(from, to).map((item, i) => (
          <li key={from + i} data-row={from + i} aria-setsize={rows.length} aria-posinset={from + i + 1} style={{ top: `${(from + i) * height}px`, height: `${height}px` }}>{row(item, from + i)}</li>
        ))}
      </ul>
    </div>
  );
}
