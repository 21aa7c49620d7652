package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/tools/client"
)

// Config names the MCP servers and the groups that work is assigned to. The
// zero value is valid: no tools.
type Config struct {
	Servers map[string]ServerConfig `yaml:"servers" json:"servers,omitempty"` // by name: letters, digits, "-" and "_"
	Groups  map[string]GroupConfig  `yaml:"groups" json:"groups,omitempty"`   // by name; a server in no group is a group of its own
}

// ServerConfig is one MCP server: a command that speaks MCP on its standard
// input and output, a remote one, or a built-in one.
type ServerConfig struct {
	Type             string            `yaml:"type" json:"type,omitempty"`                           // stdio, http, streamable-http (the same) or sse; empty: follows from the other keys
	Command          string            `yaml:"command" json:"command,omitempty"`                     // program to start; looked up in PATH
	Args             []string          `yaml:"args" json:"args,omitempty"`                           // its arguments
	Env              map[string]string `yaml:"env" json:"env,omitempty"`                             // added to the few variables that it inherits (see EnvAllowed)
	Cwd              string            `yaml:"cwd" json:"cwd,omitempty"`                             // working directory; empty: that of legwork
	Sandbox          *client.Sandbox   `yaml:"sandbox" json:"sandbox,omitempty"`                     // the folders that the command may use, on Linux; absent: all that legwork's user may
	URL              string            `yaml:"url" json:"url,omitempty"`                             // address of a remote server
	Headers          map[string]string `yaml:"headers" json:"headers,omitempty"`                     // sent to a remote server
	Auth             *Auth             `yaml:"auth" json:"auth,omitempty"`                           // how legwork signs in at a remote server; absent: its headers suffice
	Protocol         string            `yaml:"protocol" json:"protocol,omitempty"`                   // MCP revision such as 2025-11-25; empty: found out
	TrustAnnotations bool              `yaml:"trust_annotations" json:"trust_annotations,omitempty"` // believe the server's own readOnlyHint and idempotentHint, and what it says of itself where its group has no description
	Public           bool              `yaml:"public" json:"public,omitempty"`                       // everybody may read its results; else a task that has read them sends nothing on without a question
	OpenWorld        *bool             `yaml:"open_world" json:"open_world,omitempty"`               // false: its tools carry nothing out of this service; true or unset: they may
	Roots            []string          `yaml:"roots" json:"roots,omitempty"`                         // folders that it learns when it asks; none: it gets none
	Sampling         bool              `yaml:"sampling" json:"sampling,omitempty"`                   // it may ask for calls of a model, within the task's budget
	AskSecrets       bool              `yaml:"ask_secrets" json:"ask_secrets,omitempty"`             // its forms may ask people for passwords, keys and codes
	HoldNewTools     bool              `yaml:"hold_new_tools" json:"hold_new_tools,omitempty"`       // its new tools wait until an admin accepts them; false: they are used at once
	Builtin          string            `yaml:"builtin" json:"builtin,omitempty"`                     // name of a built-in server instead of a command
	Options          map[string]any    `yaml:"options" json:"options,omitempty"`                     // options of the built-in server
}

// Open lists the servers whose command may use all files of legwork's user.
func (c Config) Open() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if s := c.Servers[name]; s.Command != "" && s.Sandbox == nil {
			names = append(names, name)
		}
	}
	return names
}

// GroupConfig is what the planner can assign work to: tools of some servers
// and the rules of their use.
type GroupConfig struct {
	Description     string        `yaml:"description" json:"description,omitempty"`             // the planner chooses by this sentence; empty: what trusted servers say of themselves, and the names of the tools of others
	Servers         []string      `yaml:"servers" json:"servers,omitempty"`                     // names of servers; empty: the server named like the group
	Tools           []string      `yaml:"tools" json:"tools,omitempty"`                         // patterns over tool names; "!x" leaves x out; empty: all
	Approve         Approve       `yaml:"approve" json:"approve,omitempty"`                     // never, writes (default), always, or patterns of the tools that need approval
	ReadOnly        []string      `yaml:"read_only" json:"read_only,omitempty"`                 // patterns of tools that are known to change nothing
	Free            []string      `yaml:"free" json:"free,omitempty"`                           // TOOL.PARAMETER: parameters that may carry private data out without a question
	ActFor          []string      `yaml:"act_for" json:"act_for,omitempty"`                     // schedules, others: where its calls may use the asker's sign-in at a server without asking; empty: nowhere
	Files           string        `yaml:"files" json:"files,omitempty"`                         // read: its tools may be given files of the task; empty: none
	Instructions    string        `yaml:"instructions" json:"instructions,omitempty"`           // added to the prompts of its sub-tasks
	Prompt          string        `yaml:"prompt" json:"prompt,omitempty"`                       // SERVER/PROMPT: a server's prompt whose text is added to them, too
	Model           string        `yaml:"model" json:"model,omitempty"`                         // model for its sub-tasks; empty: that of the role work
	Allow           []string      `yaml:"allow" json:"allow,omitempty"`                         // its users, as platform:user or platform:chat; empty or "*": everybody
	ToolTimeout     time.Duration `yaml:"tool_timeout" json:"tool_timeout,omitempty"`           // for one call; 0: DefaultToolTimeout
	MaxResultBytes  int           `yaml:"max_result_bytes" json:"max_result_bytes,omitempty"`   // kept of one result; 0: DefaultMaxResultBytes
	ShowResultBytes int           `yaml:"show_result_bytes" json:"show_result_bytes,omitempty"` // shown to the model at first; 0: DefaultShowResultBytes
}

