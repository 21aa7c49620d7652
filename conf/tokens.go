package conf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"legwork/internal/nearest"
)

// Token lets a program use the API. The token itself stands nowhere in the
// config, only its hash.
type Token struct {
	// Name tells tokens apart: in the audit log, in budgets as api:NAME, and to people.
	Name string `yaml:"name" jsonschema:"required,pattern=^[a-z0-9_-]{1\\,40}$"`
	// SHA256 is the SHA-256 of the token in hexadecimal, as "legwork token new" prints it.
	SHA256 string `yaml:"sha256" jsonschema:"required,pattern=^[0-9A-Fa-f]{64}$"`
	// Role is what it may do: a viewer reads; an operator also starts, steers, ends and decides; an admin also extends budgets and reads the audit log; an agent works on tasks of programs and never decides.
	Role string `yaml:"role" jsonschema:"required,enum=viewer,enum=operator,enum=admin,enum=agent"`
	// Chats are those whose tasks it may see and touch: keys such as "slack:C012AB3CD", "slack:*" for a whole platform, "api:*" for tasks that programs start, "*" for all; what it starts itself it sees in any case, with an empty list nothing else. Default: all; for agents api:*.
	Chats []string `yaml:"chats,omitempty"`
	// Groups of tools that its tasks may use; an empty list means none. Default: all.
	Groups []string `yaml:"groups,omitempty"`
	// Webhooks of alerts.webhooks that the outcome of what it starts can be sent to; "*" for all, an empty list for none. Default: all.
	Webhooks []string `yaml:"webhooks,omitempty"`
}

// The roles of tokens.
const (
	RoleViewer   = "viewer"
	RoleOperator = "operator"
	RoleAdmin    = "admin"
	RoleAgent    = "agent"
)

// Roles lists the roles of tokens, from the least to the most, agents last.
func Roles() []string { return []string{RoleViewer, RoleOperator, RoleAdmin, RoleAgent} }

// TokenPrefix begins every token that legwork makes, so that one is recognised
// where it does not belong.
const TokenPrefix = "lw_"

// HashToken is what the config holds of a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Visible are the chats of the token, the default filled in. Whoever may start a
// task sees it.
func (t Token) Visible() []string {
	switch {
	case t.Chats != nil && t.Role != RoleViewer:
		return append(slices.Clip(t.Chats), "api:"+t.Name)
	case t.Chats != nil:
		return t.Chats
	case t.Role == RoleAgent:
		return []string{"api:*"}
	}
	return []string{"*"}
}

// Notifies are the webhooks that the token may name, the default filled in.
func (t Token) Notifies() []string {
	if t.Webhooks == nil {
		return []string{"*"}
	}
	return t.Webhooks
}

var tokenName = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

// TokenProblem says why a text cannot name a token; empty when it can.
func TokenProblem(name string) string {
	if tokenName.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("%s is not a name; allowed: 1 to 40 of a-z, 0-9, - and _", shown(name))
}

// RoleProblem says why a text is no role of a token; empty when it is one.
func RoleProblem(role string) string {
	switch {
	case slices.Contains(Roles(), role):
		return ""
	case role == "":
		return "is missing; allowed: " + strings.Join(Roles(), ", ")
	}
	return fmt.Sprintf("unknown role %s; allowed: %s", shown(role), strings.Join(Roles(), ", "))
}

// ownTokens lists the mistakes in http.tokens.
func (c *Config) ownTokens(l *issues) {
	groups, webhooks := c.GroupNames(), slices.Sorted(maps.Keys(c.Alerts.Webhooks))
	named, hashed := map[string]int{}, map[string]int{}
	for i, t := range c.HTTP.Tokens {
		path := fmt.Sprintf("http.tokens[%d]", i)
		l.unless(path+".name", TokenProblem(t.Name))
		if first, twice := named[t.Name]; twice {
			l.add(path+".name", "%s is the name of tokens[%d], too; each needs its own", shown(t.Name), first)
		}
		l.unless(path+".sha256", hashProblem(t.SHA256))
		hash := strings.ToLower(t.SHA256)
		if first, twice := hashed[hash]; twice && hash != "" {
			l.add(path+".sha256", "is the hash of tokens[%d], too; each needs a token of its own", first)
		}
		named[t.Name], hashed[hash] = i, i
		l.unless(path+".role", RoleProblem(t.Role))
		if t.Chats != nil && len(t.Chats) == 0 && t.Role == RoleViewer {
			l.add(path+".chats", "names no chat, so that the token sees nothing; leave it out for all of them")
		}
		for j, chat := range t.Chats {
			l.unless(fmt.Sprintf("%s.chats[%d]", path, j), VisibleProblem(chat))
		}
		for j, group := range t.Groups {
			l.known(fmt.Sprintf("%s.groups[%d]", path, j), "group", group, groups)
		}
		for j, webhook := range t.Webhooks {
			if webhook != "*" {
				l.known(fmt.Sprintf("%s.webhooks[%d]", path, j), "webhook", webhook, webhooks)
			}
		}
	}
}

