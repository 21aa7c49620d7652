import { useEffect, useState } from "preact/hooks";
import { call, type Page, post, useData } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { ago, fullTime } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Person } from "../../lib/names";
import { visible } from "../../lib/visible";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Card, PageHead } from "../../ui/Card";
import { Confirm, Dialog } from "../../ui/Dialog";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";
import { failed, toast } from "../../ui/Toast";
import { People } from "./People";
import type { Begun, Connection, Ended } from "./types";

const path = (server: string) => "v1/connections/" + encodeURIComponent(server);

/** The servers at which people sign in: whose sign-in legwork uses, and how to begin and end it. */
export default function Connections() {
  const t = useTexts();
  const { data, error, reload } = useData<Page<Connection>>("v1/connections");
  const [asked, setAsked] = useState<{ server: string; begun: Begun; before: string }>();
  const [ending, setEnding] = useState<Ending>();
  const [busy, setBusy] = useState("");
  useEvery(asked ? 3 : 15, reload);
  const current = asked && data?.items.find((c) => c.server === asked.server)?.sign_in?.since_at;
  useEffect(() => {
    if (!asked || !current || current === asked.before) return;
    toast(t("connected.now", { server: visible(asked.server) }));
    setAsked(undefined);
  }, [current]);
  const connect = async (c: Connection) => {
    setBusy(c.server);
    try {
      setAsked({ server: c.server, begun: await post<Begun>(path(c.server)), before: c.sign_in?.since_at ?? "" });
    } catch (err) {
      failed(err);
    } finally {
      setBusy("");
    }
  };
  const end = async ({ server, person, all }: Ending) => {
    const { data } = await call<Ended>("DELETE", path(server), { query: { person, all: all || undefined } });
    toast(t(data.revoked < data.ended ? "ended.here" : "ended", { server: visible(server), n: data.ended }));
    reload();
  };
  if (!data) return error ? <div class="page"><Failed error={error} again={reload} /></div> : <Spinner page />;
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      {error && <Failed error={error} again={reload} />}
      {data.items.length === 0 && <Empty title={t("none")} text={t("none.text")} icon="link" />}
      {data.items.map((c) => (
        <Card key={c.server} title={visible(c.server)} actions={c.may_change && (c.sign_in
          ? <Button small kind="danger" onClick={() => setEnding({ server: c.server, title: t("disconnect.title", { server: visible(c.server) }), text: t(c.identity === "shared" ? "disconnect.shared" : "disconnect.text") })}>{t("disconnect")}</Button>
          : <Button small kind="primary" busy={busy === c.server} onClick={() => connect(c)}>{t("connect")}</Button>)}>
          <Current connection={c} />
          {c.people !== undefined && (c.identity === "person" || c.people > 0) && <People server={c.server} count={c.people} onEnd={setEnding} />}
        </Card>
      ))}
      {asked && <Link server={asked.server} begun={asked.begun} onClose={() => { setAsked(undefined); reload(); }} />}
      {ending && <Confirm title={ending.title} text={ending.text} label={ending.all ? t("end.all") : t("disconnect")} danger doIt={() => end(ending)} onClose={() => setEnding(undefined)} />}
    </div>
  );
}

/** What is about to be ended: the sign-in that the reader uses, that of a person, or all. */
export interface Ending { server: string; person?: string; all?: boolean; title: string; text: string }

// Current is the sign-in that the reader uses.
function Current({ connection: c }: { connection: Connection }) {
  const t = useTexts();
  const shared = c.identity === "shared";
  const s = c.sign_in;
  return (
    <div class="stack">
      <div class="row">
        {s ? <Badge tone="good">{t("connected")}</Badge> : <Badge>{t("not")}</Badge>}
        {shared && <Badge icon="people">{t("shared")}</Badge>}
      </div>
      {s ? (
        <dl class="connections-facts">
          {shared && <><dt>{t("by")}</dt><dd><Person id={s.by} /></dd></>}
          <dt>{t("since")}</dt><dd><time title={fullTime(s.since_at)}>{ago(s.since_at)}</time></dd>
          <dt>{t("used")}</dt><dd>{s.used_at ? <time title={fullTime(s.used_at)}>{ago(s.used_at)}</time> : t("never")}</dd>
          {s.scopes.length > 0 && <><dt>{t("scopes")}</dt><dd class="mono">{visible(s.scopes.join(" "))}</dd></>}
        </dl>
      ) : <p class="muted">{t(c.may_change ? (shared ? "shared.ask" : "own.ask") : shared ? "shared.wait" : "own.nobody")}</p>}
    </div>
  );
}

// Link shows the address at which the person agrees. It is a link, since browsers stop
// windows that a page opens by itself.
function Link({ server, begun, onClose }: { server: string; begun: Begun; onClose: () => void }) {
  const t = useTexts();
  return (
    <Dialog title={t("connect.title", { server: visible(server) })} onClose={onClose} actions={
      <><Button onClick={onClose}>{t("close")}</Button><a class="button is-primary" href={begun.url} target="_blank" rel="noreferrer">{t("connect.open")}</a></>
    }>
      <p>{t("connect.text")}</p>
      {begun.paste && <p class="note">{t("connect.paste")}</p>}
    </Dialog>
  );
}
