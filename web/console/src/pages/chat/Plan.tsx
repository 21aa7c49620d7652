import { useEffect, useRef } from "preact/hooks";
import { useData } from "../../lib/api";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Check, Select } from "../../ui/Field";
import type { PlanItem } from "./types";

/** A plan as a list that can be changed before it runs. Without onChange it is read only.
 * tried grows when the plan was to run with an empty step. */
export function Plan({ items, tried = 0, onChange }: { items: PlanItem[]; tried?: number; onChange?: (items: PlanItem[]) => void }) {
  const t = useTexts();
  const known = useData<{ items: { name: string }[] }>(onChange ? "v1/groups" : "");
  const groups = [...new Set([...items.map((i) => i.name), ...(known.data?.items.map((g) => g.name) ?? []), "llm_tool"])];
  const list = useRef<HTMLOListElement>(null);
  const focusEmpty = () => [...list.current!.querySelectorAll("textarea")].find((field) => !field.value.trim())?.focus();
  useEffect(() => { if (tried > 0) focusEmpty(); }, [tried]);
  const added = useRef(false);
  useEffect(() => { if (added.current) focusEmpty(); added.current = false; }, [items.length]);
  const set = (at: number, part: Partial<PlanItem>) => onChange?.(items.with(at, { ...items[at], ...part }));
  const move = (at: number, by: number) => {
    const next = [...items];
    [next[at], next[at + by]] = [next[at + by], next[at]];
    onChange?.(next);
  };
  // A step that goes away is nobody's condition any more.
  const remove = (at: number) => onChange?.(items.filter((_, i) => i !== at).map((i) => ({ ...i, after: i.after?.filter((a) => a !== items[at].id) ?? null })));
  const add = () => {
    let n = items.length + 1;
    while (items.some((i) => i.id === "s" + n)) n++;
    added.current = true;
    onChange?.([...items, { id: "s" + n, description: "", name: groups[0] ?? "", after: null }]);
  };
  return (
    <div class="plan">
      <ol class="plan-items" ref={list}>
        {items.map((item, at) => (
          <li key={item.id} class="plan-item">
            <span class="plan-number num" aria-hidden="true">{at + 1}</span>
            <div class="grow stack-small">
              {onChange ? <textarea class="input" rows={2} aria-label={t("plan.step", { n: at + 1 })} aria-invalid={tried > 0 && !item.description.trim() ? true : undefined} value={item.description} onInput={(e) => set(at, { description: e.currentTarget.value })} /> : <p>{item.description}</p>}
              <div class="row">
                {onChange ? <Select class="input plan-group" label={t("plan.group")} value={item.name} onChange={(name) => set(at, { name })} options={groups.map((g): [string, string] => [g, g])} /> : item.name && <span class="badge">{item.name}</span>}
                {items.length > 1 && (onChange ? (
                  <details class="plan-after">
                    <summary>{t("plan.after")}: {numbers(items, item) || t("plan.atonce")}</summary>
                    {items.map((other, n) => other !== item && other.description.trim() && !dependsOn(items, other, item.id) && (
                      <Check key={other.id} label={`${n + 1}. ${other.description.slice(0, 60)}`} checked={!!item.after?.includes(other.id)}
                        onChange={(on) => set(at, { after: on ? [...(item.after ?? []), other.id] : item.after?.filter((a) => a !== other.id) })} />
                    ))}
                  </details>
                ) : numbers(items, item) && <span class="faint">{t("plan.after")}: {numbers(items, item)}</span>)}
              </div>
            </div>
            {onChange && (
              <div class="plan-tools">
                <Button kind="plain" small icon="up" label={t("plan.up", { n: at + 1 })} disabled={at === 0} onClick={() => move(at, -1)} />
                <Button kind="plain" small icon="down" label={t("plan.down", { n: at + 1 })} disabled={at === items.length - 1} onClick={() => move(at, 1)} />
                <Button kind="plain" small icon="trash" label={t("plan.remove", { n: at + 1 })} onClick={() => remove(at)} />
              </div>
            )}
          </li>
        ))}
      </ol>
      {tried > 0 && items.some((i) => !i.description.trim()) && <p class="note is-bad" role="alert">{t("plan.empty", { n: items.findIndex((i) => !i.description.trim()) + 1 })}</p>}
      {onChange && <Button small icon="plus" onClick={add}>{t("plan.add")}</Button>}
    </div>
  );
}

const numbers = (items: PlanItem[], item: PlanItem) => (item.after ?? []).map((a) => items.findIndex((i) => i.id === a) + 1).filter(Boolean).sort((a, b) => a - b).join(", ");

// dependsOn reports whether a step waits for another, directly or through others.
function dependsOn(items: PlanItem[], item: PlanItem, id: string, seen = new Set<string>()): boolean {
  if (seen.has(item.id)) return false;
  seen.add(item.id);
  return !!item.after?.some((a) => a === id || items.some((i) => i.id === a && dependsOn(items, i, id, seen)));
}