// unless adds a problem, when there is one.
func (l *issues) unless(path, problem string) {
	if problem != "" {
		l.add(path, "%s", problem)
	}
}

// hashProblem says why a text is no hash of a token. It never shows the text,
// which may be a token.
func hashProblem(hash string) string {
	const how = `"legwork token new" makes a token and prints this`
	_, err := hex.DecodeString(hash)
	switch {
	case hash == "":
		return "is missing; " + how
	case err == nil && len(hash) == 2*sha256.Size && strings.EqualFold(hash, HashToken("")):
		return "is the hash of nothing; " + how
	case err == nil && len(hash) == 2*sha256.Size:
		return ""
	case strings.HasPrefix(hash, TokenPrefix):
		return "is a token itself, which must not stand in a file; write its hash, which is " + HashToken(hash) + ", or take another token if others may have read the file"
	case err == nil:
		return fmt.Sprintf("has %d hexadecimal digits; allowed: the 64 of a SHA-256; %s", len(hash), how)
	case strings.ContainsFunc(hash, unicode.IsSpace):
		return "holds a space; allowed: the 64 hexadecimal digits of a SHA-256; " + how
	}
	return "is no hash; allowed: the SHA-256 of the token in 64 hexadecimal digits, never the token itself; " + how
}

// VisibleProblem says why a text does not name chats as a token may see them.
func VisibleProblem(chat string) string {
	const allowed = `allowed: "*", PLATFORM:* such as api:* or slack:*, and PLATFORM:ID of one chat, such as telegram:12345, slack:C012AB3CD or api:NAME`
	platform, id, found := strings.Cut(chat, ":")
	switch {
	case chat == "*":
		return ""
	case found && !slices.Contains(platforms(), platform):
		return fmt.Sprintf("unknown platform %s, the nearest known one is %s; %s", shown(platform), nearest.Of(platform, platforms()), allowed)
	case found && id == "*", found && !strings.Contains(id, "/") && chatKeyProblem(chat) == "":
		return ""
	case found && strings.Contains(id, "/"):
		room, _, _ := strings.Cut(chat, "/")
		return fmt.Sprintf("%s names a thread, but a token sees whole chats; write %s", shown(chat), shown(room))
	}
	return fmt.Sprintf("%s does not name chats; %s", shown(chat), allowed)
}

// weakTokens warns of hashes of words that anybody would try.
func (d *decoder) weakTokens(c *Config) {
	for i, t := range c.HTTP.Tokens {
		for _, word := range []string{t.Name, "legwork", "token", "secret", "admin", "test", "changeme", "password", "letmein", "123456"} {
			if !strings.EqualFold(t.SHA256, HashToken(word)) && !strings.EqualFold(t.SHA256, HashToken(word+"\n")) {
				continue
			}
			d.warn(c, fmt.Sprintf("http.tokens[%d].sha256", i), `is the hash of a word that anybody would try; "legwork token new" makes a token that nobody can guess`)
			break
		}
	}
	if host, _ := listenProblem(c.HTTP.Listen); c.HTTP.Listen != "" && !loopback(host) {
		d.warn(c, "http.listen", "is open to other machines, and tokens cross the network readable; let a proxy that speaks TLS listen there (docs/security.md), and legwork on %s", DefaultListen)
	}
}

// idleAllows warns of tokens that groups allow and that there are not. It is no
// mistake: the line of a token that is taken back must be enough.
func (d *decoder) idleAllows(c *Config) {
	roles := map[string]string{}
	for _, t := range c.HTTP.Tokens {
		roles[t.Name] = t.Role
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Groups)) {
		for i, who := range c.Tools.Groups[name].Allow {
			platform, token, _ := strings.Cut(who, ":")
			if platform != "api" && platform != "agent" {
				continue
			}
			right := "api"
			if roles[token] == RoleAgent {
				right = "agent"
			}
			key := fmt.Sprintf("groups.%s.allow[%d]", name, i)
			switch {
			case roles[token] == "":
				d.warn(c, key, "no token of http.tokens has the name %s, so %s lets nobody in", shown(token), shown(who))
			case platform != right:
				d.warn(c, key, "%s lets nobody in, since the token has the role %s; write %s:%s", shown(who), roles[token], right, token)
			}
		}
	}
}

// warn notes an oddity at the place of its key.
func (d *decoder) warn(c *Config, key, format string, values ...any) {
	at := d.places[key]
	c.warnings = append(c.warnings, Error{File: d.file, Line: at.line, Column: at.column, Key: key, Problem: fmt.Sprintf(format, values...)})
}
