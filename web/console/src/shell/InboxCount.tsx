import { useEffect } from "preact/hooks";
import { useList } from "../lib/api";
import { useEvery } from "../lib/every";
import { useTexts } from "../lib/i18n";
import { useRoute } from "../lib/router";
import { Badge } from "../ui/Badge";

/** How many decisions wait for the person, beside the link to the inbox. */
export function InboxCount() {
  const t = useTexts();
  const { parts } = useRoute();
  const list = useList<{ id: string }>("v1/approvals", { limit: 100 });
  useEvery(10, list.reload);
  useEffect(list.reload, [parts.join("/")]);
  const n = list.items.length;
  return n > 0 ? <Badge title={t("waiting.n", { n })}>{list.more ? n + "+" : n}</Badge> : null;
}
