import { useState } from "preact/hooks";
import { post } from "../../lib/api";
import { ago, fullTime, money, number } from "../../lib/format";
import { TextNames, useLoadedTexts, useTexts } from "../../lib/i18n";
import { Markdown } from "../../lib/markdown";
import { Chat, Person } from "../../lib/names";
import { href, Link } from "../../lib/router";
import { may } from "../../lib/session";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Code } from "../../ui/Code";
import { Field } from "../../ui/Field";
import { Json } from "../../ui/Json";
import { defaults, type Schema, SchemaForm, type Values } from "../../ui/SchemaForm";
import { toast } from "../../ui/Toast";

export interface ApprovalCall { tool: string; arguments: unknown; shown: string; reason?: string; detail?: string }

export interface Approval {
  id: string; task_id: string; kind: string; text?: string; choices?: string[]; calls?: ApprovalCall[]; details?: Record<string, any>;
  asked_at: string; expires_at: string | null; goal: string; chat: string; asked_for: string; asked_for_name?: string;
}

/** What waits for a person, and the decision. link shows the task that asks. Its texts are
 * those of the inbox, wherever it stands. */
export function ApprovalCard(props: { approval: Approval; link?: boolean; onDecided: () => void }) {
  if (!useLoadedTexts("inbox")) return null;
  return <TextNames.Provider value={["inbox", "shell"]}><Card {...props} /></TextNames.Provider>;
}

function Card({ approval: a, link, onDecided }: { approval: Approval; link?: boolean; onDecided: () => void }) {
  const t = useTexts();
  const signIn = a.kind === "form" && a.details?.sign_in;
  const form = a.kind === "form" && !signIn ? formSchema(a.details) : undefined;
  const [comment, setComment] = useState("");
  const [values, setValues] = useState<Values>(() => (form ? defaults(form) : {}));
  const [busy, setBusy] = useState("");
  const [error, setError] = useState("");
  const answer = a.kind === "question" || a.kind === "goal";
  const decide = async (decision: "approve" | "deny", words = comment, scope?: "call" | "task") => {
    if (answer && decision === "approve" && !words.trim()) return setError(t("answer.empty"));
    setBusy(scope ?? decision);
    setError("");
    try {
      await post(`v1/approvals/${encodeURIComponent(a.id)}`, {
        decision, comment: words.trim() || undefined, scope,
        value: form && decision === "approve" ? values : undefined, version: a.kind === "review" ? a.details?.version : undefined,
      });
      toast(decision === "approve" ? t("done.approve") : t("done.deny"));
      onDecided();
    } catch (err) {
      setError((err as Error).message);
    }
    setBusy("");
  };
  return (
    <section class="card" aria-label={t("kind." + a.kind)}>
      <header class="card-head">
        <h2>{t("kind." + a.kind)}</h2>
        <span class="faint"><time dateTime={a.asked_at} title={fullTime(a.asked_at)}>{t("asked", { ago: ago(a.asked_at) })}</time>{a.expires_at && <> · <time dateTime={a.expires_at} title={fullTime(a.expires_at)}>{t("expires", { ago: ago(a.expires_at) })}</time></>}</span>
      </header>
      {link && <p><Link to={href("tasks", a.task_id)}>{a.goal}</Link> <span class="faint">{t("for")} <Person id={a.asked_for} name={a.asked_for_name} /> · <Chat id={a.chat} /></span></p>}
      {a.text && <Markdown text={a.text} />}
      {a.calls?.map((c, i) => (
        <div key={i} class="stack">
          <div class="row"><strong class="mono">{c.tool}</strong>{c.reason && <Badge tone="warn">{t("leaves")}{c.detail && ": " + c.detail}</Badge>}</div>
          <Code text={c.shown} label={t("arguments")} />
        </div>
      ))}
      {a.kind === "budget" && a.details && <Budget details={a.details} />}
      {a.kind === "plan" && a.details && <Plan details={a.details} />}
      {a.kind === "review" && <Json value={a.details?.state ?? a.details} open={2} />}
      {form && (a.details?.url ? <p>{t("url")} <span class="mono">{String(a.details.url)}</span></p> : <SchemaForm schema={form} values={values} onChange={setValues} />)}
      {!may("decide") ? <p class="muted">{t("may.not")}</p> : (
        <>
          {signIn && <p><Link to={href("connections")}>{t("sign.in")}</Link></p>}
          {!form && !signIn && (
            <Field label={answer ? t("answer") : t("comment")} error={error}>
              {(p) => <textarea {...p} rows={2} maxLength={65536} value={comment} onInput={(e) => setComment(e.currentTarget.value)} />}
            </Field>
          )}
          {(form || signIn) && error && <p class="field-error" role="alert">{error}</p>}
          <div class="row">
            {a.choices?.map((c) => <Button key={c} busy={busy === "approve"} onClick={() => decide("approve", c)}>{c}</Button>)}
            {a.kind === "calls" ? (
              <>
                <Button kind="primary" icon="check" busy={busy === "call"} onClick={() => decide("approve", comment, "call")}>{t("allow.once")}</Button>
                <Button icon="check" busy={busy === "task"} onClick={() => decide("approve", comment, "task")}>{t("allow.task")}</Button>
              </>
            ) : !signIn && <Button kind="primary" icon="check" busy={busy === "approve"} onClick={() => decide("approve")}>{answer || form ? t("send") : t("approve")}</Button>}
            <Button kind="danger" icon="close" busy={busy === "deny"} onClick={() => decide("deny")}>{signIn ? t("go.without") : answer || form ? t("decline") : t("deny")}</Button>
          </div>
        </>
      )}
    </section>
  );
}

function Budget({ details: d }: { details: Record<string, any> }) {
  const t = useTexts();
  const amount = (n: number) => (d.unit === "usd" ? money(n) : number(n));
  return <p>{t("budget", { name: String(d.budget), limit: amount(d.limit), spent: amount(d.spent), extend: amount(d.extend_by) })}</p>;
}

function Plan({ details: d }: { details: Record<string, any> }) {
  const t = useTexts();
  return (
    <>
      {d.thought && <Markdown text={String(d.thought)} />}
      <ol>{(d.subtasks ?? []).map((s: any) => <li key={s.id}><strong>{s.name}</strong>: {s.description}{s.after?.length > 0 && <span class="faint"> ← {s.after.join(", ")}</span>}</li>)}</ol>
      {d.estimate && <p class="faint">{t("estimate", { tokens: number(d.estimate.tokens), usd: d.estimate.usd == null ? "–" : money(d.estimate.usd) })}</p>}
    </>
  );
}

/** The schema of a server's form, from its fields. */
function formSchema(details?: Record<string, any>): Schema {
  const properties: Record<string, Schema> = {}, required: string[] = [];
  for (const f of details?.fields ?? []) {
    const field: Schema = { ...f.schema, title: f.title, description: f.description, default: f.default };
    const options = f.choices?.map((c: any) => ({ const: c.value, title: c.label || String(c.value) }));
    if (options && field.type === "array") field.items = { oneOf: options };
    else if (options) field.oneOf = options;
    properties[f.name] = field;
    if (f.required) required.push(f.name);
  }
  return { type: "object", properties, required };
}
