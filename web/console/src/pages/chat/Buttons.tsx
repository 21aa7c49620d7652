import { useState } from "preact/hooks";
import { Problem } from "../../lib/api";
import { Button } from "../../ui/Button";
import { toast } from "../../ui/Toast";
import { store } from "./store";
import type { Post } from "./types";

/** Presses buttons of a post: returns which one is being pressed, what is wrong, and the press. */
export function usePress(p: Post) {
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const press = async (data: string, more: Record<string, unknown> = {}) => {
    if (busy) return;
    setBusy(data);
    setProblem(undefined);
    try {
      const note = await store.press(p, data, more);
      if (note) toast(note.replace(/[*_`]/g, ""));
    } catch (err) {
      setProblem(err as Problem);
    }
    setBusy("");
  };
  return { busy, problem, press };
}

/** The buttons under a post. more is what goes along with a press. marked: what is wrong
 * is shown elsewhere. */
export function Buttons({ post: p, more, press: shared, marked }: { post: Post; more?: (data: string) => Record<string, unknown>; press?: ReturnType<typeof usePress>; marked?: boolean }) {
  const own = usePress(p);
  const { busy, problem, press } = shared ?? own;
  if (!p.buttons?.length) return null;
  return (
    <>
      <div class="row post-buttons">
        {p.buttons.filter((b) => !b.words || !p.calls?.length && !p.plan).map((b) => (
          <Button key={b.data} kind={b.style === "primary" || b.style === "danger" ? b.style : undefined} busy={busy === b.data} disabled={!!busy && busy !== b.data} onClick={() => void press(b.data, more?.(b.data))}>{b.label}</Button>
        ))}
      </div>
      {problem && problem.status !== 401 && !marked && <p class="note is-bad" role="alert">{problem.message} {problem.errors.map((e) => e.message).join(" ")}</p>}
    </>
  );
}
