import type { ComponentChildren } from "preact";
import { Problem } from "../lib/api";
import { useTexts } from "../lib/i18n";
import { Button } from "./Button";
import { Icon } from "./Icon";

/** Says that there is nothing to show, and what to do. */
export function Empty({ title, text, icon, children }: { title: string; text?: string; icon?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      {icon && <Icon name={icon} size={32} />}
      <p class="empty-title">{title}</p>
      {text && <p class="muted">{text}</p>}
      {children && <div class="row">{children}</div>}
    </div>
  );
}

/** Shows why something could not be loaded, and tries again. */
export function Failed({ error, again }: { error: Problem; again?: () => void }) {
  const t = useTexts();
  return (
    <div class="note is-bad" role="alert">
      <Icon name="warning" /><span class="grow">{error.status === 0 ? t("unreachable") : error.message}</span>
      {again && <Button small onClick={again}>{t("again")}</Button>}
    </div>
  );
}
