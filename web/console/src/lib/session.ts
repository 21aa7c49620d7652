import { useEffect, useState } from "preact/hooks";
import { call, Problem, whenSignedOut } from "./api";
import { reopenStreams } from "./events";

/** Who is signed in, and what the session may do. */
export interface Me {
  name: string;
  role: "viewer" | "operator" | "admin" | "person";
  /** The key of the person in chats, "telegram:123"; may be empty. */
  person: string;
  chats?: string[] | null;
  groups?: string[] | null;
  languages?: string;
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

/** Asks the server who is signed in. */
export async function loadSession(): Promise<void> {
  try {
    me = (await call<Me>("GET", "v1/session")).data;
    ended = false;
    failure = undefined;
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
  me = (await call<Me>("GET", "v1/session")).data;
  if (before && (before.person !== me.person || before.name !== me.name)) return location.reload();
  ended = false;
  failure = undefined;
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

/** Says that the session has ended: the page asks to sign in again, and keeps all drafts. */
export function sessionEnded() {
  if (!me || ended) return;
  ended = true;
  changed();
}

whenSignedOut(sessionEnded);
