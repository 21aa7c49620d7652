import { useList } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { duration, number } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link, navigate } from "../../lib/router";
import { Badge, State } from "../../ui/Badge";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";
import type { Server } from "./types";

/** All tool servers with their health. */
export function Servers() {
  const t = useTexts();
  const list = useList<Server>("v1/servers");
  useEvery(10, list.reload);
  if (list.error && list.items.length === 0) return <Failed error={list.error} again={list.reload} />;
  if (list.items.length === 0) return list.loading ? <Spinner page /> : <Empty title={t("none")} text={t("none.text")} icon="tools" />;
  return (
    <Table caption={t("servers")} rows={list.items} rowKey={(s) => s.name} onRow={(s) => navigate(href("tools", s.name))} columns={[
      { id: "name", label: t("server"), cell: (s) => <><Link to={href("tools", s.name)}>{s.name}</Link> {s.quarantined > 0 && <Badge tone="warn">{t("changed", { n: s.quarantined })}</Badge>}</> },
      { id: "state", label: t("state"), cell: (s) => <div class="tools-state"><State state={s.state} />{s.problem && <span class="faint">{s.problem}</span>}</div> },
      { id: "kind", label: t("kind"), cell: (s) => <span class="faint">{t("kind." + s.kind)}{s.protocol && " · " + t("protocol", { version: s.protocol })}</span>, hideNarrow: true },
      { id: "groups", label: t("groups"), cell: (s) => s.groups.join(", "), hideNarrow: true },
      { id: "tools", label: t("tools"), align: "end", cell: (s) => number(s.tool_count) },
      { id: "calls", label: t("calls"), align: "end", cell: (s) => number(s.calls) },
      { id: "failed", label: t("failed"), align: "end", cell: (s) => number(s.failed) },
      { id: "median", label: t("median"), align: "end", cell: (s) => (s.latency.count ? duration(s.latency.median_ms) : "–"), hideNarrow: true },
      { id: "restarts", label: t("restarts"), align: "end", cell: (s) => number(s.restarts), hideNarrow: true },
    ]} />
  );
}
