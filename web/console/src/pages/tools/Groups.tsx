import { useList } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { may } from "../../lib/session";
import { visible } from "../../lib/visible";
import { Badge } from "../../ui/Badge";
import { Card } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import type { Group } from "./types";

/** The tool groups that a plan can assign work to, with what each tool may do. */
export function Groups() {
  const t = useTexts();
  const list = useList<Group>("v1/groups");
  useEvery(15, list.reload);
  if (list.error && list.items.length === 0) return <Failed error={list.error} again={list.reload} />;
  if (list.items.length === 0) return list.loading ? <Spinner page /> : <Empty title={t("none")} text={t("none.text")} icon="tools" />;
  return <div class="stack">{list.items.map((g) => <GroupCard key={g.name} group={g} />)}</div>;
}

function GroupCard({ group }: { group: Group }) {
  const t = useTexts();
  const reads = group.servers.every((s) => s.tools.every((tool) => tool.read_only)); // there are no changes to ask about
  return (
    <Card title={group.name} actions={!(group.approve === "writes" && reads) && <Badge title={t("approve")}>{approval(t, group.approve)}</Badge>}>
      <p class="muted">{group.description}</p>
      {group.servers.map((s) => (
        <div key={s.name} class="tools-server">
          <div class="row">
            <h3>{may("servers") ? <Link to={href("tools", s.name)}>{s.name}</Link> : s.name}</h3>
            {s.healthy ? <Badge tone="good">{t("state.ready")}</Badge> : <Badge tone="bad">{t("state.down")}</Badge>}
          </div>
          {s.problem && <p class="faint">{s.problem}</p>}
          {s.tools.length > 0 && (
            <details>
              <summary>{t("tools.n", { n: s.tools.length })}</summary>
              <ul class="tools-list">
                {s.tools.map((tool) => (
                  <li key={tool.name}>
                    <span class="mono">{visible(tool.name)}</span> {tool.read_only ? <Badge>{t("reads")}</Badge> : <Badge>{t("changes")}</Badge>} {tool.asks && <Badge tone="warn" icon="person">{t("asks")}</Badge>}
                    <p class="muted">{visible(tool.description)}</p>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
      ))}
    </Card>
  );
}

const known = ["never", "writes", "always"];
const approval = (t: ReturnType<typeof useTexts>, approve: string) => t("approve." + (known.includes(approve) ? approve : "patterns"), { patterns: approve });
