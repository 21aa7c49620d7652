import type { ComponentChildren } from "preact";
import { useTexts } from "../lib/i18n";
import { Button } from "./Button";

export interface Column<T> {
  /** Unique in the table. */
  id: string;
  label: string;
  cell: (row: T) => ComponentChildren;
  /** "end" for numbers. */
  align?: "end";
  /** At narrow windows a row is a card: its first column is the title, and a hidden one is left out. */
  hideNarrow?: boolean;
}

/** A table. The caption is read by screen readers. onRow makes rows clickable with the
 * mouse; put a link or button into a cell, so that the keyboard reaches the same. */
export function Table<T>({ caption, columns, rows, rowKey, onRow, more, onMore, busy }: {
  caption: string; columns: Column<T>[]; rows: T[]; rowKey: (row: T) => string; onRow?: (row: T) => void; more?: boolean; onMore?: () => void; busy?: boolean;
}) {
  const t = useTexts();
  return (
    <div class="table-frame">
      <table class="table" aria-busy={busy}>
        <caption class="sr-only">{caption}</caption>
        <thead><tr>{columns.map((c) => <th key={c.id} scope="col" class={style(c)}>{c.label}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} class={onRow ? "is-link" : undefined} onClick={onRow && ((e) => {
              if (!(e.target as Element).closest("a, button, input, select, label") && !getSelection()?.toString()) onRow(row);
            })}>
              {columns.map((c) => <td key={c.id} class={style(c)} data-label={c.label}>{c.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      {more && <div class="table-more"><Button small busy={busy} onClick={onMore}>{t("more")}</Button></div>}
    </div>
  );
}

const style = <T,>(c: Column<T>) => [c.align && "is-end", c.hideNarrow && "hide-narrow"].filter(Boolean).join(" ") || undefined;
