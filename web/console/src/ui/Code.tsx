import { useState } from "preact/hooks";
import { useTexts } from "../lib/i18n";
import { Button } from "./Button";

const fold = 20_000;

/** A text in fixed width with a button that copies it. Only the beginning of a long one
 * is drawn until the reader asks for all. */
export function Code({ text, label, wrap = true }: { text: string; label?: string; wrap?: boolean }) {
  const t = useTexts();
  const [all, setAll] = useState(false);
  const shown = all || text.length <= fold ? text : text.slice(0, fold);
  return (
    <div class="code">
      <div class="code-head"><span class="faint clip grow">{label}</span><Copy text={text} /></div>
      <pre class={wrap ? "is-wrapped" : undefined} tabIndex={0} aria-label={label}><code>{shown}</code></pre>
      {shown !== text && <Button small onClick={() => setAll(true)}>{t("code.all", { n: text.length })}</Button>}
    </div>
  );
}

/** A button that copies a text. */
export function Copy({ text, label }: { text: string; label?: string }) {
  const t = useTexts();
  const [done, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <Button kind="plain" small icon={done ? "check" : "copy"} label={done ? t("copied") : label ?? t("copy")} onClick={copy} />;
}

// copyText uses the old way where the page is not in a secure context: http in a network.
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr-only";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    return ok;
  }
}
