import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";
import { useId } from "./Field";

export interface MenuItem { label?: string; do?: () => void; heading?: string; checked?: boolean; danger?: boolean; lang?: string }

/** A button that opens a list of actions. Arrow keys move, Escape closes. name is the
 * accessible name; up opens it upwards. */
export function Menu({ label, name, items, up, class: more }: { label: ComponentChildren; name: string; items: MenuItem[]; up?: boolean; class?: string }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const entries = () => [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
  const shut = () => { setOpen(false); root.current?.querySelector("button")?.focus(); };
  useEffect(() => {
    if (!open) return;
    (entries().find((e) => e.ariaChecked === "true") ?? entries()[0])?.focus();
    const outside = (e: Event) => !root.current?.contains(e.target as Node) && setOpen(false);
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const key = (e: KeyboardEvent) => {
    if (!open) return;
    const all = entries(), i = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: (i + 1) % all.length, ArrowUp: (i - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[e.key];
    if (e.key === "Escape") { e.stopPropagation(); shut(); }
    else if (e.key === "Tab") setOpen(false);
    else if (to !== undefined) { e.preventDefault(); all[to]?.focus(); }
  };
  return (
    <div class={"menu " + (more ?? "")} ref={root} onKeyDown={key}>
      <button type="button" class="menu-button" aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} title={name} onClick={() => setOpen(!open)}>{label}{typeof label !== "string" && <span class="sr-only">{name}</span>}</button>
      {open && (
        <div class={"menu-list" + (up ? " is-up" : "")} role="menu" id={id} aria-label={name}>
          {items.map((item) => item.heading
            ? <div key={item.heading} class="menu-heading" role="presentation">{item.heading}</div>
            : (
              <button key={item.label} type="button" tabIndex={-1} lang={item.lang} class={"menu-item" + (item.danger ? " is-danger" : "")}
                role={item.checked === undefined ? "menuitem" : "menuitemradio"} aria-checked={item.checked} onClick={() => { shut(); item.do?.(); }}>
                {item.label}{item.checked && <Icon name="check" />}
              </button>
            ))}
        </div>
      )}
    </div>
  );
}
