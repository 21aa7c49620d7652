import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { browserZone, otherZone } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { prefer } from "../../lib/session";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { failed } from "../../ui/Toast";
import { drafts } from "./store";
import { upload, type Upload } from "./upload";
import type { ChatFile } from "./types";

/** Where a person writes: Enter sends, Shift+Enter begins a line. Files come by button,
 * paste or drop. guides: what is written is added to the task that works. */
export function Composer({ id, guides, onSend }: { id: string; guides: boolean; onSend: (text: string, files: ChatFile[]) => void }) {
  const t = useTexts();
  const [text, setText] = useState(() => drafts.get(id));
  const [files, setFiles] = useState<Upload[]>([]);
  const [over, setOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const waiting = files.some((f) => !f.file && !f.error);
  const ready = files.flatMap((f) => (f.file ? [f.file] : []));
  const current = useRef(files);
  current.current = files;

  useLayoutEffect(() => {
    const a = area.current!;
    a.style.height = "auto";
    a.style.height = Math.min(a.scrollHeight + 2, innerHeight * 0.4) + "px";
  }, [text]);
  useEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches && !document.querySelector("dialog[open]")) area.current?.focus();
    const other = (e: StorageEvent) => { if (e.key === "legwork.draft." + id && document.activeElement !== area.current) setText(e.newValue ?? ""); };
    addEventListener("storage", other);
    return () => {
      removeEventListener("storage", other);
      current.current.forEach((f) => f.stop());
    };
  }, []);
  useEffect(() => { // files may be dropped anywhere in the conversation
    const main = area.current!.closest<HTMLElement>(".chat-main")!;
    const holds = (e: DragEvent) => e.dataTransfer?.types.includes("Files");
    const drag = (e: DragEvent) => { if (holds(e)) { e.preventDefault(); setOver(true); } };
    const leave = (e: DragEvent) => { if (!main.contains(e.relatedTarget as Node)) setOver(false); };
    const drop = (e: DragEvent) => { if (holds(e)) { e.preventDefault(); setOver(false); add(e.dataTransfer!.files); } };
    main.addEventListener("dragover", drag);
    main.addEventListener("dragleave", leave);
    main.addEventListener("drop", drop);
    return () => {
      main.removeEventListener("dragover", drag);
      main.removeEventListener("dragleave", leave);
      main.removeEventListener("drop", drop);
    };
  }, []);

  const write = (s: string) => { setText(s); drafts.set(id, s); };
  const add = (list: FileList | File[]) => {
    const added = [...list].map((f) => upload(f, () => setFiles((all) => [...all])));
    setFiles((all) => [...all, ...added]);
  };
  const remove = (f: Upload) => { f.stop(); setFiles((all) => all.filter((other) => other !== f)); };
  const submit = (e?: Event) => {
    e?.preventDefault();
    if (waiting || !text.trim() && ready.length === 0) return;
    drafts.set(id, "");
    setText("");
    setFiles(files.filter((f) => f.error));
    onSend(text.trim(), ready);
    area.current?.focus();
  };
  // On a touch screen, Enter begins a line: its keyboard has no other way.
  const sends = (e: KeyboardEvent) => e.key === "Enter" && !e.shiftKey && !e.isComposing && (!matchMedia("(pointer: coarse)").matches || e.ctrlKey || e.metaKey);
  const label = t(guides ? "write.guide" : "write");
  return (
    <form class={"composer" + (over ? " is-over" : "")} onSubmit={submit}>
      {files.length > 0 && (
        <ul class="composer-files" role="list">
          {files.map((f) => (
            <li key={f.key} class={"composer-file" + (f.error ? " is-bad" : "")}>
              <Icon name={f.error ? "error" : "file"} size={16} />
              <span class="clip">{f.name}</span>
              {f.error ? <span role="alert">{f.error}</span> : !f.file && <progress max={1} value={f.done} aria-label={t("uploading", { name: f.name })} />}
              <Button kind="plain" small icon="close" label={t("remove", { name: f.name })} onClick={() => remove(f)} />
            </li>
          ))}
        </ul>
      )}
      <div class="composer-box">
        <input ref={chooser} type="file" multiple hidden onChange={(e) => { add(e.currentTarget.files!); e.currentTarget.value = ""; }} />
        <Button kind="plain" icon="attach" label={t("attach")} onClick={() => chooser.current?.click()} />
        <textarea id="chat-text" ref={area} rows={1} value={text} placeholder={label} aria-label={label} enterkeyhint="send"
          onInput={(e) => write(e.currentTarget.value)} onKeyDown={(e) => { if (sends(e)) submit(e); }} onKeyPress={(e) => { if (sends(e)) e.preventDefault(); }}
          onPaste={(e) => { if (e.clipboardData?.files.length) { e.preventDefault(); add(e.clipboardData.files); } }} />
        <Button kind="primary" type="submit" icon="send" label={t("send")} disabled={waiting || !text.trim() && ready.length === 0} />
      </div>
      <p class="composer-hint faint">{t("write.hint")}</p>
      {otherZone() && <p class="composer-zone faint">{t("zone", { zone: otherZone() })} <Button kind="plain" small onClick={() => prefer({ timezone: browserZone }).catch(failed)}>{t("zone.use", { zone: browserZone })}</Button></p>}
    </form>
  );
}
