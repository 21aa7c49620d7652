import { useTexts } from "../lib/i18n";

/** A turning ring. page: in the middle of a page, announced to screen readers. */
export function Spinner({ page }: { page?: boolean }) {
  const t = useTexts();
  const ring = <span class="spinner" aria-hidden="true" />;
  return page ? <div class="spinner-page" role="status">{ring}<span class="sr-only">{t("loading")}</span></div> : ring;
}
