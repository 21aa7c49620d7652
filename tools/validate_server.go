package tools

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"legwork/internal/nearest"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/builtin"
)

// remoteTypes are the types of servers with a url.
func remoteTypes() []string { return []string{"http", "streamable-http", "sse"} }

// misplaced reports keys that have no meaning for this kind of server.
func (v *validator) misplaced(at string, keys map[string]bool, where string) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if keys[key] {
			v.add(at+"."+key, "%s is for servers with %s", key, where)
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
		"type": s.Type != "", "args": len(s.Args) > 0, "env": len(s.Env) > 0, "cwd": s.Cwd != "", "protocol": s.Protocol != "",
		"headers": len(s.Headers) > 0, "roots": len(s.Roots) > 0, "sampling": s.Sampling, "trust_annotations": s.TrustAnnotations,
	}, "a command or a url")
	var option *builtin.OptionError
	if _, err := builtin.New(s.Builtin, s.Options, builtin.Env{}); errors.As(err, &option) && option.Key != "" {
		v.add(at+".options."+option.Key, "%s", option.Problem)
	} else if err != nil {
		v.add(at+".options", "%v", err)
	}
}

func (v *validator) stdio(at string, s ServerConfig) {
	v.misplaced(at, map[string]bool{"headers": len(s.Headers) > 0}, "a url")
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(s.Env[key], "\x00") {
			v.add(at+".env."+key, "%q cannot be an environment variable", key)
		}
	}
	v.foreign(at, s)
}

// headerName is what RFC 9110 allows.
const headerName = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

// ownHeaders are part of the protocol.
func ownHeaders() []string {
	return []string{
		"accept", "connection", "content-length", "content-type", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id", "transfer-encoding",
	}
}

func (v *validator) remote(at string, s ServerConfig) {
	v.misplaced(at, map[string]bool{"args": len(s.Args) > 0, "env": len(s.Env) > 0, "cwd": s.Cwd != ""}, "a command")
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https") || strings.ContainsFunc(s.URL, unicode.IsControl) {
		v.add(at+".url", "is not the address of a server; allowed is one such as https://mcp.example.com/mcp")
	}
	name := regexp.MustCompile(headerName)
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		p := at + ".headers." + key
		switch {
		case !name.MatchString(key):
			v.add(p, "%q cannot be the name of a header", key)
		case slices.Contains(ownHeaders(), strings.ToLower(key)):
			v.add(p, "%s belongs to the protocol and is set by legwork; remove it", key)
		case strings.ContainsFunc(s.Headers[key], func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
			v.add(p, "has a control character, such as a line break, in its value; remove it")
		}
	}
	v.foreign(at, s)
}

// foreign checks what all servers have in common that are not built in.
func (v *validator) foreign(at string, s ServerConfig) {
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
