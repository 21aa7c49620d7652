import type { ComponentChildren, VNode } from "preact";
import { memo } from "./memo";
import { Copy } from "../ui/Code";

// Markdown as chats write it: paragraphs, headings, lists, quotations, code, tables, rules,
// and inside lines code, bold, italic, struck, links. It builds elements and never markup,
// so that a text cannot act: HTML stays text, and a picture becomes a link to it.

/** Shows a text in Markdown. Parts that did not change since the last frame of a stream
 * are not drawn again. */
export const Markdown = memo(({ text }: { text: string }) => <div class="markdown">{blocks(text).map((b, i) => <Part key={i} source={b} depth={0} />)}</div>);

const Part = memo(({ source, depth }: { source: string; depth: number }) => <>{block(source, depth)}</>);

// Each pattern takes time that grows with the length of the text, and no faster: those that
// could not are kept from long lines, or have a greatest length for what they span.
const long = 1000;
const matcher = (pattern: RegExp) => (line: string) => (line.length <= long ? pattern.exec(line) : null);
const fence = matcher(/^ {0,3}(`{3,}|~{3,})\s*([^`\n]*)$/);
const heading = matcher(/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/);
const rule = matcher(/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/);
const columns = matcher(/^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/);
const item = /^( *)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const quote = /^ {0,3}> ?/;
const maxDepth = 6;

const blank = (line: string) => line.trim() === "";
const starts = (line: string) => !!(fence(line) || heading(line) || rule(line)) || item.test(line) || quote.test(line);
const cells = (line: string) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
const isTable = (line: string, next: string | undefined) => line.includes("|") && next !== undefined && !!columns(next) && cells(line).length === cells(next).length;

/** Divides a text into its blocks: the sources of paragraphs, lists, code and so on. */
export function blocks(text: string): string[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n"), all: string[] = [];
  for (let i = 0; i < lines.length;) {
    if (blank(lines[i])) { i++; continue; }
    const from = i, open = fence(lines[i]);
    i++;
    if (open) {
      while (i < lines.length && !closes(lines[i], open[1])) i++;
      i++;
    } else if (item.test(lines[from]) && !rule(lines[from])) {
      i = endOfList(lines, from);
    } else if (quote.test(lines[from])) {
      while (i < lines.length && !blank(lines[i]) && (quote.test(lines[i]) || !starts(lines[i]))) i++;
    } else if (isTable(lines[from], lines[i])) {
      while (i < lines.length && !blank(lines[i]) && lines[i].includes("|")) i++;
    } else if (!heading(lines[from]) && !rule(lines[from])) {
      while (i < lines.length && !blank(lines[i]) && !starts(lines[i]) && !isTable(lines[i], lines[i + 1])) i++;
    }
    all.push(lines.slice(from, i).join("\n"));
  }
  return all;
}

const closes = (line: string, mark: string) => {
  const end = line.trim();
  return end.length >= mark.length && end === mark[0].repeat(end.length);
};

// A list goes on with further items and with what stands deeper than its marks; one empty
// line between them is allowed.
function endOfList(lines: string[], from: number): number {
  const first = item.exec(lines[from])!, ordered = /\d/.test(first[2]);
  let i = from + 1, open: string | undefined;
  for (; i < lines.length; i++) {
    const line = lines[i];
    if (open) { if (closes(line, open)) open = undefined; continue; }
    const inner = fence(line.trim());
    if (blank(line)) {
      const next = lines[i + 1];
      if (next === undefined || blank(next) || !(deeper(next, first) || sameList(next, ordered))) break;
    } else if (!deeper(line, first) && !sameList(line, ordered)) {
      if (blank(lines[i - 1]) || starts(line)) break;
    } else if (inner) open = inner[1];
  }
  return i;
}

const deeper = (line: string, first: RegExpExecArray) => /^ */.exec(line)![0].length > first[1].length || line.startsWith("\t");
const sameList = (line: string, ordered: boolean) => {
  const m = item.exec(line);
  return !!m && !rule(line) && /\d/.test(m[2]) === ordered;
};

function block(source: string, depth: number): ComponentChildren {
  const lines = source.split("\n"), first = lines[0];
  const open = fence(first);
  if (open) return code(lines.slice(1, lines.length > 1 && closes(lines[lines.length - 1], open[1]) ? -1 : undefined).join("\n"), open[2].trim());
  const head = heading(first);
  if (head) {
    const Heading = `h${Math.min(head[1].length + 2, 6)}` as "h3"; // h1 and h2 are of the page
    return <Heading>{inline(head[2])}</Heading>;
  }
  if (rule(first)) return <hr />;
  const deep = depth < maxDepth;
  if (deep && quote.test(first)) return <blockquote>{blocks(lines.map((l) => l.replace(quote, "")).join("\n")).map((b, i) => <Part key={i} source={b} depth={depth + 1} />)}</blockquote>;
  if (deep && item.test(first)) return list(lines, depth);
  if (isTable(first, lines[1])) return table(lines);
  return <p>{inline(source)}</p>;
}

function code(text: string, language: string): VNode {
  return (
    <div class="code">
      <div class="code-head"><span class="faint clip grow">{language}</span><Copy text={text} /></div>
      <pre tabIndex={0}><code>{text}</code></pre>
    </div>
  );
}

