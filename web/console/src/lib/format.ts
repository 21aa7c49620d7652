import { intl, type Language, language } from "./i18n";

const day = 86_400_000;

/** The time zone of this browser. */
export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const datesIn = (timeZone: string) => new Intl.DateTimeFormat("en-CA", { timeZone }); // "2026-01-31"
let zone = browserZone, dates = datesIn(zone);

/** Sets the time zone of all times. One that the browser does not know changes nothing. */
export function setZone(name: string) {
  try {
    dates = datesIn(name);
    zone = name;
  } catch { /* it stays */ }
}

/** The time zone of all times, if its clock is not that of this browser; otherwise empty. */
export function otherZone(): string {
  const clock = (timeZone: string) => times({ dateStyle: "short", timeStyle: "short", timeZone }).format();
  return clock(zone) === clock(browserZone) ? "" : zone;
}

const numbers = (options: Intl.NumberFormatOptions) => intl(Intl.NumberFormat, options);
export const times = (options: Intl.DateTimeFormatOptions) => intl(Intl.DateTimeFormat, options);

/** A time: "14:05" today, otherwise with the day. Takes RFC 3339 or milliseconds. */
export function time(at: string | number | undefined | null): string {
  if (!at) return "";
  const d = new Date(at), then = dates.format(d), now = dates.format();
  const options: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone };
  if (then !== now) Object.assign(options, { day: "numeric", month: "short" });
  if (then.slice(0, 4) !== now.slice(0, 4)) options.year = "numeric";
  return times(options).format(d);
}

/** A time with date, seconds and zone, for titles. */
export const fullTime = (at: string | number | undefined | null): string =>
  at ? times({ dateStyle: "full", timeStyle: "long", timeZone: zone }).format(new Date(at)) : "";

/** How long ago, or in what time: "5 minutes ago", "in 2 days". */
export function ago(at: string | number | undefined | null, now = Date.now()): string {
  if (!at) return "";
  const ms = new Date(at).getTime() - now, size = Math.abs(ms);
  const f = intl(Intl.RelativeTimeFormat, { numeric: "auto" });
  const units: [Intl.RelativeTimeFormatUnit, number][] = [["day", day], ["hour", 3_600_000], ["minute", 60_000]];
  for (const [unit, length] of units) {
    if (size >= length) return f.format(Math.round(ms / length), unit);
  }
  return f.format(Math.round(ms / 1000), "second");
}

const units: Record<Language, [day: string, hour: string, minute: string, second: string, millisecond: string]> = {
  en: ["d", "h", "min", "s", "ms"], ru: ["д", "ч", "мин", "с", "мс"], zh: ["天", "小时", "分", "秒", "毫秒"],
};

/** A duration in milliseconds, in the units of its size: "400 ms", "1.4 s", "3 min 5 s", "1 h 2 min". */
export function duration(ms: number | undefined | null): string {
  if (ms === undefined || ms === null) return "";
  const [d, h, min, sec, milli] = units[language()];
  if (ms < 1000) return `${Math.round(ms)} ${milli}`;
  if (ms < 10_000) return `${numbers({ minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(ms / 1000)} ${sec}`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} ${sec}`;
  if (s < 3600) return `${Math.floor(s / 60)} ${min} ${s % 60} ${sec}`;
  if (ms < day) return `${Math.floor(s / 3600)} ${h} ${Math.floor(s / 60) % 60} ${min}`;
  return `${Math.floor(ms / day)} ${d} ${Math.floor(s / 3600) % 24} ${h}`;
}

/** A duration in few characters, for narrow places: "12 s", "3:05", "1:02:03". */
export function clock(ms: number | undefined | null): string {
  if (ms === undefined || ms === null || ms < 60_000) return duration(ms);
  const s = Math.floor(ms / 1000), two = (n: number) => String(n).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** A count: "12,345". */
export const number = (n: number | undefined | null): string => numbers({}).format(n ?? 0);

/** A count in few characters: "12.3k". */
export const short = (n: number | undefined | null): string => numbers({ notation: "compact", maximumFractionDigits: 1 }).format(n ?? 0);

/** An amount of dollars: "$0.0123", "$12.30". */
export function money(usd: number | undefined | null): string {
  const n = usd ?? 0;
  return "$" + numbers({ minimumFractionDigits: 2, maximumFractionDigits: n !== 0 && Math.abs(n) < 1 ? 4 : 2 }).format(n);
}

/** A size in bytes: "12 kB", "3.4 MB". */
export function bytes(n: number | undefined | null): string {
  let size = n ?? 0;
  for (const unit of ["B", "kB", "MB"]) {
    if (size < 1000) return `${unit === "B" || size >= 10 ? Math.round(size) : size.toFixed(1)} ${unit}`;
    size /= 1000;
  }
  return `${size.toFixed(1)} GB`;
}
