import { useEffect, useRef } from "preact/hooks";
import { useList } from "../../lib/api";
import { useStream } from "../../lib/events";
import { useTexts } from "../../lib/i18n";
import { Chat } from "../../lib/names";
import { href, Link } from "../../lib/router";
import type { PageProps } from "../../shell/Lazy";
import { PageHead } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Button } from "../../ui/Button";
import { Spinner } from "../../ui/Spinner";
import { type Approval, ApprovalCard } from "./Approval";

interface Queued { id: string; goal: string; chat: string }

/** Everything that waits for a person, and the tasks that wait for earlier ones. */
export default function Inbox(_: PageProps) {
  const t = useTexts();
  const list = useList<Approval>("v1/approvals", { limit: 100 });
  const queue = useList<Queued>("v1/tasks", { state: "queued", limit: 50 });
  const timer = useRef(0);
  const reload = useRef(() => {});
  reload.current = () => { list.reload(); queue.reload(); };
  useStream("v1/events?type=approval,status_update", () => { timer.current ||= window.setTimeout(() => { timer.current = 0; reload.current(); }, 1000); });
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.loading && list.items.length === 0 ? <Spinner page /> : list.items.length === 0 ? <Empty icon="inbox" title={t("none")} text={t("none.text")} /> : (
        <div class="stack">
          {list.items.map((a) => <ApprovalCard key={a.id} approval={a} link onDecided={list.reload} />)}
          {list.more && <Button onClick={list.loadMore}>{t("more")}</Button>}
        </div>
      )}
      {queue.items.length > 0 && (
        <section class="card">
          <h2>{t("queue")}</h2>
          <p class="muted">{t("queue.lead")}</p>
          <ol>{queue.items.map((q) => <li key={q.id}><Link to={href("tasks", q.id)}>{q.goal || q.id}</Link> <span class="faint"><Chat id={q.chat} /></span></li>)}</ol>
        </section>
      )}
    </div>
  );
}
