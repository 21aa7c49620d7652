import { useList } from "../../lib/api";
import { useEvery } from "../../lib/every";
import { ago, duration, fullTime, number, short } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { Badge } from "../../ui/Badge";
import { Card, Figure, PageHead } from "../../ui/Card";
import { Empty, Failed } from "../../ui/Empty";
import { Spinner } from "../../ui/Spinner";

interface Latency { count: number; mean_ms: number; median_ms: number; p95_ms: number }
interface Price { input: number; cached_input?: number; output: number; image?: number; audio_minute?: number; speech_1k?: number }
interface Model {
  name: string; model: string; endpoint: string; offline?: boolean; roles: string[]; fallback: string[]; context_tokens: number; max_output_tokens: number; price?: Price;
  down: boolean; role_down?: boolean; since: string; problem?: string; cause?: string; hint?: string;
  calls: Record<string, number>; attempts: Record<string, number>; latency: Latency; first_token: Latency;
}

/** The language models: whether they answer, how fast, for what price, and who steps in. */
export default function Models() {
  const t = useTexts();
  const list = useList<Model>("v1/models");
  useEvery(10, list.reload);
  return (
    <div class="page">
      <PageHead title={t("title")} lead={t("lead")} />
      {list.error && <Failed error={list.error} again={list.reload} />}
      {list.items.length === 0 ? (list.loading ? <Spinner page /> : !list.error && <Empty title={t("none")} icon="models" />)
        : <div class="stack">{list.items.map((m) => <ModelCard key={m.name} model={m} />)}</div>}
    </div>
  );
}

function ModelCard({ model: m }: { model: Model }) {
  const t = useTexts();
  const bad = Object.entries(m.attempts).filter(([outcome]) => outcome !== "ok" && outcome !== "given_up");
  const attempts = Object.values(m.attempts).reduce((sum, n) => sum + n, 0), failed = bad.reduce((sum, [, n]) => sum + n, 0);
  const limits = t("limits", { context: short(m.context_tokens), output: short(m.max_output_tokens) });
  return (
    <Card title={m.name} actions={m.down ? <Badge tone="bad">{t("down")}</Badge> : <Badge tone="good">{t("up")}</Badge>}>
      <p class="muted">{[m.offline ? t("offline") : `${m.model} · ${m.endpoint}`, limits].join(" · ")}</p>
      {m.down && (
        <div class="note is-bad models-problem">
          <p>{t("down.since", { time: ago(m.since) })} {t(m.role_down ? "down.none" : "down.fallback")}</p>
          {m.cause && <p>{m.cause}</p>}
          {m.hint && <p>{m.hint}</p>}
        </div>
      )}
      <div class="models-figures">
        <Figure label={t("calls")} value={number(m.latency.count)} note={t("since")} />
        <Figure label={t("usual")} value={m.latency.count ? duration(m.latency.median_ms) : "–"} note={m.latency.count ? t("p95", { time: duration(m.latency.p95_ms) }) : ""} />
        <Figure label={t("first")} value={m.first_token.count ? duration(m.first_token.median_ms) : "–"} note={m.first_token.count ? t("p95", { time: duration(m.first_token.p95_ms) }) : ""} />
        <Figure label={t("attempts")} value={number(failed)} note={attempts ? t("of", { n: attempts }) : ""} />
      </div>
      {bad.length > 0 && <div class="row">{bad.map(([outcome, n]) => <Badge key={outcome} tone="warn">{t("problem." + outcome)}: {number(n)}</Badge>)}</div>}
      <dl class="models-facts">
        <dt>{t("roles")}</dt><dd>{m.roles.length ? m.roles.map((r) => t("role." + r)).join(", ") : t("noroles")}</dd>
        <dt>{t("fallback")}</dt><dd>{m.fallback.length ? m.fallback.join(" → ") : t("nofallback")}</dd>
        <dt>{t("price")}</dt><dd>{m.price ? prices(t, m.price) : t("noprice")}</dd>
        {!m.down && <><dt>{t("upsince")}</dt><dd title={fullTime(m.since)}>{ago(m.since)}</dd></>}
      </dl>
    </Card>
  );
}

function prices(t: ReturnType<typeof useTexts>, p: Price): string {
  const all: [string, number | undefined][] = [["input", p.input], ["cached", p.cached_input], ["output", p.output], ["image", p.image], ["audio", p.audio_minute], ["speech", p.speech_1k]];
  if (all.every(([, usd]) => !usd)) return t("free");
  return all.filter(([, usd]) => usd !== undefined).map(([name, usd]) => t("price." + name, { usd: "$" + usd })).join(", ");
}
