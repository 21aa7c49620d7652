import { useState } from "preact/hooks";
import { useTexts } from "../../lib/i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Field, Select } from "../../ui/Field";
import { namesUnder } from "./yaml";

const kinds = ["http", "stdio", "builtin"] as const;
const builtins = ["web", "search", "files", "memory", "clock", "math"];

/** Asks for the kind of an MCP server, and makes a block for it with comments. */
export function AddServer({ text, onClose, onAdd }: { text: string; onClose: () => void; onAdd: (block: string) => void }) {
  const t = useTexts();
  const [kind, setKind] = useState<string>("http");
  const [name, setName] = useState("");
  const [target, setTarget] = useState("");
  const [tried, setTried] = useState(false);
  const builtin = target || builtins[0];
  const wanted = name.trim() || (kind === "builtin" ? builtin : "");
  const wrong = !/^[A-Za-z0-9_-]{1,32}$/.test(wanted) ? t("add.name.wrong") : namesUnder(text, "servers").includes(wanted) ? t("add.name.taken") : "";
  const missing = kind === "http" && !/^https?:\/\/\S+$/.test(target.trim()) ? t("add.url.wrong") : kind === "stdio" && target.trim() === "" ? t("add.command.wrong") : "";
  const add = (e: Event) => {
    e.preventDefault();
    setTried(true);
    if (!wrong && !missing) onAdd(block(t, kind, wanted, kind === "builtin" ? builtin : target.trim()));
  };
  return (
    <Dialog title={t("add")} onClose={onClose} actions={<><Button onClick={onClose}>{t("cancel")}</Button><Button kind="primary" type="submit" form="add-server">{t("add.do")}</Button></>}>
      <form id="add-server" class="stack" noValidate onSubmit={add}>
        <p class="muted">{t("add.lead")}</p>
        <Field label={t("add.kind")}>{(p) => <Select {...p} value={kind} onChange={(k) => { setKind(k); setTarget(""); setTried(false); }} options={kinds.map((k) => [k, t("add." + k)])} />}</Field>
        {kind === "http" && <Field label={t("add.url")} error={tried ? missing : ""}>{(p) => <input {...p} type="url" placeholder="https://mcp.example.com/mcp" value={target} onInput={(e) => setTarget(e.currentTarget.value)} />}</Field>}
        {kind === "stdio" && <Field label={t("add.command")} hint={t("add.command.hint")} error={tried ? missing : ""}>{(p) => <input {...p} type="text" class="input mono" spellcheck={false} placeholder="npx -y @modelcontextprotocol/server-everything" value={target} onInput={(e) => setTarget(e.currentTarget.value)} />}</Field>}
        {kind === "builtin" && <Field label={t("add.which")}>{(p) => <Select {...p} value={builtin} onChange={setTarget} options={builtins.map((b) => [b, t("builtin." + b)])} />}</Field>}
        <Field label={t("add.name")} hint={t("add.name.hint")} error={tried ? wrong : ""}>{(p) => <input {...p} type="text" spellcheck={false} placeholder={kind === "builtin" ? builtin : "tickets"} value={name} onInput={(e) => setName(e.currentTarget.value)} />}</Field>
      </form>
    </Dialog>
  );
}

const scalar = (text: string) => (/^-{0,2}[A-Za-z_./][\w./@-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|\.+)$/i.test(text) ? text : JSON.stringify(text));

function block(t: (key: string) => string, kind: string, name: string, target: string): string {
  const lines = [`  # ${t("block." + kind)}`, `  ${name}:`];
  if (kind === "http") {
    lines.push(`    url: ${scalar(target)}`, `    # ${t("block.headers")}`, `    # headers: {Authorization: "Bearer \${${name.toUpperCase().replaceAll("-", "_")}_TOKEN}"}`);
  } else if (kind === "stdio") {
    const [command, ...args] = words(target);
    lines.push(`    command: ${scalar(command)}`);
    if (args.length > 0) lines.push(`    args: [${args.map(scalar).join(", ")}]`);
    lines.push(`    # ${t("block.env")}`, `    # env: {API_KEY: "\${${name.toUpperCase().replaceAll("-", "_")}_API_KEY}"}`);
  } else {
    lines.push(`    builtin: ${target}`);
    if (target === "search") lines.push(`    # ${t("block.search")}`, `    options: {url: "https://searx.example.com/search"}`);
    if (target === "files") lines.push(`    # ${t("block.files")}`, `    options: {root: "workspace/{chat}", write: false}`);
  }
  return lines.join("\n");
}

// words splits a command line; quotes keep spaces together.
const words = (line: string): string[] => [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3]);
