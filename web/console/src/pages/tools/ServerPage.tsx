import { useData } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { duration, fullTime, number, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link, navigate } from "../../lib/router";
import { may } from "../../lib/session";
import { visible } from "../../lib/visible";
import { Badge, State } from "../../ui/Badge";
import { Card, Figure, PageHead } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";
import { Changed } from "./Changed";
import { ToolDialog } from "./ToolDialog";
import { total, type Details, type Tool } from "./types";

/** One server: how it works, its tools, and what needs a decision. tool opens a tool. */
export function ServerPage({ name, tool }: { name: string; tool?: string }) {
  const t = useTexts();
  const { data: server, error, reload, set } = useData<Details>("v1/servers/" + encodeURIComponent(name));
  useEvery(10, reload);
  if (!server) return error ? <div class="page"><Failed error={error} again={reload} /></div> : <Spinner page />;
  const open = server.tools.find((x) => x.name === tool);
  return (
    <div class="page">
      <PageHead title={server.name} lead={<><Link to={href("tools")}>{t("title")}</Link> · {t("kind." + server.kind)}{server.protocol && " · " + t("protocol", { version: server.protocol })} · {server.groups.join(", ")}</>}><State state={server.state} /></PageHead>
      {error && <Failed error={error} again={reload} />}
      {server.problem && <p class="note is-bad">{server.problem}</p>}
      <div class="tools-figures">
        <Figure label={t("calls")} value={number(server.calls)} note={t("since")} />
        <Figure label={t("failed")} value={number(server.failed)} note={server.calls ? t("share", { percent: Math.round((server.failed / server.calls) * 100) }) : ""} />
        <Figure label={t("median")} value={server.latency.count ? duration(server.latency.median_ms) : "–"} note={server.latency.count ? t("p95", { time: duration(server.latency.p95_ms) }) : ""} />
        <Figure label={t("restarts")} value={number(server.restarts)} />
        <Figure label={t("listing")} value={server.round_trip_ms ? duration(server.round_trip_ms) : "–"} />
      </div>
      {server.changes.length > 0 && <Changed server={server} onDone={set} />}
      <Card title={t("tools")}>
        {server.tools.length === 0 ? <Empty title={t("notools")} /> : (
          <Table caption={t("tools")} rows={server.tools} rowKey={(x) => x.name} onRow={(x) => navigate(href("tools", name, x.name))} columns={[
            { id: "name", label: t("tool"), cell: (x) => <Link to={href("tools", name, x.name)} class="mono">{visible(x.name)}</Link> },
            { id: "what", label: t("what"), cell: (x) => <span class="tools-what">{visible(x.description)}</span>, hideNarrow: true },
            { id: "rules", label: t("rules"), cell: (x) => <Marks tool={x} /> },
            { id: "calls", label: t("calls"), align: "end", cell: (x) => number(total(x.calls)) },
            { id: "failed", label: t("failed"), align: "end", cell: (x) => number(total(x.calls) - (x.calls.ok ?? 0) - (x.calls.given_up ?? 0)) },
          ]} />
        )}
      </Card>
      <Card title={t("errors")}>
        {server.errors.length === 0 ? <p class="muted">{t("noerrors")}</p> : (
          <Table caption={t("errors")} rows={server.errors} rowKey={(e) => e.at + e.tool + e.text} columns={[
            { id: "at", label: t("when"), cell: (e) => <span title={fullTime(e.at)}>{time(e.at)}</span> },
            { id: "tool", label: t("tool"), cell: (e) => <span class="mono">{visible(e.tool)}</span> },
            { id: "outcome", label: t("outcome"), cell: (e) => <Badge tone="bad">{t("outcome." + e.outcome)}</Badge> },
            { id: "text", label: t("said"), cell: (e) => visible(e.text) },
          ]} />
        )}
      </Card>
      {open && <ToolDialog server={name} tool={open} mayTry={may("tools")} onClose={() => navigate(href("tools", name))} />}
    </div>
  );
}

/** What a tool may do, in badges. */
export function Marks({ tool }: { tool: Tool }) {
  const t = useTexts();
  return (
    <span class="row tools-marks">
      {tool.quarantined && <Badge tone="warn">{t("quarantined")}</Badge>}
      {tool.not_offered && <Badge tone="bad" title={tool.not_offered}>{t("notoffered")}</Badge>}
      {tool.rules.length > 0 && (tool.rules.every((r) => r.read_only) ? <Badge>{t("reads")}</Badge> : <Badge>{t("changes")}</Badge>)}
      {tool.rules.some((r) => r.asks) && <Badge tone="warn" icon="person">{t("asks")}</Badge>}
      {!tool.quarantined && !tool.not_offered && tool.rules.length === 0 && <Badge>{t("nogroup")}</Badge>}
    </span>
  );
}
