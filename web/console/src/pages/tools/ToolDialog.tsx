import { useEffect, useState } from "preact/hooks";
import { post } from "../../lib/api";
import { bytes, duration, number } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Code } from "../../ui/Code";
import { Dialog } from "../../ui/Dialog";
import { Field, Select } from "../../ui/Field";
import { Json } from "../../ui/Json";
import { Tabs } from "../../ui/Tabs";
import { kindOf, plain, read, show } from "./form";
import { Marks } from "./ServerPage";
import type { Schema, Tool } from "./types";

interface Tried { group: string; failed: boolean; unknown?: boolean; text: string; bytes?: number; took_ms: number; images: { type: string; data: string }[]; files: { name: string; type: string; bytes: number }[] }

/** A tool: what it does, what the rules say, its schema, and a form that calls it. */
export function ToolDialog({ server, tool, mayTry, onClose }: { server: string; tool: Tool; mayTry: boolean; onClose: () => void }) {
  const t = useTexts();
  const callable = mayTry && !tool.quarantined && !tool.not_offered && tool.rules.length > 0;
  const [view, setView] = useState(callable ? "try" : "about");
  const tabs = [{ id: "about", label: t("about") }, { id: "schema", label: t("schema") }];
  if (callable) tabs.unshift({ id: "try", label: t("try") });
  return (
    <Dialog title={`${server}.${tool.name}`} onClose={onClose} wide>
      <div class="tools-dialog">
        <Tabs label={tool.name} tabs={tabs} value={view} onChange={setView}>
          {view === "try" ? <Try server={server} tool={tool} /> : view === "schema" ? <Json value={tool.schema ?? {}} open={4} /> : <About tool={tool} />}
        </Tabs>
      </div>
    </Dialog>
  );
}

function About({ tool }: { tool: Tool }) {
  const t = useTexts();
  const says = Object.entries(tool.annotations).map(([name, value]) => t("says", { name: t("says." + name), value: t(value ? "yes" : "no") }));
  return (
    <div class="stack">
      {tool.title && <h3>{tool.title}</h3>}
      <p class="tools-text">{tool.description || t("nodescription")}</p>
      <Marks tool={tool} />
      {tool.not_offered && <p class="note is-bad">{tool.not_offered}</p>}
      <ul class="tools-rules">{tool.rules.map((r) => <li key={r.group}>{t("rule", { group: r.group, what: t(r.read_only ? "reads" : "changes"), asks: t(r.asks ? "rule.asks" : "rule.free") })}</li>)}</ul>
      <p class="faint">{says.length ? t("says.lead") + " " + says.join("; ") : t("says.nothing")}</p>
      <div class="row">{Object.entries(tool.calls).map(([outcome, n]) => <Badge key={outcome} tone={outcome === "ok" ? "good" : "calm"}>{t("outcome." + outcome)}: {number(n)}</Badge>)}</div>
    </div>
  );
}

// Try calls the tool by a form made from its schema, or by JSON.
function Try({ server, tool }: { server: string; tool: Tool }) {
  const t = useTexts();
  const schema = tool.schema ?? {};
  const properties = Object.entries(schema.properties ?? {});
  const [fields, setFields] = useState<Record<string, string>>(() => Object.fromEntries(properties.map(([name, s]) => [name, show(kindOf(s), s.default)])));
  const [raw, setRaw] = useState<string>();
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [result, setResult] = useState<Tried>();
  const changes = !tool.rules.every((r) => r.read_only);
  const value = (): unknown => {
    if (raw !== undefined) {
      try { return JSON.parse(raw || "{}"); } catch { setError(t("form.json")); return undefined; }
    }
    const form = read(schema, fields);
    setErrors(form.errors);
    return Object.keys(form.errors).length ? undefined : form.value;
  };
  const call = async () => {
    setError("");
    const args = value();
    if (args === undefined) return;
    setBusy(true);
    setResult(undefined);
    try {
      setResult(await post<Tried>(`v1/servers/${encodeURIComponent(server)}/tools/${encodeURIComponent(tool.name)}/call`, { arguments: args }));
    } catch (err) {
      setError((err as Error).message);
    }
    setBusy(false);
  };
  return (
    <form class="stack" onSubmit={(e) => { e.preventDefault(); if (!busy) void call(); }}>
      <p class={"note" + (changes ? " is-warn" : "")}>{t(changes ? "try.changes" : "try.reads")}</p>
      {raw !== undefined
        ? <Field label={t("arguments")}>{(p) => <textarea {...p} class="input mono" rows={8} spellcheck={false} value={raw} onInput={(e) => setRaw(e.currentTarget.value)} />}</Field>
        : properties.length === 0 ? <p class="muted">{t("noarguments")}</p>
          : properties.map(([name, s]) => (
            <Argument key={name} name={name} schema={plain(s)} required={!!schema.required?.includes(name)} value={fields[name] ?? ""} error={errors[name] && t(errors[name])}
              onChange={(v) => setFields({ ...fields, [name]: v })} />
          ))}
      {error && <p class="note is-bad" role="alert">{error}</p>}
      <div class="row">
        <Button type="submit" kind="primary" icon="play" busy={busy}>{t("call")}</Button>
        <Button kind="plain" onClick={() => { setRaw(raw === undefined ? JSON.stringify(read(schema, fields).value, null, 2) : undefined); setError(""); }}>{t(raw === undefined ? "asjson" : "asform")}</Button>
      </div>
      {result && <Result result={result} />}
    </form>
  );
}

