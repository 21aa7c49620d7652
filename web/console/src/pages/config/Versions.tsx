import { useState } from "preact/hooks";
import { get, post, useList } from "../../lib/api";
import { ago, fullTime } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { failed } from "../../ui/Toast";
import { Diff } from "./Diff";
import type { ConfigCheck, ConfigVersion, ConfigVersionText } from "./types";

interface Shown extends ConfigVersionText { diff: string }

/** Lists the earlier contents of the file, and shows how each differs from the file now.
 * Restoring puts the text into the editor, where it is saved like any other. */
export function Versions({ onClose, onRestore, canRestore }: { onClose: () => void; onRestore: (text: string) => void; canRestore: boolean }) {
  const t = useTexts();
  const list = useList<ConfigVersion>("v1/config/versions");
  const [shown, setShown] = useState<Shown>();
  const [busy, setBusy] = useState("");
  const show = async (id: string) => {
    setBusy(id);
    try {
      const one = await get<ConfigVersionText>("v1/config/versions/" + encodeURIComponent(id));
      const diff = one.text ? (await post<ConfigCheck>("v1/config/check", { text: one.text })).diff : "";
      setShown({ ...one, diff });
    } catch (err) {
      failed(err);
    }
    setBusy("");
  };
  return (
    <Dialog wide title={t("versions")} onClose={onClose}
      actions={shown && <><Button onClick={() => setShown(undefined)}>{t("versions.back")}</Button>{shown.text && canRestore && <Button kind="primary" onClick={() => onRestore(shown.text)}>{t("versions.restore")}</Button>}</>}>
      {list.error && <Failed error={list.error} again={list.reload} />}
      {!shown && list.loading && <Spinner page />}
      {!shown && !list.loading && !list.error && list.items.length === 0 && <Empty icon="clock" title={t("versions.none")} text={t("versions.none.text")} />}
      {!shown && list.items.length > 0 && (
        <ul class="config-versions">
          {list.items.map((v) => (
            <li key={v.id} class="row">
              <span class="grow"><span title={fullTime(v.replaced_at)}>{t("versions.until", { ago: ago(v.replaced_at) })}</span> <span class="faint block">{t("versions.by", { who: v.replaced_by })}</span></span>
              <Button small busy={busy === v.id} onClick={() => show(v.id)}>{t("versions.show")}</Button>
            </li>
          ))}
        </ul>
      )}
      {shown && <>
        <p class="muted">{t("versions.diff", { at: fullTime(shown.replaced_at) })}</p>
        {shown.why ? <p class="note is-warn">{shown.why}</p> : <Diff text={shown.diff} label={t("versions.diff", { at: fullTime(shown.replaced_at) })} />}
      </>}
    </Dialog>
  );
}
