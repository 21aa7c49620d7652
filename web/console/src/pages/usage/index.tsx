import { useMemo } from "preact/hooks";
import { useList } from "../../lib/api";
import { money, number, short, times } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { navigate, useRoute } from "../../lib/router";
import { Card, Figure, PageHead } from "../../ui/Card";
import { Chart } from "../../ui/Chart";
import { Empty, Failed } from "../../ui/Empty";
import { Field, Select } from "../../ui/Field";
import { Spinner } from "../../ui/Spinner";
import { Table } from "../../ui/Table";
import { byDay, byName, days, defaultFrom, type Row, today } from "./sums";

const dimensions = ["model", "user", "chat", "group"] as const;

/** Tokens and money by day, and by model, person, chat or tool group. */
export default function Usage() {
  const t = useTexts();
  const query = useRoute().query;
  const by = dimensions.find((d) => d === query.get("by")) ?? "model";
  const to = query.get("to") || today(), from = query.get("from") || defaultFrom(to);
  const list = useList<Row>("v1/usage", { by: `day,${by}`, from, to });
  const change = (values: Record<string, string>) => {
    const next = new URLSearchParams(query);
    Object.entries(values).forEach(([name, value]) => next.set(name, value));
    navigate("?" + next, true);
  };
  const names = useMemo(() => byName(list.items, by), [list.items, by]);
  const span = useMemo(() => days(from, to), [from, to]);
  const sum = names.reduce((all, n) => ({ usd: all.usd + n.usd, tokens: all.tokens + n.tokens, calls: all.calls + n.calls, unpriced: all.unpriced || n.unpriced }), { usd: 0, tokens: 0, calls: 0, unpriced: false });
  // Without prices there is no money to show.
  const what = (query.get("what") ?? (sum.usd > 0 ? "usd" : "tokens")) === "tokens" ? "tokens" : "usd";
  const label = (name: string) => (by === "group" && name === "llm_tool" ? t("llm_tool") : name || t("none." + by));
  const format = what === "usd" ? money : short;
  const shownDay = (day: string) => times({ day: "numeric", month: "short" }).format(new Date(day + "T12:00:00"));
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      <div class="usage-choice">
        <Field label={t("from")}>{(p) => <input {...p} type="date" max={to} value={from} onChange={(e) => e.currentTarget.value && change({ from: e.currentTarget.value })} />}</Field>
        <Field label={t("to")}>{(p) => <input {...p} type="date" min={from} value={to} onChange={(e) => e.currentTarget.value && change({ to: e.currentTarget.value })} />}</Field>
        <Field label={t("by")}>{(p) => <Select {...p} value={by} onChange={(v) => change({ by: v })} options={dimensions.map((d) => [d, t("by." + d)])} />}</Field>
        <Field label={t("what")}>{(p) => <Select {...p} value={what} onChange={(v) => change({ what: v })} options={[["usd", t("usd")], ["tokens", t("tokens")]]} />}</Field>
      </div>
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.items.length === 0 ? (list.loading ? <Spinner page /> : !list.error && <Empty title={t("nothing")} text={t("nothing.text")} icon="usage" />) : (
        <>
          <div class="usage-figures">
            <Figure label={t("usd")} value={money(sum.usd)} note={sum.unpriced ? t("unpriced") : ""} />
            <Figure label={t("tokens")} value={short(sum.tokens)} />
            <Figure label={t("calls")} value={number(sum.calls)} />
            <Figure label={t("perday")} value={what === "usd" ? money(sum.usd / span.length) : short(Math.round(sum.tokens / span.length))} />
          </div>
          <Card title={t("chart", { what: t(what), by: t("by." + by) })}>
            <Chart title={t("perdays")} labels={span.map(shownDay)} series={byDay(list.items, by, what, span, names, t("others")).map((s) => ({ ...s, label: label(s.label) }))} format={format} />
          </Card>
          <Table caption={t("by." + by)} rows={names} rowKey={(n) => n.name} columns={[
            { id: "name", label: t("by." + by), cell: (n) => label(n.name) },
            { id: "usd", label: t("usd"), align: "end", cell: (n) => (n.priced ? money(n.usd) + (n.unpriced ? " +" : "") : "–") },
            { id: "share", label: t("share"), align: "end", cell: (n) => share(what === "usd" ? n.usd : n.tokens, what === "usd" ? sum.usd : sum.tokens), hideNarrow: true },
            { id: "in", label: t("in"), align: "end", cell: (n) => number(n.input), hideNarrow: true },
            { id: "out", label: t("out"), align: "end", cell: (n) => number(n.output), hideNarrow: true },
            { id: "tokens", label: t("tokens"), align: "end", cell: (n) => number(n.tokens) },
            { id: "calls", label: t("calls"), align: "end", cell: (n) => number(n.calls) },
          ]} />
        </>
      )}
    </div>
  );
}

const share = (part: number, all: number) => (all > 0 ? Math.round((part / all) * 100) + " %" : "–");
