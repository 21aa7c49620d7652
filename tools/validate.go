package tools

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/issue"
	"legwork/internal/nearest"
	"legwork/tools/builtin"
)

// nameRule is what servers and groups may be called: a plan names them and
// tool names are made of them.
const nameRule = "^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$"

// reserved is the name by which legwork's own tools are known.
const reserved = "legwork"

// Validate returns everything that is wrong, ordered by path; nothing when the
// config can be used.
func (c Config) Validate() issue.List {
	v := validator{cfg: c, name: regexp.MustCompile(nameRule)}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		v.server(name, c.Servers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		v.group(name, c.Groups[name])
	}
	v.unreachable()
	return v.issues
}

type validator struct {
	cfg    Config
	name   *regexp.Regexp
	issues issue.List
}

func (v *validator) add(path, format string, args ...any) {
	v.issues.Add(path, format, args...)
}

func (v *validator) server(name string, s ServerConfig) {
	at := "servers." + name
	switch {
	case strings.EqualFold(name, reserved):
		v.add(at, "%q is legwork itself and cannot be a server's name; choose another one", name)
	case !v.name.MatchString(name):
		v.add(at, "%q cannot be a server's name; allowed are up to 32 letters, digits, - and _", name)
	}
	remote := slices.Contains(remoteTypes(), s.Type)
	switch {
	case s.Type != "" && s.Type != "stdio" && !remote:
		v.add(at+".type", "%q is unknown; allowed are %s", s.Type, quoted(append([]string{"stdio"}, remoteTypes()...)))
	case s.Command != "" && s.Builtin != "":
		v.add(at+".builtin", "a server has command or builtin, not both")
	case s.URL != "" && (s.Command != "" || s.Builtin != ""):
		v.add(at+".url", "a server has command, url or builtin, and only one of them")
	case s.URL == "" && remote:
		v.add(at+".type", "a server of type %s needs a url", s.Type)
	case s.URL != "" && s.Type == "stdio":
		v.add(at+".type", "a server with a url is not of type stdio; allowed are %s", quoted(remoteTypes()))
	case s.Command == "" && s.Builtin == "" && s.URL == "":
		v.add(at, "command, url or builtin is missing; built-in servers are %s", quoted(builtin.Names()))
	case s.Builtin != "":
		v.builtin(at, s)
	case s.URL != "":
		v.remote(at, s)
	default:
		v.stdio(at, s)
	}
}

// unreachable finds servers that no group uses and that cannot be groups of
// their own because a group has their name.
func (v *validator) unreachable() {
	used := map[string]bool{}
	for _, g := range v.cfg.allGroups() {
		for _, s := range g.Servers {
			used[s] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.cfg.Servers)) {
		if !used[name] {
			v.add("servers."+name, "no group uses this server, and group %q has its name; list it under groups.%s.servers", name, name)
		}
	}
}

func (v *validator) group(name string, g GroupConfig) {
	at := "groups." + name
	switch {
	case name == "llm_tool":
		v.add(at, "llm_tool is the model itself and cannot be a group; choose another name")
	case !v.name.MatchString(name):
		v.add(at, "%q cannot be a group's name; allowed are up to 32 letters, digits, - and _", name)
	}
	known := slices.Sorted(maps.Keys(v.cfg.Servers))
	if len(g.Servers) == 0 && !slices.Contains(known, name) {
		v.add(at+".servers", "servers is missing; configured are %s", orNone(known))
	}
	for i, s := range g.Servers {
		p := fmt.Sprintf("%s.servers[%d]", at, i)
		if !slices.Contains(known, s) {
			perhaps := ""
			if near := nearest.Typo(s, known); near != "" {
				perhaps = fmt.Sprintf(", perhaps %q", near)
			}
			v.add(p, "no server is named %q%s; configured are %s", s, perhaps, orNone(known))
		} else if slices.Contains(g.Servers[:i], s) {
			v.add(p, "%q is listed twice", s)
		}
	}
	v.prompt(at+".prompt", g.Prompt, known)
	v.patterns(at+".tools", g.Tools)
	v.patterns(at+".read_only", g.ReadOnly)
	v.free(at+".free", g.Free)
	for i, where := range g.ActFor {
		if where != ActForSchedules && where != ActForOthers {
			v.add(fmt.Sprintf("%s.act_for[%d]", at, i), "%q is unknown; allowed are %s and %s", where, ActForSchedules, ActForOthers)
		}
	}
	if g.Files != "" && g.Files != FilesRead {
		v.add(at+".files", "%q is unknown; allowed is %s, or nothing", g.Files, FilesRead)
	}
	v.approve(at+".approve", g.Approve)
	v.sizes(at, g)
}

