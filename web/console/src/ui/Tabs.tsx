import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useId } from "./Field";

/** Tabs with their panel; arrow keys move between them. */
export function Tabs({ tabs, value, onChange, label, children }: {
  tabs: { id: string; label: ComponentChildren }[]; value: string; onChange: (id: string) => void; label: string; children?: ComponentChildren;
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const key = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const i = (tabs.findIndex((tab) => tab.id === value) + step + tabs.length) % tabs.length;
    onChange(tabs[i].id);
    (list.current?.children[i] as HTMLElement | undefined)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={key}>
        {tabs.map((tab) => (
          <button key={tab.id} type="button" role="tab" id={`${id}-${tab.id}`} aria-selected={tab.id === value} aria-controls={id} tabIndex={tab.id === value ? 0 : -1} onClick={() => onChange(tab.id)}>
            {tab.label}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={id} aria-labelledby={`${id}-${value}`} tabIndex={0}>{children}</div>
    </>
  );
}
