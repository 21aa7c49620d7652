// What an editor needs to know about YAML, found without a whole parser, so that it also
// works on a text that is not finished. The server has the last word: it checks the text.

export type Kind = "" | "key" | "string" | "number" | "word" | "comment" | "ref" | "mark" | "anchor" | "punct";
export interface Token { text: string; kind: Kind }

const keyAhead = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"{}[\],&*!|>%@`-][^#{}[\],]*?|-[^\s#{}[\],][^#{}[\],]*?)(?=\s*:(?:\s|$))/;
const piece = /(\s#.*$)|("(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)|(«hidden:[0-9a-f]{8}»)|(\$\{[^}]*\}?)|((?<=^|[\s[{,:])[&*][\w-]+)|((?<=^|[\s[{,])[\w.-]+(?=\s*:\s))|((?<=^|[\s[{,:])-?\d[\d_.]*(?:e[+-]?\d+)?(?:ns|us|ms|s|m|h|d)*(?=$|[\s\]},]))|((?<=^|[\s[{,:])(?:true|false|null|~)(?=$|[\s\]},]))|([{}[\],]|(?<=\s|^)[|>][+-]?\d?(?=\s|$))/g;
const kinds: Kind[] = ["comment", "string", "mark", "ref", "anchor", "key", "number", "word", "punct"];

/** Returns a function that splits a text into lines of coloured tokens. A line that it has
 * seen before has the same list again, so that it is not drawn again. */
export function highlighter(): (lines: string[]) => Token[][] {
  let known = new Map<string, Token[]>();
  return (lines) => {
    const used = new Map<string, Token[]>();
    let block = -1; // the indentation of the key of a | or > text; -1 outside of one
    const out = lines.map((line) => {
      const indent = line.length - line.trimStart().length;
      const inside = block >= 0 && (line.trim() === "" || indent > block);
      if (!inside) block = blockStart.test(line) && !/^\s*#/.test(line) ? indent : -1;
      const key = (inside ? "|" : " ") + line;
      const tokens = used.get(key) ?? known.get(key) ?? (inside ? [{ text: line, kind: "string" as Kind }] : tokensOf(line));
      used.set(key, tokens);
      return tokens;
    });
    known = used;
    return out;
  };
}

const blockStart = /[:\s-]\s*[|>][+-]?\d?[+-]?\s*(#.*)?$/;

function tokensOf(line: string): Token[] {
  const tokens: Token[] = [];
  let rest = line;
  const put = (text: string, kind: Kind) => { if (text) tokens.push({ text, kind }); };
  const start = /^\s*(?:- +)*(?:-$)?/.exec(rest)![0];
  put(start, start.includes("-") ? "punct" : "");
  rest = rest.slice(start.length);
  if (rest.startsWith("#")) { put(rest, "comment"); return tokens; }
  const key = keyAhead.exec(rest)?.[0];
  if (key) {
    put(key, "key");
    rest = rest.slice(key.length);
    const colon = /^\s*:/.exec(rest)![0];
    put(colon, "punct");
    rest = rest.slice(colon.length);
  }
  let end = 0;
  for (const m of rest.matchAll(piece)) {
    put(rest.slice(end, m.index), "");
    put(m[0], kinds[m.slice(1).findIndex((group) => group !== undefined)]);
    end = m.index + m[0].length;
  }
  put(rest.slice(end), "");
  return tokens;
}

/** The place of the cursor: the keys around it, "[]" for an entry of a list. */
export interface Place {
  path: string[];
  /** "key": a key is being written; "value": the value of the last key of path; "": neither. */
  at: "key" | "value" | "";
  /** The word before the cursor. */
  word: string;
  /** Within { } or [ ] on one line. */
  flow: boolean;
}

interface Line { indent: number; key: string; item: boolean; value: string }

/** Reads one line in block style. A line "- key: x" gives an item at the dash and a key
 * behind it. */
function blocks(line: string): Line[] {
  const out: Line[] = [];
  let indent = line.length - line.trimStart().length, rest = line.trimStart();
  if (rest === "" || rest.startsWith("#")) return out;
  while (/^-(\s|$)/.test(rest)) {
    const after = rest.slice(1);
    out.push({ indent, key: "", item: true, value: after.trim() });
    indent += 1 + after.length - after.trimStart().length;
    rest = after.trimStart();
  }
  const key = keyAhead.exec(rest)?.[0];
  if (key) out.push({ indent, key: plain(key), item: false, value: rest.slice(key.length).replace(/^\s*:\s*/, "") });
  return out;
}

const plain = (text: string) => /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;

/** The keys around a line that begins at an indentation. An item of a list may stand
 * directly below its key, without more indentation. */
function around(lines: string[], before: number, indent: number, item: boolean): string[] {
  const path: string[] = [];
  let limit = indent, inItem = item;
  for (let i = before; i >= 0 && limit >= 0; i--) {
    for (const part of blocks(lines[i]).reverse()) {
      const holds = part.indent < limit || (inItem && !part.item && part.indent === limit);
      if (!holds) continue;
      if (part.item) path.unshift("[]");
      else if (part.value === "" || /^[&!#]/.test(part.value)) path.unshift(part.key);
      else return path; // the value is complete: the line is not inside of it
      limit = part.indent;
      inItem = part.item;
    }
    if (limit === 0 && !inItem) break;
  }
  return path;
}

/** Finds the place of an offset in a text. */
export function placeOf(text: string, offset: number): Place {
  const lines = text.slice(0, offset).split("\n");
  const row = lines.length - 1, line = lines[row];
  if (/(^|\s)#/.test(line.replace(/"[^"]*"|'[^']*'/g, ""))) return { path: [], at: "", word: "", flow: false };
  const parts = blocks(line), keyed = parts.find((p) => !p.item);
  const items = parts.filter((p) => p.item);
  const first = parts[0];
  const indent = first ? first.indent : line.length - line.trimStart().length;
  const path = around(lines, row - 1, indent, !!first?.item || /^\s*-/.test(line));
  path.push(...items.map(() => "[]"));
  if (!keyed) {
    const rest = line.trimStart().replace(/^(?:-\s+)+/, "");
    if (!/[{[]/.test(rest)) {
      return items.length > 0 || !/^\s*-$/.test(line) ? { path, at: items.length > 0 ? "value" : "key", word: rest, flow: false } : { path, at: "", word: "", flow: false };
    }
    return flow(path, rest);
  }
  return flow([...path, keyed.key], keyed.value);
}

/** Finds the place at the end of a value that may be in flow style: {a: 1, b: [c. */
function flow(path: string[], value: string): Place {
  const stack: { list: boolean; key: string }[] = [];
  let word = "", key = "", quoted = "";
  for (const c of value) {
    const top = stack.at(-1);
    if (quoted) { if (c === quoted) quoted = ""; word += c; continue; }
    if ((c === '"' || c === "'") && word.trim() === "") { quoted = c; word += c; continue; }
    if ((c === "{" || c === "[") && word.trim() === "") { stack.push({ list: c === "[", key }); key = ""; word = ""; continue; }
    if (!top) { word += c; continue; }
    if (c === "}" || c === "]") { stack.pop(); word = ""; key = ""; continue; }
    if (c === ",") { word = ""; key = ""; continue; }
    if (c === ":" && !top.list && !key) { key = plain(word.trim()); word = ""; continue; }
    word += c;
  }
  const inside = [...path];
  for (const level of stack) {
    if (level.key) inside.push(level.key);
    if (level.list) inside.push("[]");
  }
  const top = stack.at(-1);
  if (!top) return { path, at: "value", word: word.trimStart(), flow: false };
  if (key) return { path: [...inside, key], at: "value", word: word.trimStart(), flow: true };
  return { path: inside, at: top.list ? "value" : "key", word: word.trimStart(), flow: true };
}

/** The names below a key of the first level, such as those of all servers. */
export function namesUnder(text: string, key: string): string[] {
  const names: string[] = [];
  let inside = false, depth = -1;
  for (const line of text.split("\n")) {
    const part = blocks(line).find((p) => !p.item);
    if (!part) continue;
    if (part.indent === 0) {
      inside = part.key === key;
      depth = -1;
      if (inside) names.push(...[...part.value.matchAll(/(?:^\{|,)\s*([\w-]+)\s*:/g)].map((m) => m[1]));
    } else if (inside) {
      if (depth < 0) depth = part.indent;
      if (part.indent === depth) names.push(part.key);
    }
  }
  return names;
}

/** Puts a block of lines below a key of the first level, which is made when it is missing.
 * Returns the text and the offset of the block; undefined when the key has its values in
 * braces. */
export function insertUnder(text: string, key: string, block: string): { text: string; at: number; length: number } | undefined {
  const lines = text.split("\n");
  const row = lines.findIndex((l) => new RegExp(`^${key}\\s*:`).test(l));
  if (row < 0) {
    const head = text === "" || text.endsWith("\n") ? text : text + "\n";
    const added = `\n${key}:\n${block}\n`;
    return { text: head + added, at: head.length, length: added.length };
  }
  const value = lines[row].replace(/^[^:]*:\s*/, "").replace(/\s*#.*$/, "");
  if (value === "{}") lines[row] = lines[row].replace("{}", "").trimEnd();
  else if (value !== "") return undefined;
  const next = lines.slice(row + 1).find((l) => l.trim() !== "" && !l.trim().startsWith("#"));
  const indent = next && /^\s/.test(next) ? next.length - next.trimStart().length : 2;
  const shifted = block.split("\n").map((l) => (l ? " ".repeat(Math.max(indent - 2, 0)) + l : l));
  lines.splice(row + 1, 0, ...shifted);
  const at = lines.slice(0, row + 1).join("\n").length + 1;
  return { text: lines.join("\n"), at, length: shifted.join("\n").length };
}