func (v *validator) approve(at string, a Approve) {
	if a.word() != "" {
		return
	}
	for i, p := range a {
		if p == ApproveNever || p == ApproveWrites || p == ApproveAlways {
			v.add(fmt.Sprintf("%s[%d]", at, i), "%q stands alone; a list holds patterns over tool names", p)
		}
	}
	// A misspelt "always" in a list would let everything run as well.
	if len(a) == 1 && nearApprove(a[0]) != "" {
		v.add(at, "%s", unknownApprove(a[0]))
		return
	}
	v.patterns(at, a)
}

// unknownApprove is what is wrong with a word that an Approve cannot be.
func unknownApprove(word string) string {
	perhaps := ""
	if near := nearApprove(word); near != "" {
		perhaps = fmt.Sprintf(", perhaps %q", near)
	}
	return fmt.Sprintf("%q is unknown%s; allowed are never, writes, always or a list of patterns (SERVER.TOOL for a tool of that name)", word, perhaps)
}

// nearApprove is the keyword that was probably meant, or "".
func nearApprove(word string) string {
	return nearest.Typo(word, []string{ApproveNever, ApproveWrites, ApproveAlways})
}

func (v *validator) patterns(at string, list []string) {
	for i, p := range list {
		_, err := path.Match(slashless(strings.TrimPrefix(p, "!")), "")
		if err != nil || strings.TrimPrefix(p, "!") == "" {
			v.add(fmt.Sprintf("%s[%d]", at, i), "%q is not a pattern; * stands for anything, ? for one character, a leading ! leaves out", p)
		}
	}
}

// free checks that each entry names a tool and a parameter.
func (v *validator) free(at string, list []string) {
	for i, entry := range list {
		tool, parameter := splitFree(entry)
		if tool == "" || parameter == "" {
			v.add(fmt.Sprintf("%s[%d]", at, i), "%q is not TOOL.PARAMETER, such as search.query", entry)
		} else if _, err := path.Match(slashless(tool), ""); err != nil {
			v.add(fmt.Sprintf("%s[%d]", at, i), "%q is not a pattern over tool names", tool)
		}
	}
}

func (v *validator) sizes(at string, g GroupConfig) {
	if g.ToolTimeout < 0 || (g.ToolTimeout > 0 && g.ToolTimeout < time.Millisecond) {
		v.add(at+".tool_timeout", "%v is too short; write a duration such as 60s", g.ToolTimeout)
	}
	if g.MaxResultBytes < 0 || g.MaxResultBytes > maxResultLimit {
		v.add(at+".max_result_bytes", "%d is out of range; allowed are 1 to %d", g.MaxResultBytes, maxResultLimit)
	}
	if kept := g.withDefaults("").MaxResultBytes; g.ShowResultBytes < 0 || g.ShowResultBytes > kept {
		v.add(at+".show_result_bytes", "%d is out of range; allowed are 1 to max_result_bytes (%d)", g.ShowResultBytes, kept)
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return quoted(names)
}

// remoteTypes are the types of servers with a url.
func remoteTypes() []string { return []string{"http", "streamable-http", "sse"} }

// misplaced reports keys that have no meaning for this kind of server.
func (v *validator) misplaced(at string, keys map[string]bool, where string) {
	v.forbid(at, keys, "is for servers with "+where)
}

// forbid reports the keys that are set although they have no meaning.
func (v *validator) forbid(at string, keys map[string]bool, problem string) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if keys[key] {
			v.add(at+"."+key, "%s", problem)
		}
	}
}

