import { useState } from "preact/hooks";
import { useList } from "../../lib/api";
import { fullTime, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { PageHead } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";

interface Entry { seq: number; at: string; who: string; role?: string; action: string; target?: string; detail?: string; from?: string }

const task = /^[0-9A-HJKMNP-TV-Z]{26}$/;
// The details of a decision: "calls 7.0, approve, scope task, tickets.create".
const decided = /^(\w+) [\d.]+, (approve|deny)(?:, scope (\w+))?(?:, (.+))?$/;

/** Every decision and change with who made it, the newest first. */
export default function Audit() {
  const t = useTexts();
  const [words, setWords] = useState("");
  const list = useList<Entry>("v1/audit", { limit: 100 });
  const detail = (e: Entry) => {
    const [, about, decision, scope, tools] = e.action === "task.decide" && decided.exec(e.detail ?? "") || [];
    if (!decision) return e.detail;
    return t("decided." + decision, { what: tools || t("about." + about) }) + (scope ? ", " + t("scope." + scope) : "");
  };
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = list.items.filter((e) => {
    const text = [e.who, e.role, e.action, t("action." + e.action), e.target, e.detail, detail(e), e.from].join(" ").toLowerCase();
    return wanted.every((w) => text.includes(w));
  });
  const action = (e: Entry) => { const key = "action." + e.action, text = t(key); return text === key ? e.action : text; };
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")}><Button icon="refresh" label={t("reload")} busy={list.loading} onClick={list.reload} /></PageHead>
      {list.error && <Failed error={list.error} again={list.reload} />}
      <input class="input audit-words" type="search" aria-label={t("filter")} placeholder={t("filter")} value={words} onInput={(e) => setWords(e.currentTarget.value)} />
      {shown.length === 0 && !list.more ? (list.loading ? <Spinner page /> : !list.error && <Empty title={t(wanted.length ? "nomatch" : "none")} icon="audit" />) : (
        <Table caption={t("title")} rows={shown} rowKey={(e) => String(e.seq)} more={list.more} onMore={list.loadMore} busy={list.loading} columns={[
          { id: "action", label: t("action"), cell: (e) => <span title={e.action}>{action(e)}</span> },
          { id: "at", label: t("when"), cell: (e) => <span class="num" title={fullTime(e.at)}>{time(e.at)}</span> },
          { id: "who", label: t("who"), cell: (e) => <span class="row"><span class="mono">{e.who}</span>{e.role && <Badge>{t("role." + e.role)}</Badge>}</span> },
          { id: "target", label: t("target"), cell: (e) => (e.target && task.test(e.target) ? <Link class="mono" to={href("tasks", e.target)}>{e.target}</Link> : e.target && <span class="mono audit-break">{e.target}</span>) },
          { id: "detail", label: t("detail"), cell: (e) => e.detail && <span class="audit-break" title={e.detail}>{detail(e)}</span> },
          { id: "from", label: t("from"), cell: (e) => <span class="mono faint">{e.from}</span>, hideNarrow: true },
        ]} />
      )}
    </div>
  );
}
