import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

let ids = 0;
/** An id that is unique in the page. */
export function useId(): string {
  const [id] = useState(() => "id" + ++ids);
  return id;
}

export interface ControlProps { id: string; class: string; "aria-describedby"?: string; "aria-invalid"?: boolean; required?: boolean }

/** A label with its control, a hint and an error. The child gets the attributes that
 * bind them: {(p) => <input {...p} type="text" />}. */
export function Field({ label, hint, error, required, children }: {
  label: ComponentChildren; hint?: ComponentChildren; error?: string; required?: boolean; children: (p: ControlProps) => ComponentChildren;
}) {
  const id = useId();
  const about = [hint && id + "-hint", error && id + "-error"].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}{required && <span class="required" aria-hidden="true"> *</span>}</label>
      {children({ id, class: "input", "aria-describedby": about || undefined, "aria-invalid": error ? true : undefined, required })}
      {hint && <div id={id + "-hint"} class="hint">{hint}</div>}
      {error && <div id={id + "-error"} class="field-error" role="alert">{error}</div>}
    </div>
  );
}

/** A checkbox with its label. */
export function Check({ label, checked, onChange, disabled }: { label: ComponentChildren; checked: boolean; onChange: (on: boolean) => void; disabled?: boolean }) {
  return <label class="check"><input type="checkbox" checked={checked} disabled={disabled} onChange={(e) => onChange(e.currentTarget.checked)} />{label}</label>;
}

/** A choice of one among few. options: value and label. */
export function Select({ value, options, onChange, label, ...rest }: { value: string; options: [string, string][]; onChange: (v: string) => void; label?: string } & Partial<ControlProps>) {
  return (
    <select class="input" {...rest} aria-label={label} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
      {options.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
    </select>
  );
}
