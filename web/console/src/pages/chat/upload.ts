import { at } from "../../lib/base";
import { translate } from "../../lib/i18n";
import { sessionEnded } from "../../lib/session";
import { newKey, type ChatFile } from "./types";

/** A file on its way to the server. */
export interface Upload { key: string; name: string; done: number; file?: ChatFile; error?: string; stop: () => void }

/** Sends a file; changed is called at each step. XMLHttpRequest is used because fetch
 * does not report the progress of a body. */
export function upload(f: File, changed: () => void): Upload {
  const request = new XMLHttpRequest();
  const u: Upload = { key: newKey(), name: f.name || "file", done: 0, stop: () => request.abort() };
  const fail = (text: string) => { u.error = text; changed(); };
  request.open("POST", at("v1/files"));
  request.setRequestHeader("Accept", "application/json");
  request.upload.onprogress = (e) => { u.done = e.loaded / Math.max(e.total, 1); changed(); };
  request.onerror = () => fail(translate(["chat"], "upload.lost"));
  request.onload = () => {
    if (request.status === 401) sessionEnded();
    const reply = parse(request.responseText);
    if (request.status >= 300) return fail(String(reply.detail || reply.title || request.statusText));
    u.file = { id: String(reply.id), name: u.name, type: f.type, bytes: f.size };
    changed();
  };
  const body = new FormData();
  body.append("file", f, u.name);
  request.send(body);
  return u;
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
