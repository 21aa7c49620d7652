import { useTexts } from "../../lib/i18n";
import { Empty } from "../../ui/Empty";

export default function Chat() {
  const t = useTexts();
  return <Empty title={t("none")} icon="chat" />;
}
