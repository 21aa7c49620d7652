import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { Json } from "../../ui/Json";
import { defaults, SchemaForm, type Schema } from "../../ui/SchemaForm";
import { Buttons, usePress } from "./Buttons";
import { Plan } from "./Plan";
import type { FormField, Post } from "./types";

/** A question that a person must decide: the calls that it is about, a form, a plan, an
 * answer in words, buttons. */
export function Question({ post: p, onReply }: { post: Post; onReply: (text: string) => void }) {
  const t = useTexts();
  const press = usePress(p);
  const [words, setWords] = useState("");
  const [comment, setComment] = useState<string>();
  const [plan, setPlan] = useState(p.plan?.items);
  const [tried, setTried] = useState(0); // how often an incomplete plan was to run
  const before = (data: string) => {
    const complete = data !== p.plan?.data || !plan?.some((i) => !i.description.trim());
    if (!complete) setTried((n) => n + 1);
    return complete;
  };
  const open = !!p.buttons?.length;
  const about = comment ? { text: comment } : {};
  const buttons = p.form ? p.buttons?.filter((b) => b.style === "danger") : p.buttons; // the form has all fields; the others are about one
  return (
    <>
      {p.file && p.calls?.map((c, i) => <Call key={i} call={c} />) /* without a file, the text shows the arguments */}
      {p.plan && plan && <Plan items={plan} tried={tried} onChange={open ? setPlan : undefined} />}
      {p.form && open && <WholeForm form={p.form} press={press}>{(marked) => <Buttons post={{ ...p, buttons }} press={press} marked={marked} />}</WholeForm>}
      {p.free_text && open && !p.form && (
        <form class="post-words" onSubmit={(e) => { e.preventDefault(); if (words.trim()) { onReply(words.trim()); setWords(""); } }}>
          <input class="input" aria-label={t("answer")} placeholder={t("answer")} value={words} onInput={(e) => setWords(e.currentTarget.value)} />
          <Button type="submit" kind="primary">{t("send")}</Button>
        </form>
      )}
      {comment !== undefined && open && <Field label={t("comment")}>{(f) => <textarea {...f} rows={2} value={comment} autofocus onInput={(e) => setComment(e.currentTarget.value)} />}</Field>}
      {!p.form && <Buttons post={p} press={{ ...press, press: async (data, more) => { if (before(data)) await press.press(data, more); } }} more={(data) => ({ ...about, ...(plan && plan !== p.plan?.items && data === p.plan?.data ? { plan } : {}) })} />}
      {comment === undefined && open && !!p.calls?.length && <Button kind="plain" small icon="edit" class="post-comment" onClick={() => setComment("")}>{t("comment.add")}</Button>}
    </>
  );
}

/** All fields that a server asks for. */
function WholeForm({ form, press, children }: { form: NonNullable<Post["form"]>; press: ReturnType<typeof usePress>; children: (marked: boolean) => ComponentChildren }) {
  const t = useTexts();
  const schema = useMemo(() => schemaOf(form.fields), [form]);
  const [values, setValues] = useState(() => defaults(schema));
  const errors = Object.fromEntries((press.problem?.errors ?? []).map((e) => [(e.location ?? "").replace(/^body\.form\.?/, ""), e.message]));
  const marked = Object.keys(errors).some((name) => form.fields.some((f) => f.name === name));
  const box = useRef<HTMLFormElement>(null);
  useEffect(() => { if (marked) box.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(); }, [press.problem]);
  return (
    <form ref={box} class="stack" noValidate onSubmit={(e) => { e.preventDefault(); void press.press(form.data, { form: values }); }}>
      <SchemaForm schema={schema} values={values} onChange={setValues} errors={errors} />
      <div class="row"><Button type="submit" kind="primary" busy={press.busy === form.data}>{t("send")}</Button>{children(marked)}</div>
      {marked && <p class="note is-bad" role="alert">{t("form.wrong")}</p>}
    </form>
  );
}

/** The schema of an object with the fields of a form. */
function schemaOf(fields: FormField[]): Schema {
  const property = (f: FormField): Schema => {
    const choices = f.choices?.map((c) => ({ const: c.value, title: c.label }));
    const about = { title: f.title, description: f.description, default: f.default };
    if (f.many) return { ...about, type: "array", items: { oneOf: choices } };
    return { ...f.schema, ...about, ...(choices ? { oneOf: choices } : {}) };
  };
  return { type: "object", properties: Object.fromEntries(fields.map((f) => [f.name, property(f)])), required: fields.filter((f) => f.required).map((f) => f.name) };
}

/** The exact call that is asked about. */
function Call({ call: c }: { call: NonNullable<Post["calls"]>[number] }) {
  const t = useTexts();
  const dot = c.tool.indexOf(".");
  return (
    <details class="call" open>
      <summary>{t("call")} <span class="mono">{dot > 0 && <span class="muted">{c.tool.slice(0, dot)}.</span>}<strong>{c.tool.slice(dot + 1)}</strong></span></summary>
      <Json value={c.arguments ?? {}} />
    </details>
  );
}
