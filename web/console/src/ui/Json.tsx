import { useState } from "preact/hooks";
import { useTexts } from "../lib/i18n";

const page = 100;

/** A JSON value as a tree that folds. Objects and lists deeper than open are folded. */
export function Json({ value, open = 2, name }: { value: unknown; open?: number; name?: string }) {
  return <div class="json"><Node value={value} open={open} name={name} /></div>;
}

function Node({ value, open, name }: { value: unknown; open: number; name?: string }) {
  const key = name === undefined ? null : <span class="json-key">{name}: </span>;
  if (value === null || typeof value !== "object") return <div class="json-leaf">{key}<Leaf value={value} /></div>;
  const list = Array.isArray(value), entries = Object.entries(value);
  const size = list ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) return <div class="json-leaf">{key}<span class="faint">{list ? "[]" : "{}"}</span></div>;
  return <Branch head={<>{key}<span class="faint">{size}</span></>} entries={entries} open={open} />;
}

function Branch({ head, entries, open }: { head: preact.ComponentChildren; entries: [string, unknown][]; open: number }) {
  const t = useTexts();
  const [shown, setShown] = useState(open > 0);
  const [count, setCount] = useState(page);
  return (
    <details open={shown} onToggle={(e) => setShown(e.currentTarget.open)}>
      <summary>{head}</summary>
      {shown && entries.slice(0, count).map(([k, v]) => <Node key={k} name={k} value={v} open={open - 1} />)}
      {shown && entries.length > count && <button type="button" class="button is-small" onClick={() => setCount(count + page)}>{t("more")}</button>}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  const t = useTexts();
  const [all, setAll] = useState(false);
  if (typeof value !== "string") return <span class={"json-" + (value === null ? "null" : typeof value)}>{String(value)}</span>;
  const cut = !all && value.length > 2000;
  return <span class="json-string">{cut ? value.slice(0, 2000) + "…" : value}{cut && <button type="button" class="button is-small" onClick={() => setAll(true)}>{t("code.all", { n: value.length })}</button>}</span>;
}
