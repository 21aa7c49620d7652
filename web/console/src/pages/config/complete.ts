import { namesUnder, placeOf } from "./yaml";

/** A JSON Schema, as far as the one of the config uses it. */
export interface Schema {
  $ref?: string; $defs?: Record<string, Schema>;
  type?: string; enum?: string[]; description?: string; examples?: unknown[];
  properties?: Record<string, Schema>; additionalProperties?: Schema | boolean; items?: Schema; required?: string[];
  anyOf?: Schema[]; oneOf?: Schema[]; minimum?: number; maximum?: number;
}

export interface Suggestion {
  label: string;
  /** What replaces the word before the cursor. */
  insert: string;
  detail: string;
}

export interface Completion { word: string; list: Suggestion[] }

/** Finds the schema at a path of keys. */
export function schemaAt(root: Schema, path: string[]): Schema | undefined {
  let now: Schema | undefined = root;
  for (const key of path) {
    now = resolve(root, now);
    if (!now) return undefined;
    if (key === "[]") now = variants(root, now).find((s) => s.items)?.items;
    else now = now.properties?.[key] ?? (typeof now.additionalProperties === "object" ? now.additionalProperties : undefined);
  }
  return now && withText(root, now);
}

function resolve(root: Schema, s: Schema | undefined): Schema | undefined {
  const name = s?.$ref?.split("/").pop();
  return name ? root.$defs?.[name] : s;
}

// withText keeps the description of the reference, which says what this use is for.
function withText(root: Schema, s: Schema): Schema {
  const to = resolve(root, s);
  return to && to !== s ? { ...to, description: s.description ?? to.description } : s;
}

const variants = (root: Schema, s: Schema): Schema[] => [s, ...(s.anyOf ?? []), ...(s.oneOf ?? [])].map((v) => resolve(root, v)!).filter(Boolean);

/** Where the names of a value are defined: below a key of the first level. */
function names(path: string[]): string {
  const key = path.join(".");
  if (/^roles\.|^models\..*\.fallback\.|^(groups|chats)\..*\.model$/.test(key)) return "models";
  if (/^groups\..*\.servers\./.test(key)) return "servers";
  if (/^chats\..*\.groups\.|^http\.tokens\..*groups\./.test(key)) return "groups";
  return "";
}

/** What can be written at an offset: keys, values of a list, names of models, servers and
 * groups. asked: the person asked for it, so that an empty word gets suggestions, too. */
export function complete(root: Schema, text: string, offset: number, asked: boolean): Completion | undefined {
  const place = placeOf(text, offset);
  if (place.at === "" || (place.word === "" && !asked)) return undefined;
  const here = schemaAt(root, place.path);
  if (!here) return undefined;
  let list: Suggestion[] = [];
  const keys = place.at === "key" || (place.path.at(-1) === "[]" && here.properties);
  if (keys) {
    const used = siblings(text, offset);
    const properties = variants(root, here).flatMap((s) => Object.entries(s.properties ?? {}));
    list = properties.filter(([name]) => !used.has(name) || name === place.word).map(([name, s]) => {
      const full = withText(root, s);
      return { label: name, insert: name + (place.flow || !opens(root, full) ? ": " : ":"), detail: sentence(full.description) };
    });
  } else {
    const values = variants(root, here).flatMap((s) => s.enum ?? (s.type === "boolean" ? ["true", "false"] : []));
    const examples = (here.examples ?? []).map(String);
    const defined = names(place.path);
    const servers = defined === "groups" ? [...namesUnder(text, "groups"), ...namesUnder(text, "servers")] : defined ? namesUnder(text, defined) : [];
    list = [...new Set([...values, ...servers, ...examples])].filter((v) => v !== "").map((v) => ({ label: v, insert: quoted(v), detail: "" }));
    if (list.length > 0) list[0].detail = sentence(here.description);
  }
  const wanted = place.word.toLowerCase();
  list = list.filter((s) => s.label.toLowerCase().includes(wanted) && s.insert.trim() !== place.word + ":");
  list.sort((a, b) => Number(b.label.toLowerCase().startsWith(wanted)) - Number(a.label.toLowerCase().startsWith(wanted)));
  if (list.length === 1 && list[0].label === place.word && !asked) return undefined;
  return list.length > 0 ? { word: place.word, list: list.slice(0, 60) } : undefined;
}

// opens reports whether a value is written in lines of its own.
const opens = (root: Schema, s: Schema) => variants(root, s).some((v) => v.type === "object" || v.properties);

const quoted = (v: string) => (/^[\w./-]+$/.test(v) ? v : JSON.stringify(v));

// sentence cuts a description.
const sentence = (text = "") => (text.length > 220 ? text.slice(0, 219) + "…" : text);

/** The keys that stand beside the line of an offset, in block style. */
function siblings(text: string, offset: number): Set<string> {
  const before = text.slice(0, offset).split("\n"), after = text.slice(offset).split("\n");
  const line = before.pop()!;
  after.shift();
  const indent = line.length - line.trimStart().length;
  const found = new Set<string>();
  const collect = (l: string): boolean => {
    if (l.trim() === "" || l.trim().startsWith("#")) return true;
    const depth = l.length - l.trimStart().length;
    if (depth < indent) return false;
    const key = depth === indent && /^\s*["']?([\w.-]+)["']?\s*:/.exec(l)?.[1];
    if (key) found.add(key);
    return true;
  };
  for (let i = before.length - 1; i >= 0 && collect(before[i]); i--);
  after.every(collect);
  return found;
}

/** The description of the key at an offset, for the line below the editor. */
export function describe(root: Schema, text: string, offset: number): { path: string; text: string } {
  const end = text.indexOf("\n", offset), place = placeOf(text, end < 0 ? text.length : Math.max(offset, lineEnd(text, offset)));
  const path = place.at === "key" && place.word ? [...place.path, place.word] : place.path;
  return { path: path.join(".").replaceAll(".[]", "[]"), text: sentence(schemaAt(root, path)?.description) };
}

// lineEnd is the offset behind the key of a line.
function lineEnd(text: string, offset: number): number {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const key = /^\s*(?:- +)*["']?[\w.-]+["']?\s*:/.exec(text.slice(start));
  return key ? start + key[0].length : offset;
}
