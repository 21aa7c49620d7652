import { useEffect, useMemo, useState } from "preact/hooks";
import { post } from "../../lib/api";
import { bytes, duration, number } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { visible, visibleJSON } from "../../lib/visible";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Code } from "../../ui/Code";
import { Dialog } from "../../ui/Dialog";
import { Field } from "../../ui/Field";
import { Json } from "../../ui/Json";
import { defaults, type Schema, SchemaForm } from "../../ui/SchemaForm";
import { Tabs } from "../../ui/Tabs";
import { Marks } from "./ServerPage";
import type { Tool } from "./types";

interface Tried { group: string; failed: boolean; unknown?: boolean; text: string; bytes?: number; took_ms: number; images: { type: string; data: string }[]; files: { name: string; type: string; bytes: number }[] }

/** A tool: what it does, what the rules say, its schema, and a form that calls it. */
export function ToolDialog({ server, tool, mayTry, onClose }: { server: string; tool: Tool; mayTry: boolean; onClose: () => void }) {
  const t = useTexts();
  const callable = mayTry && !tool.quarantined && !tool.not_offered && tool.rules.length > 0;
  const [view, setView] = useState(callable ? "try" : "about");
  const tabs = [{ id: "about", label: t("about") }, { id: "schema", label: t("schema") }];
  if (callable) tabs.unshift({ id: "try", label: t("try") });
  return (
    <Dialog title={visible(`${server}.${tool.name}`)} onClose={onClose} wide>
      <div class="tools-dialog">
        <Tabs label={visible(tool.name)} tabs={tabs} value={view} onChange={setView}>
          {view === "try" ? <Try server={server} tool={tool} /> : view === "schema" ? <Json value={visibleJSON(tool.schema ?? {})} open={4} /> : <About tool={tool} />}
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
      {tool.title && <h3>{visible(tool.title)}</h3>}
      <p class="tools-text">{visible(tool.description) || t("nodescription")}</p>
      <Marks tool={tool} />
      {tool.not_offered && <p class="note is-bad">{tool.not_offered}</p>}
      <ul class="tools-rules">{tool.rules.map((r) => <li key={r.group}>{t("rule", { group: r.group, what: t(r.read_only ? "reads" : "changes"), asks: t(r.asks ? "rule.asks" : "rule.free") })}</li>)}</ul>
      <p class="faint">{says.length ? t("says.lead") + " " + says.join("; ") : t("says.nothing")}</p>
      <div class="row">{Object.entries(tool.calls).map(([outcome, n]) => <Badge key={outcome} tone={outcome === "ok" ? "good" : "calm"}>{t("outcome." + outcome)}: {number(n)}</Badge>)}</div>
    </div>
  );
}

// words are a schema whose titles and descriptions are shown as the server wrote them. What
// is sent to the tool stays as it is.
const words = (schema: Schema): Schema => JSON.parse(JSON.stringify(schema), (key, value) => (typeof value === "string" && /^(title|description)$/.test(key) ? visible(value) : value));

// Try calls the tool by a form made from its schema, or by JSON.
function Try({ server, tool }: { server: string; tool: Tool }) {
  const t = useTexts();
  const schema = tool.schema ?? {};
  const shown = useMemo(() => words(schema), [schema]);
  const [values, setValues] = useState(() => defaults(schema));
  const [raw, setRaw] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [result, setResult] = useState<Tried>();
  const changes = !tool.rules.every((r) => r.read_only);
  const call = async () => {
    setError("");
    let args: unknown = values;
    if (raw !== undefined) {
      try { args = JSON.parse(raw || "{}"); } catch { return setError(t("form.nojson")); }
    }
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
        : Object.keys(schema.properties ?? {}).length === 0 ? <p class="muted">{t("noarguments")}</p>
          : <SchemaForm schema={shown} values={values} onChange={setValues} />}
      {error && <p class="note is-bad" role="alert">{error}</p>}
      <div class="row">
        <Button type="submit" kind="primary" icon="play" busy={busy}>{t("call")}</Button>
        <Button kind="plain" onClick={() => { setRaw(raw === undefined ? JSON.stringify(values, null, 2) : undefined); setError(""); }}>{t(raw === undefined ? "asjson" : "asform")}</Button>
      </div>
      {result && <Result result={result} />}
    </form>
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
