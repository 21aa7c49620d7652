import { useState } from "preact/hooks";
import { useTexts } from "../lib/i18n";
import { Check, Field, Select } from "./Field";

/** The part of JSON Schema that forms are made from. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  enumNames?: string[];
  const?: unknown;
  oneOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
}

export type Values = Record<string, unknown>;

/** The fields of an object's schema. A value that no simple control fits is written as
 * JSON. errors are by the name of a field; the server checks the values. */
export function SchemaForm({ schema, values, onChange, errors = {} }: { schema: Schema; values: Values; onChange: (v: Values) => void; errors?: Record<string, string> }) {
  const names = Object.keys(schema.properties ?? {});
  const set = (name: string, value: unknown) => {
    const next = { ...values };
    if (value === undefined) delete next[name];
    else next[name] = value;
    onChange(next);
  };
  return (
    <div class="stack">
      {names.map((name) => (
        <Control key={name} name={name} schema={schema.properties![name]} required={schema.required?.includes(name)} value={values[name]} error={errors[name]} onChange={(v) => set(name, v)} />
      ))}
    </div>
  );
}

/** The values that a schema proposes. A box that must have a value begins as not ticked. */
export function defaults(schema: Schema): Values {
  const first = (name: string, s: Schema) => s.default ?? (s.type === "boolean" && schema.required?.includes(name) ? false : undefined);
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, s]) => [name, first(name, s)]).filter(([, value]) => value !== undefined));
}

/** The schema itself where it is wrapped to allow null. */
function plain(s: Schema): Schema {
  const some = (s.anyOf ?? s.oneOf)?.filter((x) => x.type !== "null");
  return some?.length === 1 ? { ...s, ...some[0], anyOf: undefined, oneOf: undefined } : s;
}

const typeOf = (s: Schema) => (Array.isArray(s.type) ? s.type.find((k) => k !== "null") : s.type);

interface ControlOf { name: string; schema: Schema; required?: boolean; value: unknown; error?: string; onChange: (v: unknown) => void }

function choices(s: Schema): [unknown, string][] | undefined {
  const titled = (s.oneOf ?? s.anyOf)?.filter((o) => o.const !== undefined);
  if (titled?.length) return titled.map((o) => [o.const, o.title ?? String(o.const)]);
  return s.enum?.map((v, i) => [v, s.enumNames?.[i] ?? String(v)]);
}

function Control({ name, schema: wrapped, required, value, error, onChange }: ControlOf) {
  const t = useTexts();
  const schema = plain(wrapped), kind = typeOf(schema);
  const about = { label: schema.title ?? name, hint: schema.description, error, required };
  const options = choices(schema), many = kind === "array" && schema.items ? choices(schema.items) : undefined;
  if (kind === "boolean") {
    return <Field {...about} label={<span class="sr-only">{about.label}</span>}>{() => <Check label={about.label} checked={value === true} onChange={onChange} />}</Field>;
  }
  if (options) {
    const at = options.findIndex(([v]) => v === value);
    return <Field {...about}>{(p) => <Select {...p} value={String(at)} onChange={(i) => onChange(options[Number(i)]?.[0])} options={[["-1", t("form.none")], ...options.map(([, l], i): [string, string] => [String(i), l])]} />}</Field>;
  }
  if (many) {
    const chosen = Array.isArray(value) ? value : [];
    return (
      <fieldset class="field">
        <legend>{about.label}</legend>
        {many.map(([v, l]) => <Check key={l} label={l} checked={chosen.includes(v)} onChange={(on) => onChange(on ? [...chosen, v] : chosen.filter((c) => c !== v))} />)}
        {error && <div class="field-error" role="alert">{error}</div>}
      </fieldset>
    );
  }
  if (kind === "number" || kind === "integer") {
    return <Field {...about}>{(p) => <input {...p} type="number" step={kind === "integer" ? 1 : "any"} min={schema.minimum} max={schema.maximum} value={value === undefined ? "" : String(value)} onInput={(e) => onChange(e.currentTarget.value === "" ? undefined : e.currentTarget.valueAsNumber)} />}</Field>;
  }
  if (kind === "string" || kind === undefined && typeof value === "string") {
    const text = String(value ?? ""), input = (e: { currentTarget: { value: string } }) => onChange(e.currentTarget.value === "" ? undefined : e.currentTarget.value);
    const type = { email: "email", uri: "url", date: "date", password: "password" }[schema.format ?? ""] ?? "text";
    const long = type === "text" && ((schema.maxLength ?? 0) > 200 || text.includes("\n"));
    return <Field {...about}>{(p) => (long ? <textarea {...p} rows={4} value={text} onInput={input} /> : <input {...p} type={type as "text"} value={text} onInput={input} />)}</Field>;
  }
  if (kind === "array" && typeOf(schema.items ?? {}) === "string") {
    const lines = Array.isArray(value) ? value.join("\n") : "";
    const read = (text: string) => onChange(text === "" ? undefined : text.split("\n"));
    return <Field {...about} hint={[schema.description, t("form.lines")].filter(Boolean).join(" ")}>{(p) => <textarea {...p} rows={3} value={lines} onInput={(e) => read(e.currentTarget.value)} />}</Field>;
  }
  return <JsonField {...{ name, schema, required, value, error, onChange }} />;
}

function JsonField({ name, schema, required, value, error, onChange }: ControlOf) {
  const t = useTexts();
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [wrong, setWrong] = useState(false);
  const read = (field: HTMLTextAreaElement) => {
    setText(field.value);
    let problem = "";
    try {
      onChange(field.value.trim() ? JSON.parse(field.value) : undefined);
    } catch {
      problem = t("form.nojson");
    }
    field.setCustomValidity(problem); // the browser sends no form with a problem
    setWrong(problem !== "");
  };
  return (
    <Field label={schema.title ?? name} hint={schema.description ?? t("form.json")} error={wrong ? t("form.nojson") : error} required={required}>
      {(p) => <textarea {...p} class="input mono" rows={4} spellcheck={false} value={text} onInput={(e) => read(e.currentTarget)} />}
    </Field>
  );
}
