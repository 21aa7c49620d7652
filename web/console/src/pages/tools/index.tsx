import { useTexts } from "../../lib/i18n";
import { navigate, useRoute } from "../../lib/router";
import { may } from "../../lib/session";
import type { PageProps } from "../../shell/Lazy";
import { PageHead } from "../../ui/Card";
import { Tabs } from "../../ui/Tabs";
import { Groups } from "./Groups";
import { ServerPage } from "./ServerPage";
import { Servers } from "./Servers";

/** Tool servers and groups: /tools, /tools/SERVER, /tools/SERVER/TOOL. Only those who may
 * see servers see more than the groups. */
export default function Tools({ parts }: PageProps) {
  const t = useTexts();
  const view = useRoute().query.get("view") ?? "servers";
  if (parts[0] && may("servers")) return <ServerPage name={parts[0]} tool={parts[1]} />;
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      {may("servers") ? (
        <Tabs label={t("title")} value={view} onChange={(id) => navigate("?view=" + id, true)} tabs={[{ id: "servers", label: t("servers") }, { id: "groups", label: t("groups") }]}>
          {view === "groups" ? <Groups /> : <Servers />}
        </Tabs>
      ) : <Groups />}
    </div>
  );
}
