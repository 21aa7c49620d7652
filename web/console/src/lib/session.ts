import { useEffect, useState } from "preact/hooks";
import { call, Problem, whenSignedOut } from "./api";
import { reopenStreams } from "./events";
import { setZone } from "./format";
import { speak } from "./i18n";

/** Who is signed in, and what the session may do. */
export interface Me {
  name: string;
  role: "viewer" | "operator" | "admin" | "person";
  /** The key of the person in chats, "telegram:123"; may be empty. */
  person: string;
  chats?: string[] | null;
  groups?: string[] | null;
  /** The language that the person has chosen, here or by /lang in a chat; may be empty. */
  language: string;
  /** The time zone of the times in texts of legwork: as /timezone sets it, or of the config. */
  timezone: string;
  /** The operations that the session may do: "read", "start", ... */
  can: string[];
  /** Whether the web chat is there. */
  chat: boolean;
  /** Whether the session may edit the config file. */
  config: boolean;
  session: { id: string; expires_at: string } | null;
  version: string;
}

/** undefined: not known yet; null: signed out before anything was shown. */
let me: Me | null | undefined;
/** The session has ended while the page was open. */
let ended = false;
let failure: Problem | undefined;
const watchers = new Set<() => void>();

function changed() { watchers.forEach((w) => w()); }

// The page has the language and the clock of the person, as the texts of legwork do.
async function become(who: Me) {
  setZone(who.timezone);
  await speak(who.language);
  me = who;
  ended = false;
  failure = undefined;
}

/** Changes a setting of the person, in the page and in chats, and draws the page anew. */
export async function prefer(setting: { language: string } | { timezone: string }): Promise<void> {
  await call("PATCH", "v1/session", { body: setting });
  location.reload();
}

/** Asks the server who is signed in. */
export async function loadSession(): Promise<void> {
  try {
    await become((await call<Me>("GET", "v1/session")).data);
  } catch (err) {
    if (err instanceof Problem && err.status === 401) me ??= null;
    else failure = err as Problem;
  }
  changed();
}

/** Signs in with {token} or {link}. Another person than before gets a fresh page. */
export async function signIn(body: { token: string } | { link: string }): Promise<void> {
  await call("POST", "v1/session", { body });
  const before = me;
  const who = (await call<Me>("GET", "v1/session")).data;
  if (before && (before.person !== who.person || before.name !== who.name)) return location.reload();
  await become(who);
  changed();
  reopenStreams();
}

/** Signs out and leaves the page. */
export async function signOut(): Promise<void> {
  await call("DELETE", "v1/session");
  location.reload();
}

export interface Session { me: Me | null | undefined; ended: boolean; failure?: Problem }

/** The session; the component is drawn again when it changes. */
export function useSession(): Session {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const w = () => setTurn((n) => n + 1);
    watchers.add(w);
    return () => void watchers.delete(w);
  }, []);
  return { me, ended, failure };
}

/** Who is signed in, in pages: they are shown only then. */
export const useMe = (): Me => useSession().me!;

/** Reports whether the session may do an operation. */
export const may = (op: string): boolean => !!me?.can?.includes(op);

let typed = -Infinity; // when a key was pressed last
addEventListener("keydown", () => { typed = performance.now(); }, true);

/** Says that the session has ended: the page asks to sign in again, and keeps all drafts.
 * It waits until the person pauses, so that nothing they type goes into another field. */
export function sessionEnded() {
  if (!me || ended) return;
  const rest = typed + 1000 - performance.now();
  if (rest > 0) return void setTimeout(sessionEnded, rest);
  ended = true;
  changed();
}

whenSignedOut(sessionEnded);