function list(lines: string[], depth: number): VNode {
  const first = item.exec(lines[0])!, ordered = /\d/.test(first[2]);
  const items: string[][] = [];
  let indent = 0;
  for (const line of lines) {
    const m = item.exec(line);
    if (m && (items.length === 0 || m[1].length <= first[1].length)) {
      indent = m[1].length + m[2].length + Math.min(m[3].length, 4);
      items.push([m[4]]);
    } else items[items.length - 1].push(line.replace(new RegExp(`^ {0,${indent}}`), "").replace(/^\t/, ""));
  }
  const content = items.map((all, i) => {
    const box = /^\[([ xX])\]\s+/.exec(all[0]);
    const parts = blocks((box ? all[0].slice(box[0].length) + "\n" + all.slice(1).join("\n") : all.join("\n")));
    return (
      <li key={i} class={box ? "is-check" : undefined}>
        {box && <span class="box" role="img" aria-label={box[1] === " " ? "☐" : "☑"}>{box[1] === " " ? "☐" : "☑"}</span>}
        {parts.map((b, n) => (n === 0 && !starts(b.split("\n")[0]) && !isTable(b.split("\n")[0], b.split("\n")[1]) ? <span key={n}>{inline(b)}</span> : <Part key={n} source={b} depth={depth + 1} />))}
      </li>
    );
  });
  return ordered ? <ol start={parseInt(first[2], 10)}>{content}</ol> : <ul>{content}</ul>;
}

function table(lines: string[]): VNode {
  const align = cells(lines[1]).map((c) => (/^:-+:$/.test(c) ? "is-middle" : /-:$/.test(c) ? "is-end" : undefined));
  const head = cells(lines[0]);
  return (
    <div class="table-scroll" tabIndex={0}>
      <table>
        <thead><tr>{head.map((c, i) => <th key={i} scope="col" class={align[i]}>{inline(c)}</th>)}</tr></thead>
        <tbody>{lines.slice(2).map((l, n) => {
          const row = cells(l);
          return <tr key={n}>{head.map((_, i) => <td key={i} class={align[i]}>{inline(row[i] ?? "")}</td>)}</tr>;
        })}</tbody>
      </table>
    </div>
  );
}

// The marks inside a line, the first that fits wins. Each stands for one kind of element.
const marks = /(?<escape>\\[!-\/:-@\[-`\{-~])|(?<ticks>`+)(?<code>[^`](?:.{0,5000}?[^`])?)\k<ticks>(?!`)|!?\[(?<label>(?:[^[\]\\]|\\.|\[[^[\]]{0,500}\]){0,1000})\]\((?<target>[^()\s]{0,4000}(?:\([^()\s]{0,200}\)[^()\s]{0,1000}){0,9})(?:\s+"[^"]{0,500}")?\)|<(?<auto>https?:\/\/[^\s<>]{1,4000}|mailto:[^\s<>]{1,500})>|(?<bare>https?:\/\/[^\s<>"'`]{0,4000}[^\s<>"'`.,;:!?)\]}*_~])|(?<strong>\*\*|__)(?=\S)(?<bold>.{1,2000}?\S?)\k<strong>(?![\p{L}\p{N}])|~~(?=\S)(?<struck>.{1,2000}?)~~|(?<![\p{L}\p{N}*])\*(?=[^\s*])(?<italic>[^*]{0,2000}[^\s*])\*(?!\*)|(?<![\p{L}\p{N}_])_(?=[^\s_])(?<under>[^_]{0,2000}[^\s_])_(?![\p{L}\p{N}_])|(?<br> {2,9}\n|\\\n|<br ?\/?>)/gsu;

/** Turns the marks inside a text into elements. */
export function inline(text: string, depth = 0): ComponentChildren {
  if (depth > maxDepth || text.length > 50_000) return text;
  const out: ComponentChildren[] = [];
  let last = 0;
  for (const m of text.matchAll(marks)) {
    const g = m.groups!;
    if (m.index > last) out.push(text.slice(last, m.index));
    last = m.index + m[0].length;
    const inner = (s: string) => inline(s, depth + 1);
    if (g.escape) out.push(g.escape[1]);
    else if (g.code) out.push(<code>{g.code.replace(/^ (.*\S.*) $/s, "$1")}</code>);
    else if (g.target !== undefined) out.push(link(g.target, m[0][0] === "!" ? g.label || g.target : inner(g.label), m[0]));
    else if (g.auto || g.bare) out.push(link(g.auto ?? g.bare, g.auto ?? g.bare, m[0]));
    else if (g.bold) out.push(<strong>{inner(g.bold)}</strong>);
    else if (g.struck) out.push(<del>{inner(g.struck)}</del>);
    else if (g.italic ?? g.under) out.push(<em>{inner(g.italic ?? g.under)}</em>);
    else if (g.br) out.push(<br />);
  }
  if (last === 0) return text;
  if (last < text.length) out.push(text.slice(last));
  return out;
}

// link leads outside only by addresses of the web and of mail; anything else stays text.
function link(target: string, label: ComponentChildren, source: string): ComponentChildren {
  let url: URL | undefined;
  try {
    url = new URL(target);
  } catch {
    // a relative address would lead into this page
  }
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol)) return source;
  return <a href={url.href} target="_blank" rel="noopener noreferrer" title={url.href}>{label}</a>;
}

/** A text without the signs of Markdown, for a line of plain words. */
export const plainText = (text: string): string =>
  text.replace(/^\s*(?:#{1,6}|[-*+>]|\d+[.)]|```\w*)\s+|```/gm, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/(\*\*|__|[*_`~])(?=\S)(.+?)\1/g, "$2");
