import { useEffect, useRef, useState } from "preact/hooks";
import { useTexts } from "../lib/i18n";
import { href, Link, useRoute } from "../lib/router";
import { useSession } from "../lib/session";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Empty } from "../ui/Empty";
import { Toasts } from "../ui/Toast";
import { Account } from "./Account";
import { Icon } from "../ui/Icon";
import { InboxCount } from "./InboxCount";
import { Lazy } from "./Lazy";
import { mayUse, nav, pageOf } from "./nav";
import { SignIn } from "./SignIn";

/** The frame of all pages: navigation at the left, at narrow windows behind a button. */
export function Shell() {
  const { me, ended, failure } = useSession();
  const { parts } = useRoute();
  const [open, setOpen] = useState(false);
  const t = useTexts();
  const page = pageOf(parts.length > 0 || !me ? parts : [nav(me)[0]?.[0] ?? "chat"]);
  const main = useRef<HTMLElement>(null);
  const shown = useRef(page);
  const section = parts[0] ?? page;
  useEffect(() => {
    setOpen(false);
    if (shown.current === page) return;
    shown.current = page;
    main.current?.focus({ preventScroll: true }); // a screen reader goes on at the new page
  }, [location.pathname]);

  const menu = useRef<HTMLElement>(null);
  useEffect(() => { if (open) menu.current?.querySelector("a")?.focus(); }, [open]);
  const close = (e: KeyboardEvent) => {
    if (!open || e.key !== "Escape") return;
    setOpen(false);
    document.querySelector<HTMLElement>(".topbar button")?.focus();
  };

  if (page === "enter") return <><Lazy page="enter" parts={parts.slice(1)} /><Toasts /></>;
  if (!me) {
    if (failure) return <Empty title={t("unreachable")} icon="cloud-off"><Button onClick={() => location.reload()}>{t("again")}</Button></Empty>;
    return <SignIn />;
  }
  const groups = nav(me);
  return (
    <div class={"shell" + (open ? " is-open" : "")} onKeyDown={close}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>{t("skip")}</a>
      <header class="topbar">
        <Button kind="plain" icon="menu" label={t("menu")} aria-expanded={open} onClick={() => setOpen(!open)} />
        <span class="topbar-title">{t(page in PAGES ? "nav." + section : "nopage")}</span>
      </header>
      <nav class="nav" aria-label={t("pages")} ref={menu}>
        <Link to={href()} class="brand"><img src={href("icon.svg")} alt="" width="24" height="24" />legwork</Link>
        <div class="nav-groups">
          {groups.map((group) => (
            <ul key={group[0]}>
              {group.map((name) => (
                <li key={name}>
                  <Link to={href(name)} class="nav-link" aria-current={section === name ? "page" : undefined} onClick={() => setOpen(false)}>
                    <Icon name={name} />{t("nav." + name)}{name === "inbox" && me.can.includes("decide") && <InboxCount />}
                  </Link>
                </li>
              ))}
            </ul>
          ))}
        </div>
        <Account me={me} />
      </nav>
      {open && <div class="scrim" onClick={() => setOpen(false)} />}
      <main id="main" class="main" tabIndex={0} ref={main}>
        {mayUse(me, page) ? <Lazy page={page} parts={parts[0] === page || page === "task" ? parts.slice(1) : parts} /> : <Empty title={t("notyours")} text={t("notyours.text")} icon="lock" />}
      </main>
      {ended && <Dialog title={t("ended.title")} onClose={() => {}} fixed><p>{t("ended.text")}</p><SignIn inside /></Dialog>}
      {page !== "chat" && <Toasts /> /* the chat has its own place for them */}
    </div>
  );
}
