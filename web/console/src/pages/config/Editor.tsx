import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useTexts } from "../../lib/i18n";
import { memo } from "../../lib/memo";
import { useId } from "../../ui/Field";
import { complete, describe, type Completion, type Schema, type Suggestion } from "./complete";
import { highlighter, type Token } from "./yaml";

/** A mistake or warning at a line of the text. */
export interface Mark { line: number; column: number; text: string; bad: boolean }

/** Where the text is to be shown and the cursor put; turn makes a repeated jump another one. */
export interface Jump { offset: number; length: number; turn: number }

/** A longer text is shown without colours, so that typing stays quick. */
const maxColoured = 2500;

/** An editor for YAML: a textarea, with the same text in colours behind it. Tab indents,
 * and leaves the editor after Escape; Ctrl-Space suggests keys and values. */
export function Editor({ value, onChange, onSave, readOnly, marks, schema, label, jump }: {
  value: string; onChange: (text: string) => void; onSave: () => void; readOnly: boolean; marks: Mark[]; schema?: Schema; label: string; jump?: Jump;
}) {
  const t = useTexts();
  const area = useRef<HTMLTextAreaElement>(null), popup = useRef<HTMLUListElement>(null), probe = useRef<HTMLSpanElement>(null);
  const leaving = useRef(false);
  const [cursor, setCursor] = useState(0);
  const [open, setOpen] = useState<Completion>();
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const [highlight] = useState(highlighter);
  const lines = useMemo(() => value.split("\n"), [value]);
  const coloured = useMemo(() => (lines.length > maxColoured ? undefined : highlight(lines)), [lines]);
  const byLine = useMemo(() => {
    const map = new Map<number, Mark>();
    for (const m of marks) if (!map.get(m.line)?.bad) map.set(m.line, m);
    return map;
  }, [marks]);

  useLayoutEffect(() => { if (area.current && area.current.value !== value) area.current.value = value; }, [value]);
  useEffect(() => {
    if (!jump || !area.current) return;
    area.current.focus();
    area.current.setSelectionRange(jump.offset, jump.offset + jump.length);
    setCursor(jump.offset);
    reveal(area.current, jump.offset, probe.current);
  }, [jump]);

  // The list stands below the cursor. Its place is measured, since characters differ in width.
  useLayoutEffect(() => {
    const list = popup.current, ruler = probe.current;
    if (!list || !ruler || !open) return;
    const before = value.slice(0, cursor - open.word.length), row = before.split("\n").length - 1;
    ruler.textContent = before.slice(before.lastIndexOf("\n") + 1) || "\u200b";
    const height = ruler.getBoundingClientRect().height;
    list.style.setProperty("left", Math.max(0, ruler.getBoundingClientRect().width) + "px");
    list.style.setProperty("top", (row + 1) * height + "px");
    const below = list.getBoundingClientRect(), frame = list.closest(".config-scroll")!.getBoundingClientRect();
    if (below.bottom > frame.bottom && row * height > below.height) list.style.setProperty("top", row * height - below.height + "px");
    if (below.right > frame.right) list.style.setProperty("left", Math.max(0, ruler.getBoundingClientRect().width - (below.right - frame.right) - 8) + "px");
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [open, chosen]);

  // The line numbers stand over the text, so that browsers take what is behind them for seen.
  useLayoutEffect(() => {
    const frame = area.current!.closest(".config-scroll")!, ruler = probe.current!;
    if (frame.scrollLeft === 0) return;
    ruler.textContent = value.slice(value.lastIndexOf("\n", cursor - 1) + 1, cursor);
    const width = ruler.getBoundingClientRect().width;
    if (width - 16 < frame.scrollLeft) frame.scrollLeft = Math.max(0, width - 64);
  }, [value, cursor]);

  const suggest = (asked: boolean) => {
    const el = area.current;
    if (!el || !schema || readOnly) return;
    setOpen(el.selectionStart === el.selectionEnd ? complete(schema, el.value, el.selectionStart, asked) : undefined);
    setChosen(0);
  };
  const accept = (s: Suggestion) => {
    const el = area.current!;
    el.focus();
    el.setSelectionRange(el.selectionStart - (open?.word.length ?? 0), el.selectionStart);
    type(s.insert);
    setOpen(undefined);
  };
  const key = (e: KeyboardEvent) => {
    const el = area.current!;
    if (e.isComposing) return;
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "s") { e.preventDefault(); onSave(); return; }
    if (e.ctrlKey && e.key === " ") { e.preventDefault(); suggest(true); return; }
    if (open) {
      const n = open.list.length, to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: Math.min(chosen + 8, n - 1), PageUp: Math.max(chosen - 8, 0) }[e.key];
      if (to !== undefined) { e.preventDefault(); setChosen((to + n) % n); return; }
      if (e.key === "Enter" || e.key === "Tab") { e.preventDefault(); accept(open.list[chosen]); return; }
      if (e.key === "Escape") { e.preventDefault(); setOpen(undefined); return; }
    }
    if (e.key === "Escape") { leaving.current = true; return; }
    if (e.key === "Tab" && !leaving.current && !readOnly && !e.ctrlKey && !e.altKey) { e.preventDefault(); indent(el, e.shiftKey); return; }
    if (e.key !== "Shift" && e.key !== "Tab") leaving.current = false;
    if (e.key === "Enter" && !readOnly && !e.ctrlKey && !e.metaKey && !e.shiftKey) {
      const line = el.value.slice(el.value.lastIndexOf("\n", el.selectionStart - 1) + 1, el.selectionStart);
      const deeper = /:\s*(#.*)?$|:\s*[|>][+-]?$/.test(line) && !/^\s*#/.test(line);
      e.preventDefault();
      type("\n" + /^\s*/.exec(line)![0] + (deeper ? "  " : ""));
    }
  };
  const row = value.slice(0, cursor).split("\n").length, column = cursor - value.lastIndexOf("\n", cursor - 1);
  const here = useMemo(() => (schema ? describe(schema, value, cursor) : { path: "", text: "" }), [schema, value, cursor]);
  const problem = byLine.get(row);
  return (
    <div class="config-editor">
      <div class="config-scroll">
        <Gutter count={lines.length} marks={byLine} />
        <div class="config-code">
          <pre class="config-back" aria-hidden="true">
            {coloured ? coloured.map((tokens, i) => <Line key={i} tokens={tokens} mark={byLine.get(i + 1)} />) : value + "\n"}
          </pre>
          <textarea ref={area} class="config-text" defaultValue={value} readOnly={readOnly} spellcheck={false} autocomplete="off" autocapitalize="off" wrap="off"
            aria-label={label} aria-describedby={id + "-help"} aria-invalid={marks.some((m) => m.bad) || undefined} aria-autocomplete="list"
            aria-controls={open ? id : undefined} aria-activedescendant={open ? `${id}-${chosen}` : undefined}
            onInput={(e) => { onChange(e.currentTarget.value); setCursor(e.currentTarget.selectionStart); suggest(false); }}
            onSelect={(e) => { const at = e.currentTarget.selectionStart; if (at !== cursor) { setCursor(at); if (document.activeElement === e.currentTarget && open && e.currentTarget.value === value) setOpen(undefined); } }}
            onKeyDown={key} onBlur={() => { leaving.current = false; setOpen(undefined); }} />
          <span ref={probe} class="config-probe" aria-hidden="true" />
          {open && (
            <ul ref={popup} class="config-list" role="listbox" id={id} aria-label={t("suggestions")}>
              {open.list.map((s, i) => (
                <li key={s.label} id={`${id}-${i}`} role="option" aria-selected={i === chosen} onPointerDown={(e) => { e.preventDefault(); accept(s); }}>
                  <span class="mono">{s.label}</span>{i === chosen && s.detail && <span class="faint block">{s.detail}</span>}
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
      <div class="config-status">
        <span class="num">{t("at", { line: row, column })}</span>
        {problem ? <span class={problem.bad ? "config-bad" : "config-warn"}>{problem.text}</span> : here.path && <span class="clip"><code>{here.path}</code> {here.text}</span>}
        <span id={id + "-help"} class="config-help faint">{t(readOnly ? "keys.read" : "keys")}</span>
      </div>
    </div>
  );
}

const Gutter = memo(function Gutter({ count, marks }: { count: number; marks: Map<number, Mark> }) {
  return (
    <div class="config-gutter" aria-hidden="true">
      {Array.from({ length: count }, (_, i) => {
        const m = marks.get(i + 1);
        return <div key={i} class={m ? (m.bad ? "is-bad" : "is-warn") : undefined} title={m?.text}>{m ? (m.bad ? "✕ " : "! ") : "  "}{i + 1}</div>;
      })}
    </div>
  );
});

const Line = memo(function Line({ tokens, mark }: { tokens: Token[]; mark?: Mark }) {
  return <div class={mark ? (mark.bad ? "config-line is-bad" : "config-line is-warn") : "config-line"}>{tokens.map((x) => (x.kind ? <span class={"config-" + x.kind}>{x.text}</span> : x.text))}{"\n"}</div>;
});

// type replaces the selection, so that undo knows it. The old way is the only one for that.
function type(text: string) {
  const el = document.activeElement as HTMLTextAreaElement;
  if (text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text)) return;
  el.setRangeText(text, el.selectionStart, el.selectionEnd, "end");
  el.dispatchEvent(new Event("input", { bubbles: true }));
}

// indent moves the selected lines by two spaces; without a selection it types them.
function indent(el: HTMLTextAreaElement, back: boolean) {
  const { value, selectionStart: from, selectionEnd: to } = el;
  if (!back && from === to) {
    const column = from - value.lastIndexOf("\n", from - 1) - 1;
    return type(column % 2 ? " " : "  ");
  }
  const start = value.lastIndexOf("\n", from - 1) + 1, last = to > from && value[to - 1] === "\n" ? to - 1 : to;
  const found = value.indexOf("\n", last), end = found < 0 ? value.length : found;
  const old = value.slice(start, end), changed = old.split("\n").map((l) => (back ? l.replace(/^ {1,2}/, "") : l && "  " + l)).join("\n");
  if (old === changed) return;
  el.setSelectionRange(start, end);
  type(changed);
  if (from === to) el.setSelectionRange(Math.max(start, from - (old.length - changed.length)), Math.max(start, from - (old.length - changed.length)));
  else el.setSelectionRange(start, start + changed.length);
}

// reveal scrolls to the line of an offset.
function reveal(el: HTMLTextAreaElement, offset: number, probe: HTMLElement | null) {
  const frame = el.closest(".config-scroll"), height = probe?.getBoundingClientRect().height || 20;
  if (frame) frame.scrollTop = Math.max(0, (el.value.slice(0, offset).split("\n").length - 6) * height);
}
