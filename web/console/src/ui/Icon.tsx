// Paths in a square of 24, drawn as lines.
const paths: Record<string, string> = {
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.5l4.5 4.5L19 7.5",
  error: "M12 7.5v5.5M12 16.5v.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  warning: "M12 9.5v4M12 16.8v.01M10.6 4.2L2.9 17.5A1.6 1.6 0 0 0 4.3 20h15.4a1.6 1.6 0 0 0 1.4-2.5L13.4 4.2a1.6 1.6 0 0 0-2.8 0z",
  running: "M12 4a8 8 0 1 1-7.4 5",
  more: "M12 6v.01M12 12v.01M12 18v.01",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM20 20l-4.8-4.8",
  send: "M12 19V5M5.5 11.5L12 5l6.5 6.5",
  stop: "M7 7h10v10H7z",
  attach: "M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.7-8.7a3.4 3.4 0 0 1 4.8 4.8l-8.6 8.6a1.7 1.7 0 0 1-2.4-2.4l7.9-7.9",
  trash: "M5 7h14M10 11v6M14 11v6M6.5 7l.8 12.2h9.4L17.5 7M9.5 7V4h5v3",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  up: "M6 15l6-6 6 6", down: "M6 9l6 6 6-6", left: "M15 6l-6 6 6 6", right: "M9 6l6 6-6 6",
  link: "M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5.2l3.4 2",
  file: "M7 3h7l4 4v14H6V3zM14 3v5h4",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.6 2.6 0 1 1 3.6 2.5c-.7.3-1.1.8-1.1 1.6M12 16.6v.01",
  "cloud-off": "M4 4l16 16M8.5 8A5 5 0 0 0 7 17.5h10M19.5 16.5A4 4 0 0 0 17 10a5.6 5.6 0 0 0-4.5-3.5",
  filter: "M4 6h16M7 12h10M10 18h4",
  refresh: "M19.5 9A8 8 0 1 0 20 13M20 4v5h-5",
  play: "M8 5l11 7-11 7z", pause: "M8 5v14M16 5v14",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  // the pages
  chat: "M4 5h16v11H10l-4.5 4V16H4z",
  tasks: "M5 6h.01M5 12h.01M5 18h.01M9 6h11M9 12h11M9 18h11",
  inbox: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1 2.5h4l1-2.5h5",
  tools: "M14.5 6.5a4 4 0 0 0 5 5L11 20a2.5 2.5 0 0 1-3.5-3.5zM14.5 6.5L17 4",
  models: "M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4",
  usage: "M5 20V10M10 20V4M15 20v-8M20 20V7",
  schedules: "M5 6h14v14H5zM5 10h14M9 3v4M15 3v4",
  people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c.7-4 3-5.5 6.5-5.5s5.8 1.5 6.5 5.5M16 4.3a3.5 3.5 0 0 1 0 6.5M18 14.8c2 .7 3.2 2.4 3.6 5.2",
  audit: "M7 3h10v18l-2.5-1.6L12 21l-2.5-1.6L7 21zM10 8h4M10 12h4",
  health: "M3 12h4l2.5-6 4 12L16 12h5",
  config: "M4 7h9M19 7h1M4 17h1M11 17h9M16 4.5v5M8 14.5v5",
  sessions: "M4 5h16v11H4zM9 20h6M12 16v4",
};

/** A picture for the eye only: the text beside it, or the label of its button, says what it means. */
export function Icon({ name, size = 18 }: { name: string; size?: number }) {
  return <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true"><path d={paths[name] ?? paths.help} /></svg>;
}
