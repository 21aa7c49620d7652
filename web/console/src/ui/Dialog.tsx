import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useTexts } from "../lib/i18n";
import { useId } from "./Field";
import { Button } from "./Button";

/** A modal dialog. fixed: it cannot be closed. The focus goes to the dialog, or to the
 * field that wants it, and returns to where it was. */
export function Dialog({ title, onClose, fixed, wide, children, actions }: {
  title: string; onClose: () => void; fixed?: boolean; wide?: boolean; children?: ComponentChildren; actions?: ComponentChildren;
}) {
  const t = useTexts();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    if (document.activeElement?.closest(".dialog-head")) dialog.current?.focus(); // not to close it by Enter
    return () => before?.isConnected && before.focus();
  }, []);
  return (
    <dialog ref={dialog} tabIndex={-1} class={"dialog" + (wide ? " is-wide" : "")} aria-labelledby={id}
      onCancel={(e) => { e.preventDefault(); if (!fixed) onClose(); }}
      onKeyDown={(e) => fixed && e.key === "Escape" && e.preventDefault()}
      onClick={(e) => e.target === dialog.current && !fixed && onClose()}>
      <div class="dialog-body">
        <header class="dialog-head"><h2 id={id}>{title}</h2>{!fixed && <Button kind="plain" icon="close" label={t("close")} onClick={onClose} />}</header>
        {children}
        {actions && <footer class="dialog-foot">{actions}</footer>}
      </div>
    </dialog>
  );
}

/** A dialog that asks before something is done. doIt may fail: its error is shown. */
export function Confirm({ title, text, label, danger, doIt, onClose }: {
  title: string; text?: ComponentChildren; label: string; danger?: boolean; doIt: () => Promise<unknown> | void; onClose: () => void;
}) {
  const t = useTexts();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const go = async () => {
    setBusy(true);
    try {
      await doIt();
      onClose();
    } catch (err) {
      setError((err as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose} actions={<><Button onClick={onClose}>{t("cancel")}</Button><Button kind={danger ? "danger" : "primary"} busy={busy} onClick={go}>{label}</Button></>}>
      {text && <p>{text}</p>}
      {error && <p class="note is-bad" role="alert">{error}</p>}
    </Dialog>
  );
}
