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

	"legwork/internal/loopback"
	"legwork/internal/nearest"
)

// Token lets a program use the API. The config holds only the hash of the token.
type Token struct {
	// Name of the token in the audit log, in budgets as api:NAME, and for people.
	Name string `yaml:"name" jsonschema:"required,pattern=^[a-z0-9_-]{1\\,40}$"`
	// SHA256 is the SHA-256 of the token in hexadecimal, as "legwork token new" prints it.
	SHA256 string `yaml:"sha256" jsonschema:"required,pattern=^[0-9A-Fa-f]{64}$"`
	// Role sets what the token may do: a viewer reads; an operator also starts, steers and stops tasks and approves calls; an admin also extends budgets and reads the audit log; an agent works on tasks of programs and never approves calls.
	Role string `yaml:"role" jsonschema:"required,enum=viewer,enum=operator,enum=admin,enum=agent"`
	// Chats whose tasks the token may see and change: keys such as "slack:C012AB3CD", "slack:*" for a whole platform, "api:*" for tasks that programs start, "*" for all. It always sees the tasks that it starts itself; with an empty list only those. Default: all; for agents its own tasks.
	Chats []string `yaml:"chats,omitempty"`
	// Groups of tools that its tasks may use; an empty list means none. Default: all.
	Groups []string `yaml:"groups,omitempty"`
	// Webhooks of alerts.webhooks that may get the outcome of its tasks; "*" for all, an empty list for none. Default: all.
	Webhooks []string `yaml:"webhooks,omitempty"`
}

// The roles of tokens.
const (
	RoleViewer   = "viewer"
	RoleOperator = "operator"
	RoleAdmin    = "admin"
	RoleAgent    = "agent"
)

// Roles lists the roles of tokens from the fewest rights to the most, agents last.
func Roles() []string { return []string{RoleViewer, RoleOperator, RoleAdmin, RoleAgent} }

// TokenPrefix begins every token that legwork makes, so that a token in the wrong
// place is recognised.
const TokenPrefix = "lw_"

// HashToken is the hash of a token for the config.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Visible returns the chats of the token with the default filled in. A token that
// may start tasks sees its own.
func (t Token) Visible() []string {
	switch {
	case t.Chats != nil && t.Role != RoleViewer:
		return append(slices.Clip(t.Chats), "api:"+t.Name)
	case t.Chats != nil:
		return t.Chats
	case t.Role == RoleAgent:
		return []string{"api:" + t.Name}
	}
	return []string{"*"}
}

// Notifies returns the webhooks that the token may name, with the default filled in.
func (t Token) Notifies() []string {
	if t.Webhooks == nil {
		return []string{"*"}
	}
	return t.Webhooks
}

var tokenName = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

// TokenProblem says why a text cannot name a token. It is empty when it can.
func TokenProblem(name string) string {
	if tokenName.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("%s is not a name; allowed: 1 to 40 of a-z, 0-9, - and _", shown(name))
}

// RoleProblem says why a text is not a role. It is empty when it is one.
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
		l.Unless(path+".name", TokenProblem(t.Name))
		if first, twice := named[t.Name]; twice {
			l.Add(path+".name", "%s is the name of tokens[%d] too; each token needs its own", shown(t.Name), first)
		}
		l.Unless(path+".sha256", hashProblem(t.SHA256))
		hash := strings.ToLower(t.SHA256)
		if first, twice := hashed[hash]; twice && hash != "" {
			l.Add(path+".sha256", "is the hash of tokens[%d] too; each entry needs its own token", first)
		}
		named[t.Name], hashed[hash] = i, i
		l.Unless(path+".role", RoleProblem(t.Role))
		if t.Chats != nil && len(t.Chats) == 0 && t.Role == RoleViewer {
			l.Add(path+".chats", "is empty, so that the token sees nothing; leave it out for all chats")
		}
		for j, chat := range t.Chats {
			l.Unless(fmt.Sprintf("%s.chats[%d]", path, j), VisibleProblem(chat))
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

// hashProblem says why a text is not the hash of a token. It never shows the text,
// which may be a token.
func hashProblem(hash string) string {
	const how = `"legwork token new" makes a token and prints this`
	_, err := hex.DecodeString(hash)
	switch {
	case hash == "":
		return "is missing; " + how
	case err == nil && len(hash) == 2*sha256.Size && strings.EqualFold(hash, HashToken("")):
		return "is the hash of an empty text; " + how
	case err == nil && len(hash) == 2*sha256.Size:
		return ""
	case strings.HasPrefix(hash, TokenPrefix):
		return "is the token itself; write its hash instead: " + HashToken(hash) + ", or make another token if others may have read the file"
	case err == nil:
		return fmt.Sprintf("has %d hexadecimal digits; a SHA-256 has 64; %s", len(hash), how)
	case strings.ContainsFunc(hash, unicode.IsSpace):
		return "contains a space; allowed: the 64 hexadecimal digits of a SHA-256; " + how
	}
	return "is not a hash; allowed: the SHA-256 of the token in 64 hexadecimal digits, never the token itself; " + how
}

// VisibleProblem says why a text is not an entry of a token's chats.
func VisibleProblem(chat string) string {
	const allowed = `allowed: "*", PLATFORM:* such as api:* or slack:*, and PLATFORM:ID of one chat, such as telegram:12345, slack:C012AB3CD or api:NAME`
	platform, id, found := strings.Cut(chat, ":")
	switch {
	case chat == "*":
		return ""
	case found && !slices.Contains(platforms(), platform):
		return fmt.Sprintf("unknown platform %s%s; %s", shown(platform), nearest.Hint(platform, platforms()), allowed)
	case found && id == "*", found && !strings.Contains(id, "/") && chatKeyProblem(chat) == "":
		return ""
	case found && strings.Contains(id, "/"):
		room, _, _ := strings.Cut(chat, "/")
		return fmt.Sprintf("%s names a thread, but a token sees whole chats; write %s", shown(chat), shown(room))
	}
	return fmt.Sprintf("%s does not name chats; %s", shown(chat), allowed)
}

// weakTokens warns about hashes of words that are easy to guess.
func (d *decoder) weakTokens(c *Config) {
	for i, t := range c.HTTP.Tokens {
		for _, word := range []string{t.Name, "legwork", "token", "secret", "admin", "test", "changeme", "password", "letmein", "123456"} {
			if !strings.EqualFold(t.SHA256, HashToken(word)) && !strings.EqualFold(t.SHA256, HashToken(word+"\n")) {
				continue
			}
			d.warn(c, fmt.Sprintf("http.tokens[%d].sha256", i), `is the hash of a word that is easy to guess; "legwork token new" makes a safe token`)
			break
		}
	}
	if host, _ := listenProblem(c.HTTP.Listen); c.HTTP.Listen != "" && !loopback.Host(host) {
		d.warn(c, "http.listen", "is open to other machines, and tokens are sent without encryption; put a TLS proxy in front (docs/security.md), and let legwork listen on %s", DefaultListen)
	}
}

// idleAllows warns about groups that allow a missing token. It is not a mistake, so
// that removing the token's line is enough.
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
				d.warn(c, key, "http.tokens has no token named %s, so %s matches no caller", shown(token), shown(who))
			case platform != right:
				d.warn(c, key, "%s matches no caller, because the token has the role %s; write %s:%s", shown(who), roles[token], right, token)
			}
		}
	}
}

// warn adds a warning at the place of its key.
func (d *decoder) warn(c *Config, key, format string, values ...any) {
	c.warnings = append(c.warnings, errorOf(d.places, d.file, key, fmt.Sprintf(format, values...)))
}
