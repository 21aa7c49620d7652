/** A sign-in at a server. */
export interface SignIn { kind: string; by: string; scopes: string[]; since_at: string; used_at?: string }

/** A server at which people sign in. people: only for admins. */
export interface Connection { server: string; kind: string; identity: "shared" | "person"; sign_in?: SignIn; may_change: boolean; people?: number }

/** The sign-in of a person; without one everybody shares it. */
export interface PersonSignIn extends SignIn { person?: string }

/** A sign-in that the person goes on with at url. paste: the browser cannot return to legwork. */
export interface Begun { url: string; expires_at: string; paste: boolean }

export interface Ended { ended: number; revoked: number }
