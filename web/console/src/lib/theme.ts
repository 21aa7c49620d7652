export type Theme = "auto" | "light" | "dark";
const stored = "legwork.theme";

export const theme = (): Theme => (localStorage.getItem(stored) as Theme | null) ?? "auto";

/** Sets light or dark, kept in this browser; auto follows the system. */
export function setTheme(t: Theme) {
  localStorage.setItem(stored, t);
  apply();
}

function apply() {
  if (theme() === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
}

apply();
addEventListener("storage", (e) => e.key === stored && apply());
