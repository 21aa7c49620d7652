import { useTexts } from "../../lib/i18n";

/** A unified diff. Signs stand before the lines, so that colour alone carries no meaning. */
export function Diff({ text, label }: { text: string; label: string }) {
  const t = useTexts();
  const lines = text.split("\n").filter((l) => !/^(---|\+\+\+) /.test(l) && !l.startsWith("\\"));
  if (lines.at(-1) === "") lines.pop();
  if (lines.length === 0) return <p class="muted">{t("same")}</p>;
  return (
    <pre class="config-diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map((l, i) => {
        const hunk = /^@@ -(\d+)/.exec(l);
        const kind = hunk ? "is-hunk" : l.startsWith("+") ? "is-added" : l.startsWith("-") ? "is-removed" : "";
        return <div key={i} class={kind}>{hunk ? t("line", { n: Number(hunk[1]) }) : l || " "}</div>;
      })}
    </pre>
  );
}
