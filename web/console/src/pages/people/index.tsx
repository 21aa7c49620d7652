import { useState } from "preact/hooks";
import { post, useData } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { ago, fullTime } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Card, PageHead } from "../../ui/Card";
import { Confirm } from "../../ui/Dialog";
import { Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";
import { failed, toast } from "../../ui/Toast";

interface Rule { platform: string; users: string[]; chats: string[]; teams: string[]; external: boolean }
interface Person { key: string; name?: string; access: "allow" | "chat" | "ignore"; chats: string[] }
interface Request { key: string; name?: string; chat: string; at: string }
interface People { admins: string[]; rules: Rule[]; people: Person[]; requests: Request[] }

/** Who may talk to legwork, and who asks to. */
export default function PeoplePage() {
  const t = useTexts();
  const { data, error, reload, set } = useData<People>("v1/people");
  const [removing, setRemoving] = useState<Person>();
  const [busy, setBusy] = useState("");
  useEvery(15, reload);
  const decide = async (who: { key: string; name?: string }, decision: string) => {
    setBusy(who.key + decision);
    try {
      set(await post<People>(`v1/people/${encodeURIComponent(who.key)}`, { decision }));
      toast(t("done." + decision, { name: who.name || who.key }));
    } finally {
      setBusy("");
    }
  };
  const press = (who: { key: string; name?: string }, decision: string) => { decide(who, decision).catch((err) => { failed(err); reload(); }); };
  if (!data) return error ? <div class="page"><Failed error={error} again={reload} /></div> : <Spinner page />;
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      {error && <Failed error={error} again={reload} />}
      <Card title={t("requests")}>
        {data.requests.length === 0 ? <p class="muted">{t("norequests")}</p> : (
          <ul class="people-requests">
            {data.requests.map((r) => (
              <li key={r.key} class="row">
                <div class="grow"><strong>{r.name || r.key}</strong> <span class="mono faint">{r.key}</span><div class="faint" title={fullTime(r.at)}>{t("asked", { time: ago(r.at), chat: r.chat })}</div></div>
                <Button small kind="primary" busy={busy === r.key + "allow"} onClick={() => press(r, "allow")}>{t("allow")}</Button>
                <Button small busy={busy === r.key + "chat"} onClick={() => press(r, "chat")}>{t("chat")}</Button>
                <Button small busy={busy === r.key + "ignore"} onClick={() => press(r, "ignore")}>{t("ignore")}</Button>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title={t("people")}>
        {data.people.length === 0 ? <p class="muted">{t("nopeople")}</p> : (
          <Table caption={t("people")} rows={data.people} rowKey={(p) => p.key} columns={[
            { id: "name", label: t("person"), cell: (p) => <>{p.name || p.key} {p.name && <span class="mono faint">{p.key}</span>}</> },
            { id: "access", label: t("access"), cell: (p) => <Access person={p} /> },
            { id: "action", label: "", align: "end", cell: (p) => (
              <span class="row people-actions">
                {p.access === "ignore" && <Button small busy={busy === p.key + "allow"} onClick={() => press(p, "allow")}>{t("allow")}</Button>}
                <Button small kind="danger" onClick={() => setRemoving(p)}>{t("remove")}</Button>
              </span>
            ) },
          ]} />
        )}
      </Card>
      <Card title={t("config")}>
        <p class="muted">{t("config.text")}</p>
        <dl class="people-rules">
          <dt>{t("admins")}</dt><dd>{data.admins.length ? <Keys list={data.admins} /> : t("noadmins")}</dd>
          {data.rules.map((r) => <Platform key={r.platform} rule={r} />)}
        </dl>
      </Card>
      {removing && <Confirm title={t("remove.title")} text={t("remove.text", { name: removing.name || removing.key })} label={t("remove")} danger doIt={() => decide(removing, "remove")} onClose={() => setRemoving(undefined)} />}
    </div>
  );
}

function Access({ person: p }: { person: Person }) {
  const t = useTexts();
  if (p.access === "ignore") return <Badge tone="bad" icon="close">{t("access.ignore")}</Badge>;
  if (p.access === "allow") return <Badge tone="good">{t("access.allow")}</Badge>;
  return <><Badge tone="good">{t("access.chat")}</Badge> <Keys list={p.chats} /></>;
}

function Platform({ rule }: { rule: Rule }) {
  const t = useTexts();
  const line = (key: string, list: string[]) => list.length > 0 && <li>{t(key)}: {list.includes("*") ? t(key + ".all") : <Keys list={list} />}</li>;
  const nobody = rule.users.length + rule.chats.length + rule.teams.length === 0;
  return (
    <>
      <dt>{rule.platform}</dt>
      <dd>{nobody ? t("nobody") : <ul>{line("users", rule.users)}{line("chats", rule.chats)}{line("teams", rule.teams)}{rule.external && <li>{t("external")}</li>}</ul>}</dd>
    </>
  );
}

const Keys = ({ list }: { list: string[] }) => <>{list.map((k, i) => <span key={k}>{i > 0 && ", "}<span class="mono">{k}</span></span>)}</>;
