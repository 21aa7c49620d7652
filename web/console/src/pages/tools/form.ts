import type { Schema } from "./types";

/** How a value of a schema is entered. */
export type Kind = "text" | "long" | "number" | "choice" | "yesno" | "lines" | "json";

/** The schema itself where it is wrapped to allow null. */
export function plain(s: Schema): Schema {
  const some = (s.anyOf ?? s.oneOf)?.filter((x) => x.type !== "null");
  return some?.length === 1 ? { ...s, ...some[0], anyOf: undefined, oneOf: undefined } : s;
}

export function kindOf(schema: Schema): Kind {
  const s = plain(schema);
  const types = [s.type ?? []].flat().filter((x) => x !== "null");
  if (s.enum && s.enum.every((v) => typeof v !== "object" || v === null)) return "choice";
  if (types.length !== 1 || s.anyOf || s.oneOf) return "json";
  switch (types[0]) {
    case "string": return (s.maxLength ?? 0) > 500 ? "long" : "text";
    case "number": case "integer": return "number";
    case "boolean": return "yesno";
    case "array": return kindOf(s.items ?? {}) === "text" ? "lines" : "json";
  }
  return "json";
}

/** The text of a field for a value, such as a default. */
export function show(kind: Kind, value: unknown): string {
  if (value === undefined) return "";
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  return kind === "json" || typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

/** Reads the fields of a form. An empty field is left out. errors: the name of a text, by field. */
export function read(schema: Schema, fields: Record<string, string>): { value: Record<string, unknown>; errors: Record<string, string> } {
  const value: Record<string, unknown> = {}, errors: Record<string, string> = {};
  for (const [name, of] of Object.entries(schema.properties ?? {})) {
    const text = fields[name] ?? "", kind = kindOf(of), required = schema.required?.includes(name);
    if (text === "") {
      if (required && kind === "lines") value[name] = [];
      else if (required && kind !== "text" && kind !== "long") errors[name] = "form.needed";
      else if (required) value[name] = "";
      continue;
    }
    if (kind === "number") {
      const n = Number(text);
      if (Number.isNaN(n) || (of.type === "integer" && !Number.isInteger(n))) errors[name] = "form.number";
      else value[name] = n;
    } else if (kind === "yesno") value[name] = text === "true";
    else if (kind === "choice") value[name] = plain(of).enum!.find((v) => String(v) === text);
    else if (kind === "lines") value[name] = text.split("\n").filter((line) => line !== "");
    else if (kind === "json") {
      try { value[name] = JSON.parse(text); } catch { errors[name] = "form.json"; }
    } else value[name] = text;
  }
  return { value, errors };
}
