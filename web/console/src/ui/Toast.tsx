import { useEffect, useState } from "preact/hooks";
import { useTexts } from "../lib/i18n";
import { Button } from "./Button";

interface Note { id: number; text: string; bad: boolean }

let notes: Note[] = [];
let last = 0;
let redraw = () => {};

/** Shows a sentence for some seconds; screen readers read it. An error stays until it is closed. */
export function toast(text: string, bad = false) {
  const note = { id: ++last, text, bad };
  notes = [...notes.slice(-3), note];
  redraw();
  if (!bad) setTimeout(() => close(note), Math.max(4000, text.length * 70));
}

/** Shows the error of a call: call().catch(failed). */
export const failed = (err: unknown) => toast((err as Error).message, true);

function close(note: Note) {
  notes = notes.filter((n) => n !== note);
  redraw();
}

/** The place of toasts: the shell has it, and the chat in its stead. */
export function Toasts() {
  const t = useTexts();
  const [, setTurn] = useState(0);
  useEffect(() => { redraw = () => setTurn((n) => n + 1); }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notes.map((n) => (
        <div key={n.id} class={"toast" + (n.bad ? " is-bad" : "")}>
          <span class="grow">{n.text}</span><Button kind="plain" small icon="close" label={t("close")} onClick={() => close(n)} />
        </div>
      ))}
    </div>
  );
}
