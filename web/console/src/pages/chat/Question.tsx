import { useState } from "preact/hooks";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { Json } from "../../ui/Json";
import { defaults, SchemaForm } from "../../ui/SchemaForm";
import { Buttons, usePress } from "./Buttons";
import { Plan } from "./Plan";
import type { Post } from "./types";

/** A question that a person must decide: the calls that it is about, a form, a plan, an
 * answer in words, buttons. */
export function Question({ post: p, onReply }: { post: Post; onReply: (text: string) => void }) {
  const t = useTexts();
  const press = usePress(p);
  const [words, setWords] = useState("");
  const [comment, setComment] = useState<string>();
  const [values, setValues] = useState(() => (p.form ? p.form.values ?? defaults(p.form.schema) : {}));
  const [plan, setPlan] = useState(p.plan?.items);
  const open = !!p.buttons?.length;
  const changed = plan !== p.plan?.items;
  const more = {
    ...(comment ? { text: comment } : {}),
    ...(p.form ? { form: values } : {}),
    ...(plan && changed ? { plan } : {}),
  };
  const errors = Object.fromEntries((press.problem?.errors ?? []).map((e) => [(e.location ?? "").replace(/^body\.form\./, ""), e.message]));
  return (
    <>
      {p.calls?.map((c, i) => <Call key={i} call={c} />)}
      {p.plan && plan && <Plan items={plan} groups={p.plan.groups ?? []} onChange={open ? setPlan : undefined} />}
      {p.form && open && <SchemaForm schema={p.form.schema} values={values} onChange={setValues} errors={errors} />}
      {p.free_text && open && !p.form && (
        <form class="post-words" onSubmit={(e) => { e.preventDefault(); if (words.trim()) { onReply(words.trim()); setWords(""); } }}>
          <input class="input" aria-label={t("answer")} placeholder={t("answer")} value={words} onInput={(e) => setWords(e.currentTarget.value)} />
          <Button type="submit" kind="primary">{t("send")}</Button>
        </form>
      )}
      {comment !== undefined && open && <Field label={t("comment")}>{(f) => <textarea {...f} rows={2} value={comment} autofocus onInput={(e) => setComment(e.currentTarget.value)} />}</Field>}
      <Buttons post={p} more={more} press={press} />
      {comment === undefined && open && !!p.calls?.length && <Button kind="plain" small icon="edit" class="post-comment" onClick={() => setComment("")}>{t("comment.add")}</Button>}
    </>
  );
}

/** The exact call that is asked about. */
function Call({ call: c }: { call: NonNullable<Post["calls"]>[number] }) {
  const t = useTexts();
  const dot = c.tool.indexOf(".");
  return (
    <div class="call">
      <p class="call-tool"><span class="faint">{t("call")}</span> <span class="mono">{dot > 0 && <span class="muted">{c.tool.slice(0, dot)}.</span>}<strong>{c.tool.slice(dot + 1)}</strong></span></p>
      <Json value={c.arguments ?? {}} />
    </div>
  );
}
