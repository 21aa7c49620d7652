import { useData } from "../../lib/api";
import { duration, fullTime, money, number, time } from "../../lib/format";
import { useTexts } from "../../lib/i18n";
import { href, Link } from "../../lib/router";
import { may } from "../../lib/session";
import { Badge, State } from "../../ui/Badge";
import { Failed } from "../../ui/Empty";
import { Icon } from "../../ui/Icon";
import { Json } from "../../ui/Json";
import { Spinner } from "../../ui/Spinner";
import { LongText } from "./LongText";
import { Arguments, MessageView } from "./MessageView";
import { stepName } from "./Timeline";
import { isModel, type Message, type Prompt, type Step, subtaskName } from "./types";

/** One step: when and why it ran, what it cost, what it was given, and what came of it. */
export function StepView({ id, step: s, steps, messages }: { id: string; step: Step; steps: Step[]; messages: Message[] }) {
  const t = useTexts();
  const call = s.call_seq ? messages.find((m) => m.seq === s.call_seq)?.content?.calls?.[(s.call ?? 1) - 1] : undefined;
  const result = messages.find((m) => m.seq === s.seq);
  const next = steps.filter((x) => x.after === s.id);
  return (
    <div class="stack">
      <div class="row">
        <h2>{stepName(t, s)}</h2><State state={s.state === "cancelled" ? "skipped" : s.state} />
        {s.critical_ms > 0 && <Badge>◆ {t("critical")} {duration(s.critical_ms)}</Badge>}{s.error && <Badge tone="bad">{s.error}</Badge>}
      </div>
      <dl class="task-facts">
        <dt>{t("when")}</dt><dd title={fullTime(s.wanted_at)}>{time(s.wanted_at)} · {t("took", { time: duration(s.took_ms) })}{s.wait_ms > 0 && " · " + t("waited", { time: duration(s.wait_ms) })}</dd>
        {s.after && <><dt>{t("because")}</dt><dd><StepLink id={id} step={steps.find((x) => x.id === s.after)} /></dd></>}
        {next.length > 0 && <><dt>{t("then")}</dt><dd>{next.slice(0, 12).map((x) => <><StepLink id={id} step={x} /> </>)}</dd></>}
        {s.subtask && <><dt>{t("subtask")}</dt><dd><Link to={href("tasks", id, "subtasks", s.subtask)}>{subtaskName(s.subtask, t)} · {s.group}</Link></dd></>}
        {s.model && <><dt>{t("model")}</dt><dd class="mono">{s.model}</dd></>}
        {isModel(s) && <><dt>{t("tokens")}</dt><dd class="num">{t("tokens.of", { in: number(s.usage.input_tokens), cached: number(s.usage.cached_input_tokens), out: number(s.usage.output_tokens) })}{s.usage.usd !== null && " · " + money(s.usage.usd)}</dd></>}
      </dl>
      {call && <><h3>{t("arguments")}</h3><Arguments value={call.arguments} /></>}
      {result && <><h3>{t("outcome")}</h3><MessageView key={result.seq} id={id} message={result} open /></>}
      {isModel(s) && (may("inspect") ? <PromptView id={id} step={s} /> : <p class="muted">{t("prompt.may.not")}</p>)}
    </div>
  );
}

function StepLink({ id, step }: { id: string; step?: Step }) {
  const t = useTexts();
  return step ? <Link to={href("tasks", id, "steps", step.id)}>{stepName(t, step)}</Link> : null;
}

/** The prompt of a model call, message by message; the last ones are open. */
function PromptView({ id, step }: { id: string; step: Step }) {
  const t = useTexts();
  const { data, error, reload } = useData<Prompt>(`v1/tasks/${encodeURIComponent(id)}/steps/${encodeURIComponent(step.id)}/prompt`);
  if (error) return <Failed error={error} again={reload} />;
  if (!data) return <Spinner page />;
  const size = (text: string) => t("chars", { n: text.length });
  return (
    <section class="stack" aria-label={t("prompt")}>
      <h3>{t("prompt")}</h3>
      <p class={"note " + (data.exact ? "is-good" : "is-warn")}><Icon name={data.exact ? "check" : "warning"} /><span>{data.exact ? t("prompt.exact") : `${t("prompt.rebuilt")} ${data.note ?? ""}`}</span></p>
      {data.messages.map((m, i) => (
        <details key={i} class="task-fold" open={i >= data.messages.length - 2 && m.content.length < 20_000}>
          <summary><strong>{t("role." + m.role)}</strong> <span class="faint">{size(m.content)}{m.images ? ` · ${t("images", { n: m.images })}` : ""}</span> <span class="faint clip">{m.content.slice(0, 160)}</span></summary>
          <div class="stack">
            {m.content && <LongText text={m.content} label={t("role." + m.role)} />}
            {m.tool_calls?.map((c) => <div key={c.id}><span class="mono">{c.name}</span><LongText text={c.arguments} label={t("arguments")} /></div>)}
          </div>
        </details>
      ))}
      {data.tools.length > 0 && (
        <details class="task-fold">
          <summary><strong>{t("tools")}</strong> <span class="faint">{data.tools.map((x) => x.name).join(", ")}</span></summary>
          <div class="stack">{data.tools.map((x) => <div key={x.name}><strong class="mono">{x.name}</strong><p>{x.description}</p><Json value={x.schema} open={0} name={t("schema")} /></div>)}</div>
        </details>
      )}
    </section>
  );
}
