import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, post, type Problem, useData } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { useTexts } from "../../lib/i18n";
import type { PageProps } from "../../shell/Lazy";
import { Button } from "../../ui/Button";
import { PageHead } from "../../ui/Card";
import { Confirm, Dialog } from "../../ui/Dialog";
import { Failed } from "../../ui/Empty";
import { Icon } from "../../ui/Icon";
import { Spinner } from "../../ui/Spinner";
import { failed, toast } from "../../ui/Toast";
import { AddServer } from "./AddServer";
import type { Schema } from "./complete";
import { Diff } from "./Diff";
import { Editor, type Jump, type Mark } from "./Editor";
import { Save } from "./Save";
import type { ConfigCheck, ConfigMistake, ConfigSaved, ConfigText } from "./types";
import { Versions } from "./Versions";
import { insertUnder } from "./yaml";

// A draft survives a reload, and not the end of the tab: it may hold a secret that was
// just typed.
const stored = "legwork.config";
interface Draft { path: string; etag: string; text: string }

function storedDraft(): Draft | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(stored) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

function store(draft: Draft | undefined) {
  try {
    if (draft) sessionStorage.setItem(stored, JSON.stringify(draft));
    else sessionStorage.removeItem(stored);
  } catch { /* full or forbidden: the draft lives in this page only */ }
}

/** The config file in an editor. Admins change it here; the server checks every text. */
export default function Config(_: PageProps) {
  const t = useTexts();
  const file = useData<ConfigText>("v1/config");
  const schema = useData<Schema>("v1/config/schema");
  if (file.error && !file.data) return <div class="page"><PageHead title={t("title")} /><Failed error={file.error} again={file.reload} /></div>;
  if (!file.data) return <Spinner page />;
  return <Loaded first={file.data} schema={schema.data} />;
}

const none: ConfigMistake[] = [];

type Open = "" | "save" | "versions" | "add" | "discard" | "conflict";

