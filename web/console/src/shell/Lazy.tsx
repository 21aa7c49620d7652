import type { FunctionComponent } from "preact";
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import { consoleURL } from "../lib/base";
import { loadTexts, TextNames, useTexts } from "../lib/i18n";
import { href, Link } from "../lib/router";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { Spinner } from "../ui/Spinner";

/** What each page gets: the parts of the address after its own name. */
export interface PageProps { parts: string[] }

type Page = FunctionComponent<PageProps>;

const styled = new Map<string, Promise<void>>();

function loadStyle(path: string): Promise<void> {
  const known = styled.get(path);
  if (!path || known) return known ?? Promise.resolve();
  const loading = new Promise<void>((done, fail) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(path, consoleURL).href;
    link.onload = () => done();
    link.onerror = () => { link.remove(); styled.delete(path); fail(new Error("loading " + path)); };
    document.head.append(link);
  });
  styled.set(path, loading);
  return loading;
}

async function load(name: string): Promise<Page> {
  const [module] = await Promise.all([import(`../pages/${name}/index.tsx`), loadStyle(PAGES[name]), loadTexts(name)]);
  return module.default;
}

/** Shows a page, and loads its script, style and texts first. */
export function Lazy({ page, parts }: { page: string; parts: string[] }) {
  const t = useTexts();
  const [state, setState] = useState<{ name: string; Page?: Page; failed?: boolean }>({ name: page });
  const [turn, setTurn] = useState(0);
  const known = page in PAGES;
  useEffect(() => {
    if (!known) return;
    let current = true;
    load(page).then(
      (Page) => current && setState({ name: page, Page }),
      (err) => { console.warn(err); if (current) setState({ name: page, failed: true }); },
    );
    return () => { current = false; };
  }, [page, turn]);
  if (!known) return <Empty title={t("nopage")} icon="help"><Link to={href()} class="button">{t("nopage.home")}</Link></Empty>;
  if (state.name !== page) return <Spinner page />;
  if (state.failed) return <Empty title={t("noload")} icon="cloud-off"><Button onClick={() => setTurn(turn + 1)}>{t("again")}</Button></Empty>;
  if (!state.Page) return <Spinner page />;
  return (
    <TextNames.Provider value={[page, "shell"]}>
      <Guard key={page}><state.Page parts={parts} /></Guard>
    </TextNames.Provider>
  );
}

/** Keeps the rest of the page alive when one page fails. */
class Guard extends Component<{ children: preact.ComponentChildren }, { error?: Error }> {
  static getDerivedStateFromError(error: Error) { return { error }; }
  componentDidCatch(error: Error) { console.error(error); }
  render() { return this.state.error ? <Broken error={this.state.error} again={() => this.setState({ error: undefined })} /> : this.props.children; }
}

function Broken({ error, again }: { error: Error; again: () => void }) {
  const t = useTexts();
  return <Empty title={t("broken")} icon="help" text={error.message}><Button onClick={again}>{t("again")}</Button></Empty>;
}
