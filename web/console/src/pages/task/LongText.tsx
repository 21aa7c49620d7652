import { useState } from "preact/hooks";
import { bytes } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Code";

const first = 8_000, piece = 20_000, step = 100_000;

/** A text of any length, also in one line. It is drawn in pieces, and those out of sight
 * cost no layout. */
export function LongText({ text, label }: { text: string; label: string }) {
  const t = useTexts();
  const [shown, setShown] = useState(first);
  const pieces: string[] = [];
  for (let from = 0; from < Math.min(shown, text.length);) {
    let to = Math.min(from + piece, shown, text.length);
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to++; // no half of a character
    pieces.push(text.slice(from, to));
    from = to;
  }
  return (
    <div class="code">
      <div class="code-head"><span class="faint clip grow">{label}</span><Copy text={text} /></div>
      <div class="task-text" tabIndex={0} role="group" aria-label={label}>{pieces.map((p, i) => <pre key={i} class="is-wrapped">{p}</pre>)}</div>
      {shown < text.length && <Button small onClick={() => setShown(shown + step)}>{t("text.more", { rest: bytes(text.length - shown) })}</Button>}
    </div>
  );
}