function Loaded({ first, schema }: { first: ConfigText; schema?: Schema }) {
  const t = useTexts();
  const [file, setFile] = useState(first);
  // etag is the version that the draft was made from.
  const [draft, setDraft] = useState<Draft>(() => {
    const kept = storedDraft();
    return kept && kept.path === first.path && first.writable ? kept : { path: first.path, etag: first.etag, text: first.text };
  });
  const [checked, setChecked] = useState<{ text: string; result: ConfigCheck }>();
  const [checkError, setCheckError] = useState<Problem>();
  const [open, setOpen] = useState<Open>("");
  const [saved, setSaved] = useState<ConfigSaved>();
  const [aside, setAside] = useState<string>();
  const [jump, setJump] = useState<Jump>();
  const turn = useRef(0);
  const text = draft.text, dirty = text !== file.text, writable = file.writable;
  const conflict = dirty && draft.etag !== file.etag;

  const edit = (changed: string) => setDraft((d) => ({ ...d, text: changed }));
  // Storing takes time with a long text, so it waits until the typing pauses.
  useEffect(() => {
    const keep = () => store(dirty ? draft : undefined);
    const timer = setTimeout(keep, 300);
    addEventListener("pagehide", keep);
    return () => { clearTimeout(timer); removeEventListener("pagehide", keep); };
  }, [draft, dirty]);
  useEffect(() => {
    if (!dirty) return;
    const warn = (e: BeforeUnloadEvent) => e.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [dirty]);

  // The text is checked a moment after the last change.
  useEffect(() => {
    if (!dirty || text.trim() === "") return setChecked(undefined);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<ConfigCheck>("POST", "v1/config/check", { body: { text }, signal: stop.signal }).then(
        (r) => { setChecked({ text, result: r.data }); setCheckError(undefined); },
        (err) => { if (!stop.signal.aborted) setCheckError(err); },
      );
    }, 400);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [text, dirty]);

  const errors = dirty ? checked?.result.errors ?? none : file.errors;
  const warnings = dirty ? checked?.result.warnings ?? none : file.warnings;
  const checking = dirty && checked?.text !== text && !checkError && text.trim() !== "";
  const marks = useMemo<Mark[]>(() => [...errors.map((m) => mark(m, true)), ...warnings.map((m) => mark(m, false))].filter((m) => m.line > 0), [errors, warnings]);

  const reload = async (): Promise<ConfigText> => {
    const now = (await call<ConfigText>("GET", "v1/config")).data;
    setFile(now);
    return now;
  };
  // Somebody may change the file meanwhile. A text that nobody has edited follows it.
  useEvery(10, () => {
    reload().then((now) => setDraft((d) => (d.text === file.text ? { path: now.path, etag: now.etag, text: now.text } : d)), () => {}); // the next look may work
  });
  const save = () => {
    if (!writable || !dirty || errors.length > 0) return;
    setSaved(undefined);
    // Somebody else may have saved since this page was loaded.
    reload().then((now) => setOpen(draft.etag !== now.etag ? "conflict" : "save"), failed);
  };
  const afterSave = async (done: ConfigSaved) => {
    setOpen("");
    setSaved(done);
    setAside(undefined);
    toast(t("saved"));
    // The file is read again: new secrets have become marks.
    try {
      const now = await reload();
      if (now.etag === done.etag) setDraft({ path: now.path, etag: now.etag, text: now.text });
    } catch (err) {
      failed(err);
    }
  };
  const onConflict = () => { reload().then(() => setOpen("conflict"), failed); };
  const goTo = (m: ConfigMistake) => {
    if (m.line < 1) return;
    const start = text.split("\n").slice(0, m.line - 1).reduce((n, l) => n + l.length + 1, 0);
    const line = text.slice(start).split("\n", 1)[0];
    // Columns count characters, offsets of a text count UTF-16 units.
    const offset = start + [...line].slice(0, Math.max(0, m.column - 1)).join("").length;
    const word = /^[\w.«»:-]+/.exec(text.slice(offset))?.[0] ?? "";
    setJump({ offset, length: word.length, turn: ++turn.current });
  };
  const addServer = (block: string) => {
    const added = insertUnder(text, "servers", block);
    setOpen("");
    if (!added) return toast(t("add.flow"), true);
    edit(added.text);
    setJump({ offset: added.at, length: added.length, turn: ++turn.current });
  };

  return (
    <div class="page is-wide config-page">
      <PageHead title={t("title")} lead={file.path ? <>{t("lead")} <code>{file.path}</code></> : undefined}>
        <Button icon="clock" onClick={() => setOpen("versions")}>{t("versions")}</Button>
        {writable && <Button icon="tools" onClick={() => setOpen("add")}>{t("add")}</Button>}
        {writable && dirty && <Button onClick={() => setOpen("discard")}>{t("discard")}</Button>}
        {writable && <Button kind="primary" disabled={!dirty || errors.length > 0} onClick={save} title="Ctrl+S">{t("save")}</Button>}
      </PageHead>

      {file.why && <div class="note is-warn"><Icon name="lock" /><span class="grow">{file.why}</span></div>}
      {conflict && <div class="note is-warn" role="alert"><Icon name="warning" /><span class="grow">{t("conflict.note")}</span><Button small onClick={() => setOpen("conflict")}>{t("conflict.compare")}</Button></div>}
      {aside !== undefined && <div class="note"><Icon name="help" /><span class="grow">{t("aside")}</span><Button small onClick={() => { edit(aside); setAside(undefined); }}>{t("aside.back")}</Button></div>}
      {saved?.problem && <div class="note is-bad" role="alert"><Icon name="warning" /><span class="grow">{t("saved.problem")} {saved.problem}</span></div>}
      {saved && saved.restart.length > 0 && <div class="note is-warn" role="status"><Icon name="refresh" /><span class="grow">{t("saved.restart")} <code>{saved.restart.join(", ")}</code></span></div>}
      {checkError && <Failed error={checkError} />}

      {(file.text !== "" || writable) && <Editor label={t("editor")} value={text} onChange={edit} onSave={save} readOnly={!writable} marks={marks} schema={schema} jump={jump} />}

      <section class="config-problems" aria-label={t("problems")}>
        <p role="status" class="muted">
          {checking ? t("checking") : errors.length > 0 ? t("errors", { n: errors.length }) : dirty && checked ? t("good") : !dirty && file.errors.length === 0 && file.text ? t("unchanged") : ""}
          {!checking && warnings.length > 0 && " " + t("warnings", { n: warnings.length })}
        </p>
        {(errors.length > 0 || warnings.length > 0) && (
          <ul>
            {errors.slice(0, most).map((m) => <Problemed key={"e" + m.line + m.key + m.message} mistake={m} bad onGo={() => goTo(m)} />)}
            {warnings.slice(0, most).map((m) => <Problemed key={"w" + m.line + m.key + m.message} mistake={m} onGo={() => goTo(m)} />)}
          </ul>
        )}
      </section>
      {text.includes("«hidden:") && <p class="faint">{t("hidden")}</p>}

      {open === "save" && <Save text={text} etag={draft.etag} onClose={() => setOpen("")} onSaved={afterSave} onConflict={onConflict}
        onMistakes={(result) => { setChecked({ text, result }); setOpen(""); }} />}
      {open === "versions" && <Versions canRestore={writable} onClose={() => setOpen("")} onRestore={(old) => {
        if (dirty) setAside(text);
        setDraft({ path: file.path, etag: file.etag, text: old });
        setOpen("");
        toast(t("versions.restored"));
      }} />}
      {open === "add" && <AddServer text={text} onClose={() => setOpen("")} onAdd={addServer} />}
      {open === "discard" && <Confirm title={t("discard")} text={t("discard.text")} label={t("discard")} danger onClose={() => setOpen("")}
        doIt={() => { setAside(text); setDraft({ path: file.path, etag: file.etag, text: file.text }); }} />}
      {open === "conflict" && <Conflict text={text} onClose={() => setOpen("")}
        onMine={() => { setDraft((d) => ({ ...d, etag: file.etag })); setOpen(""); }}
        onTheirs={() => { setAside(text); setDraft({ path: file.path, etag: file.etag, text: file.text }); setOpen(""); }} />}
    </div>
  );
}

