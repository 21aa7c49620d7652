import { useEffect } from "preact/hooks";

/** Gives the tab a title as long as the component is shown. */
export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${title} – legwork`;
    return () => { document.title = "legwork"; };
  }, [title]);
}
