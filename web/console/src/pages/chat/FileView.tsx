import { useEffect, useState } from "preact/hooks";
import { problemOf } from "../../lib/api";
import { at } from "../../lib/base";
import { bytes } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { failed } from "../../ui/Toast";
import { filePath } from "./store";
import type { ChatFile } from "./types";

// Pictures that browsers show without running anything.
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const most = 20_000_000;

async function fetchFile(conversation: string, f: ChatFile): Promise<Blob> {
  const response = await fetch(at(filePath(conversation, f.id)));
  if (!response.ok) throw await problemOf(response);
  return new Blob([await response.arrayBuffer()], { type: pictures.includes(f.type) ? f.type : "application/octet-stream" });
}

/** A file of a post: a picture is shown, any other is a button that saves it. */
export function FileView({ conversation, file: f }: { conversation: string; file: ChatFile }) {
  const t = useTexts();
  const [url, setURL] = useState("");
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  const picture = pictures.includes(f.type) && f.bytes <= most && f.as !== "document" && !broken;
  useEffect(() => {
    if (!picture) return;
    let made = "", gone = false;
    fetchFile(conversation, f).then((blob) => {
      if (gone) return;
      setURL((made = URL.createObjectURL(blob)));
    }, () => setBroken(true));
    return () => { gone = true; URL.revokeObjectURL(made); };
  }, [f.id, picture]);
  const save = async () => {
    try {
      const made = URL.createObjectURL(await fetchFile(conversation, f));
      const link = document.createElement("a");
      link.href = made;
      link.download = f.name || "file";
      link.click();
      setTimeout(() => URL.revokeObjectURL(made), 60_000);
    } catch (err) {
      failed(err);
    }
  };
  if (picture) {
    return (
      <>
        <button type="button" class="file-picture" onClick={() => setLarge(true)} disabled={!url}>{url ? <img src={url} alt={f.name} onError={() => setBroken(true)} /> : <span class="sr-only">{f.name}</span>}</button>
        {large && <Dialog title={f.name} wide onClose={() => setLarge(false)} actions={<button type="button" class="button" onClick={save}><Icon name="download" />{t("save.file")}</button>}><img class="file-large" src={url} alt={f.name} /></Dialog>}
      </>
    );
  }
  return (
    <button type="button" class="file" onClick={save} title={t("save.file")}>
      <Icon name="file" /><span class="grow clip">{f.name || t("file")}</span><span class="faint">{bytes(f.bytes)}</span><Icon name="download" size={16} />
    </button>
  );
}