function Argument({ name, schema, required, value, error, onChange }: { name: string; schema: Schema; required: boolean; value: string; error?: string; onChange: (v: string) => void }) {
  const t = useTexts();
  const kind = kindOf(schema);
  const hint = [schema.description, kind === "lines" && t("form.lines"), kind === "json" && t("form.asjson")].filter(Boolean).join(" ");
  const input = (e: { currentTarget: { value: string } }) => onChange(e.currentTarget.value);
  const options = (list: string[]): [string, string][] => [...(required && value ? [] : [["", "–"] as [string, string]]), ...list.map((v): [string, string] => [v, v])];
  return (
    <Field label={<span class="mono">{name}</span>} hint={hint} error={error} required={required}>
      {(p) => kind === "choice" ? <Select {...p} value={value} onChange={onChange} options={options(schema.enum!.map(String))} />
        : kind === "yesno" ? <Select {...p} value={value} onChange={onChange} options={[["", "–"], ["true", t("yes")], ["false", t("no")]]} />
          : kind === "number" ? <input {...p} type="number" step="any" min={schema.minimum} max={schema.maximum} value={value} onInput={input} />
            : kind === "text" ? <input {...p} type="text" value={value} onInput={input} />
              : <textarea {...p} class={"input" + (kind === "json" ? " mono" : "")} rows={kind === "lines" ? 3 : 5} spellcheck={kind !== "json"} value={value} onInput={input} />}
    </Field>
  );
}

function Result({ result }: { result: Tried }) {
  const t = useTexts();
  return (
    <section class="stack" aria-live="polite">
      <div class="row">
        <h3>{t("result")}</h3>
        {result.failed ? <Badge tone="bad">{t(result.unknown ? "outcome.unknown" : "outcome.failed")}</Badge> : <Badge tone="good">{t("outcome.ok")}</Badge>}
        <span class="faint">{duration(result.took_ms)} · {t("bygroup", { group: result.group })}</span>
      </div>
      <Code text={result.text} label={result.bytes ? t("beginning", { size: bytes(result.bytes) }) : t("result")} />
      {result.images.map((image, i) => <Picture key={i} type={image.type} data={image.data} name={t("picture", { n: i + 1 })} />)}
      {result.files.length > 0 && <ul>{result.files.map((f, i) => <li key={i}>{f.name} · {f.type} · {bytes(f.bytes)}</li>)}</ul>}
    </section>
  );
}

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];

// Picture shows a picture of the result: the page's policy allows only pictures from memory.
function Picture({ type, data, name }: { type: string; data: string; name: string }) {
  const [url, setURL] = useState("");
  useEffect(() => {
    if (!pictures.includes(type)) return;
    const url = URL.createObjectURL(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], { type }));
    setURL(url);
    return () => URL.revokeObjectURL(url);
  }, [type, data]);
  return url ? <img class="tools-picture" src={url} alt={name} /> : <p class="faint">{name} ({type})</p>;
}
