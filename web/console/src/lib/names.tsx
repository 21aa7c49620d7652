import { useTexts } from "./i18n";

/** A person by name, or else by key. The key is in the title. */
export const Person = ({ id, name }: { id: string; name?: string }) => (name ? <span title={id}>{name}</span> : <span class="mono">{id}</span>);

/** A chat by its key. One in the browser has a key that tells people nothing. */
export function Chat({ id }: { id: string }) {
  const t = useTexts();
  const room = id.split("/")[0];
  return room.startsWith("web:") ? <span title={room}>{t("chat.web")}</span> : <span class="mono">{room}</span>;
}
