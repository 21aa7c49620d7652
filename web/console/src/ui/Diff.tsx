/** A unified diff, one row per line. A sign stands before each line, so that colour alone
 * carries no meaning. */
export function Diff({ text, label }: { text: string; label: string }) {
  const kind = (line: string) => /^(---|\+\+\+|@@)/.test(line) ? "head" : line[0] === "+" ? "new" : line[0] === "-" ? "old" : "same";
  return (
    <pre class="diff" tabIndex={0} aria-label={label}>
      {text.replace(/\n$/, "").split("\n").map((line, i) => <span key={i} class={"diff-line is-" + kind(line)}>{line + "\n"}</span>)}
    </pre>
  );
}
