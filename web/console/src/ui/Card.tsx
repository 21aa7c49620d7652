import type { ComponentChildren } from "preact";
import { useTitle } from "../lib/title";

/** A framed part of a page. actions stand at the right of the title. */
export function Card({ title, actions, children, class: more, level = 2 }: { title?: ComponentChildren; actions?: ComponentChildren; children?: ComponentChildren; class?: string; level?: 2 | 3 }) {
  const Heading = `h${level}` as "h2";
  return (
    <section class={"card " + (more ?? "")}>
      {(title || actions) && <header class="card-head">{title && <Heading>{title}</Heading>}<div class="row">{actions}</div></header>}
      {children}
    </section>
  );
}

/** The head of a page: its title, which the tab has too, a sentence about it, and actions. */
export function PageHead({ title, lead, children }: { title: string; lead?: ComponentChildren; children?: ComponentChildren }) {
  useTitle(title);
  return (
    <header class="page-head">
      <div class="grow"><h1>{title}</h1>{lead && <p class="muted">{lead}</p>}</div>
      {children && <div class="row">{children}</div>}
    </header>
  );
}

/** One figure with its label. */
export function Figure({ label, value, note }: { label: string; value: ComponentChildren; note?: ComponentChildren }) {
  return <div class="figure"><span class="figure-label">{label}</span><strong class="figure-value">{value}</strong>{note && <span class="faint">{note}</span>}</div>;
}
