import type { ComponentChildren, JSX } from "preact";
import { Icon } from "./Icon";
import { Spinner } from "./Spinner";

export type ButtonProps = {
  /** "plain" has no border; the default is quiet. */
  kind?: "primary" | "danger" | "plain";
  icon?: string;
  /** The accessible name of a button that shows an icon only. */
  label?: string;
  busy?: boolean;
  small?: boolean;
  wide?: boolean;
  children?: ComponentChildren;
} & Omit<JSX.IntrinsicElements["button"], "label" | "icon">;

export function Button({ kind, icon, label, busy, small, wide, children, class: more, type = "button", disabled, ...rest }: ButtonProps) {
  const name = ["button", kind && "is-" + kind, small && "is-small", wide && "is-wide", !children && "is-icon", more].filter(Boolean).join(" ");
  return (
    <button {...rest} type={type} class={name} aria-label={label} title={label} disabled={disabled} aria-busy={busy || undefined}
      onClick={busy ? (e) => e.preventDefault() : rest.onClick}>
      {busy ? <Spinner /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
