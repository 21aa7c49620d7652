import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

export type Language = "en" | "ru" | "zh";
export const languages: Record<Language, string> = { en: "English", ru: "Русский", zh: "中文" };

/** Texts by key. A text may hold {name}, and plural forms: "{n|step|steps}", in Russian
 * three forms. */
export type Texts = Record<string, string>;
export type Translate = (key: string, values?: Record<string, string | number>) => string;

const stored = "legwork.language";
const cache = new Map<string, Promise<Texts>>();
const loaded = new Map<string, Texts>();
let current = choose();

function choose(): Language {
  for (const wish of [localStorage.getItem(stored) ?? "", ...navigator.languages]) {
    const short = wish.slice(0, 2).toLowerCase();
    if (short in languages) return short as Language;
  }
  return "en";
}

export const language = (): Language => current;

const formats = new Map<string, unknown>();

/** A format of Intl in the language of the page. It is kept: to make one takes about as
 * long as to draw a row. */
export function intl<F, O>(Kind: new (language: string, options: O) => F, options: O): F {
  const key = Kind.name + JSON.stringify(options);
  let kept = formats.get(key) as F | undefined;
  if (!kept) formats.set(key, (kept = new Kind(current, options)));
  return kept;
}

/** Shows the page in a language of legwork, and keeps it in this browser. */
export async function speak(l: string): Promise<void> {
  if (!(l in languages) || l === current) return;
  localStorage.setItem(stored, l);
  document.documentElement.lang = current = l as Language;
  formats.clear();
  const names = [...cache.keys()];
  cache.clear();
  await Promise.all(names.map(loadTexts));
}

/** Loads the texts of a page, texts/LANGUAGE/name.json. */
export function loadTexts(name: string): Promise<Texts> {
  let texts = cache.get(name);
  if (!texts) {
    const l = current;
    texts = import(`../texts/${l}/${name}.json`).then((m) => m.default as Texts);
    texts.then((t) => l === current && loaded.set(name, t), () => cache.delete(name));
    cache.set(name, texts);
  }
  return texts;
}

/** The names of the texts that a component uses, the nearest first. Router and shell set it. */
export const TextNames = createContext<string[]>(["shell"]);

/** Returns the function that looks a text up: in the texts of the page, then in those of the shell. */
export function useTexts(): Translate {
  const names = useContext(TextNames);
  return (key, values) => translate(names, key, values);
}

/** Reports whether the texts are loaded, and loads them. */
export function useLoadedTexts(name: string): boolean {
  const [, setTurn] = useState(0);
  useEffect(() => { void loadTexts(name).then(() => setTurn((n) => n + 1)); }, [name]);
  return loaded.has(name);
}

export function translate(names: string[], key: string, values: Record<string, string | number> = {}): string {
  const text = names.map((n) => loaded.get(n)?.[key]).find((t) => t !== undefined) ?? key;
  return text.replace(/\{(\w+)((?:\|[^{}|]*)*)\}/g, (whole, name: string, forms: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    if (!forms) return typeof value === "number" ? intl(Intl.NumberFormat, {}).format(value) : value;
    const all = forms.slice(1).split("|");
    return all[Math.min(form(Number(value)), all.length - 1)];
  });
}

// form is the index of the plural form: one, few (Russian) or many.
function form(n: number): number {
  const rule = intl(Intl.PluralRules, {}).select(n);
  return current === "ru" ? { one: 0, few: 1 }[rule as string] ?? 2 : rule === "one" ? 0 : 1;
}

document.documentElement.lang = current;