// most is how many mistakes, and how many warnings, are listed; all are marked.
const most = 100;

const mark = (m: ConfigMistake, bad: boolean): Mark => ({ line: m.file ? 0 : m.line, column: m.column, text: m.message, bad });

/** One mistake; a button goes to its place. */
function Problemed({ mistake: m, bad, onGo }: { mistake: ConfigMistake; bad?: boolean; onGo: () => void }) {
  const t = useTexts();
  const where = m.file ? `${m.file}:${m.line}:${m.column}` : m.line > 0 ? `${m.line}:${m.column}` : t("file");
  return (
    <li class={bad ? "config-bad" : "config-warn"}>
      <Icon name={bad ? "error" : "warning"} size={15} /><span class="sr-only">{t(bad ? "error" : "warning")}</span>
      {m.line > 0 && !m.file ? <button type="button" class="config-go num" onClick={onGo}>{where}</button> : <span class="num">{where}</span>}
      <span class="grow">{m.key && <><code>{m.key}</code>: </>}{m.message}</span>
    </li>
  );
}

/** Shows both sides when the file has changed since a draft was begun. */
function Conflict({ text, onClose, onMine, onTheirs }: { text: string; onClose: () => void; onMine: () => void; onTheirs: () => void }) {
  const t = useTexts();
  const [diff, setDiff] = useState<string>();
  useEffect(() => { post<ConfigCheck>("v1/config/check", { text }).then((c) => setDiff(c.diff), (err) => { failed(err); onClose(); }); }, []);
  return (
    <Dialog wide title={t("conflict")} onClose={onClose} actions={<><Button onClick={onTheirs}>{t("conflict.theirs")}</Button><Button kind="primary" onClick={onMine}>{t("conflict.mine")}</Button></>}>
      <p>{t("conflict.text")}</p>
      {diff === undefined ? <Spinner page /> : <Diff text={diff} label={t("conflict")} />}
    </Dialog>
  );
}
