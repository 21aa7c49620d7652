import { useEffect, useRef } from "preact/hooks";

/** Calls f again and again while the page can be seen, and when it is seen again. */
export function useEvery(seconds: number, f: () => void) {
  const last = useRef(f);
  last.current = f;
  useEffect(() => {
    const look = () => { if (document.visibilityState === "visible") last.current(); };
    const timer = setInterval(look, seconds * 1000);
    document.addEventListener("visibilitychange", look);
    return () => { clearInterval(timer); document.removeEventListener("visibilitychange", look); };
  }, [seconds]);
}