func (v *validator) builtin(at string, s ServerConfig) {
	if !slices.Contains(builtin.Names(), s.Builtin) {
		perhaps := ""
		if near := nearest.Typo(s.Builtin, builtin.Names()); near != "" {
			perhaps = fmt.Sprintf(", perhaps %q", near)
		}
		v.add(at+".builtin", "%q is unknown%s; allowed are %s", s.Builtin, perhaps, quoted(builtin.Names()))
		return
	}
	v.misplaced(at, map[string]bool{
		"type": s.Type != "", "args": len(s.Args) > 0, "env": len(s.Env) > 0, "cwd": s.Cwd != "", "protocol": s.Protocol != "", "sandbox": s.Sandbox != nil, "auth": s.Auth != nil,
		"headers": len(s.Headers) > 0, "roots": len(s.Roots) > 0, "sampling": s.Sampling, "trust_annotations": s.TrustAnnotations, "ask_secrets": s.AskSecrets,
		"hold_new_tools": s.HoldNewTools,
	}, "a command or a url")
	var option *builtin.OptionError
	if _, err := builtin.New(s.Builtin, s.Options, builtin.Env{}); errors.As(err, &option) && option.Key != "" {
		v.add(at+".options."+option.Key, "%s", option.Problem)
	} else if err != nil {
		v.add(at+".options", "%v", err)
	}
}

func (v *validator) stdio(at string, s ServerConfig) {
	v.misplaced(at, map[string]bool{"headers": len(s.Headers) > 0, "auth": s.Auth != nil}, "a url")
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(s.Env[key], "\x00") {
			v.add(at+".env."+key, "%q cannot be an environment variable", key)
		}
	}
	v.external(at, s)
}

// headerName is what RFC 9110 allows.
const headerName = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

// protocolHeaders are part of the protocol.
func protocolHeaders() []string {
	return []string{
		"accept", "connection", "content-length", "content-type", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id", "transfer-encoding",
	}
}

func (v *validator) remote(at string, s ServerConfig) {
	v.misplaced(at, map[string]bool{"args": len(s.Args) > 0, "env": len(s.Env) > 0, "cwd": s.Cwd != "", "sandbox": s.Sandbox != nil}, "a command")
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https") || strings.ContainsFunc(s.URL, unicode.IsControl) {
		v.add(at+".url", "is not the address of a server; allowed is one such as https://mcp.example.com/mcp")
	}
	if s.Auth != nil {
		v.auth(at, s)
	}
	name := regexp.MustCompile(headerName)
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		p := at + ".headers." + key
		switch {
		case !name.MatchString(key):
			v.add(p, "%q cannot be the name of a header", key)
		case slices.Contains(protocolHeaders(), strings.ToLower(key)):
			v.add(p, "%s belongs to the protocol and is set by legwork; remove it", key)
		case strings.ContainsFunc(s.Headers[key], func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
			v.add(p, "has a control character, such as a line break, in its value; remove it")
		}
	}
	v.external(at, s)
}

// external checks what all servers have in common that are not built in.
func (v *validator) external(at string, s ServerConfig) {
	v.misplaced(at, map[string]bool{"options": len(s.Options) > 0}, "builtin")
	if s.Protocol != "" && !mcp.IsValidProtocolVersion(s.Protocol) {
		v.add(at+".protocol", "%q is unknown; allowed are %s", s.Protocol, quoted(mcp.ValidProtocolVersions))
	}
	for i, root := range s.Roots {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			v.add(fmt.Sprintf("%s.roots[%d]", at, i), "there is no folder %q; make it, or name another one", root)
		}
	}
}

// prompt checks the name of a prompt; whether the server has it shows when the
// server runs.
func (v *validator) prompt(at, prompt string, known []string) {
	if prompt == "" {
		return
	}
	server, name, _ := strings.Cut(prompt, "/")
	switch {
	case server == "" || name == "":
		v.add(at, "%q is not the name of a prompt; allowed is SERVER/PROMPT", prompt)
	case !slices.Contains(known, server):
		v.add(at, "no server is named %q; configured are %s", server, orNone(known))
	case v.cfg.Servers[server].Builtin != "":
		v.add(at, "%q is a built-in server, and those have no prompts", server)
	}
}
