import { useEffect, useState } from "preact/hooks";
import { useList } from "../../lib/api";
import { ago, fullTime } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Person } from "../../lib/names";
import { visible } from "../../lib/visible";
import { Button } from "../../ui/Button";
import { Failed } from "../../ui/Empty";
import { Table } from "../../ui/Table";
import type { Ending } from ".";
import type { PersonSignIn } from "./types";

/** The people who have signed in at a server, for admins. */
export function People({ server, count, onEnd }: { server: string; count: number; onEnd: (e: Ending) => void }) {
  const t = useTexts();
  const [open, setOpen] = useState(false);
  const name = visible(server);
  if (count === 0) return <p class="faint connections-people">{t("people.none")}</p>;
  return (
    <details class="connections-people" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{t("people.n", { n: count })}</summary>
      {open && <div class="stack">
        <List server={server} count={count} onEnd={onEnd} />
        <div class="row"><Button small kind="danger" onClick={() => onEnd({ server, all: true, title: t("end.all.title", { server: name }), text: t("end.all.text", { server: name }) })}>{t("end.all")}</Button></div>
      </div>}
    </details>
  );
}

function List({ server, count, onEnd }: { server: string; count: number; onEnd: (e: Ending) => void }) {
  const t = useTexts();
  const list = useList<PersonSignIn>("v1/connections/" + encodeURIComponent(server));
  useEffect(list.reload, [count]);
  if (list.error) return <Failed error={list.error} again={list.reload} />;
  return (
    <Table caption={t("people.n", { n: count })} rows={list.items.filter((s) => s.person)} rowKey={(s) => s.person!} busy={list.loading} columns={[
      { id: "person", label: t("person"), cell: (s) => <Person id={s.person!} /> },
      { id: "scopes", label: t("scopes"), cell: (s) => <span class="mono">{visible(s.scopes.join(" "))}</span>, hideNarrow: true },
      { id: "since", label: t("since"), cell: (s) => <time title={fullTime(s.since_at)}>{ago(s.since_at)}</time> },
      { id: "used", label: t("used"), cell: (s) => (s.used_at ? <time title={fullTime(s.used_at)}>{ago(s.used_at)}</time> : t("never")) },
      { id: "end", label: "", align: "end", cell: (s) => <Button small kind="danger" onClick={() => onEnd({ server, person: s.person, title: t("end.title", { person: s.person! }), text: t("end.text", { server: visible(server) }) })}>{t("end")}</Button> },
    ]} />
  );
}