// Approve says which tools of a group need a person's approval: one of the
// words never, writes and always, or patterns over tool names. Empty is writes.
// In YAML it is a string or a list of strings.
type Approve []string

// The words an Approve can be.
const (
	ApproveNever  = "never"
	ApproveWrites = "writes"
	ApproveAlways = "always"
)

// The words of GroupConfig.ActFor.
const (
	ActForSchedules = "schedules" // tasks of a schedule that the person made
	ActForOthers    = "others"    // tasks of the person that somebody else has guided
)

// What a zero value in a GroupConfig means.
const (
	DefaultToolTimeout     = 60 * time.Second
	DefaultMaxResultBytes  = 1 << 20
	DefaultShowResultBytes = 16 << 10
)

// maxResultLimit is the most that max_result_bytes may be: every call in
// flight can hold that much in memory.
const maxResultLimit = 64 << 20

// UnmarshalYAML takes a word, a list of patterns, or a pattern by itself when it
// has a wildcard or a dot. Any other word, such as true or ask, would be a
// pattern that fits no tool, and let everything run.
func (a *Approve) UnmarshalYAML(decode func(any) error) error {
	var one string
	if err := decode(&one); err == nil {
		*a = Approve{one}
		if one != "" && a.word() == "" && !strings.ContainsAny(one, "*?[.") {
			return errors.New(unknownApprove(one))
		}
		return nil
	}
	var many []string
	if err := decode(&many); err != nil {
		return fmt.Errorf("approve must be never, writes, always or a list of patterns")
	}
	*a = many
	return nil
}

// UnmarshalJSON takes the same forms as UnmarshalYAML.
func (a *Approve) UnmarshalJSON(b []byte) error {
	return a.UnmarshalYAML(func(v any) error { return json.Unmarshal(b, v) })
}

// word is the keyword that a stands for, or "" when it is a list of patterns.
func (a Approve) word() string {
	if len(a) == 0 {
		return ApproveWrites
	}
	if len(a) == 1 && slices.Contains([]string{ApproveNever, ApproveWrites, ApproveAlways}, a[0]) {
		return a[0]
	}
	return ""
}

// withDefaults fills in what a zero value means; name is the group's.
func (g GroupConfig) withDefaults(name string) GroupConfig {
	if len(g.Servers) == 0 {
		g.Servers = []string{name}
	}
	if g.ToolTimeout == 0 {
		g.ToolTimeout = DefaultToolTimeout
	}
	if g.MaxResultBytes == 0 {
		g.MaxResultBytes = DefaultMaxResultBytes
	}
	if g.ShowResultBytes == 0 {
		g.ShowResultBytes = min(DefaultShowResultBytes, g.MaxResultBytes)
	}
	return g
}

// allGroups are the configured groups with their defaults, and one for every
// server that no group names.
func (c Config) allGroups() map[string]GroupConfig {
	all := map[string]GroupConfig{}
	used := map[string]bool{}
	for name, g := range c.Groups {
		g = g.withDefaults(name)
		all[name] = g
		for _, s := range g.Servers {
			used[s] = true
		}
	}
	for name := range c.Servers {
		if _, taken := all[name]; !used[name] && !taken {
			all[name] = GroupConfig{}.withDefaults(name)
		}
	}
	return all
}

// maxResultBytes is how many bytes of a result of server are kept by the group that
// keeps the most of it.
func (c Config) maxResultBytes(server string) int {
	most := 0
	for _, g := range c.allGroups() {
		if slices.Contains(g.Servers, server) {
			most = max(most, g.MaxResultBytes)
		}
	}
	return max(most, 4096)
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}
