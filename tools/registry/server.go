// Package registry finds MCP servers in a registry with the API of the MCP registry
// (github.com/modelcontextprotocol/registry, docs/reference/api/openapi.yaml, v0.1), and
// makes settings of the config file out of what it says about them. Everything that it
// says are words of strangers.
package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Server is one version of a server as a registry describes it: the server.json format
// (docs/reference/server-json/draft/server.schema.json) with its status.
type Server struct {
	Name        string      `json:"name"` // NAMESPACE/NAME; the namespace is a reversed DNS name
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Repository  repository  `json:"repository"`
	WebsiteURL  string      `json:"websiteUrl"`
	Packages    []pack      `json:"packages"`
	Remotes     []transport `json:"remotes"`

	Status        string    `json:"-"` // Active, Deprecated or Deleted; empty: the registry does not say
	StatusMessage string    `json:"-"`
	Published     time.Time `json:"-"` // zero: the registry does not say
}

// The values of Server.Status.
const (
	Active     = "active"
	Deprecated = "deprecated"
	Deleted    = "deleted"
)

type repository struct {
	URL       string `json:"url"`
	Subfolder string `json:"subfolder"`
}

// pack is a package that can be started on this machine.
type pack struct {
	Kind             string     `json:"registryType"`
	Base             string     `json:"registryBaseUrl"`
	Identifier       string     `json:"identifier"`
	Version          string     `json:"version"`
	RuntimeHint      string     `json:"runtimeHint"`
	Transport        transport  `json:"transport"`
	RuntimeArguments []argument `json:"runtimeArguments"`
	PackageArguments []argument `json:"packageArguments"`
	Environment      []value    `json:"environmentVariables"`
}

// transport is how a client talks to a server.
type transport struct {
	Type      string           `json:"type"` // stdio, streamable-http or sse
	URL       string           `json:"url"`
	Headers   []value          `json:"headers"`
	Variables map[string]value `json:"variables"`
}

// value is an Input of the schema: a fixed Value, or one that somebody has to give.
type value struct {
	Name        string           `json:"name"` // of a header or an environment variable
	Description string           `json:"description"`
	Required    bool             `json:"isRequired"`
	Secret      bool             `json:"isSecret"`
	Value       string           `json:"value"` // {NAME} stands for one of Variables
	Default     string           `json:"default"`
	Placeholder string           `json:"placeholder"`
	Choices     []string         `json:"choices"`
	Format      string           `json:"format"` // string, number, boolean or filepath
	Variables   map[string]value `json:"variables"`
}

// argument is a value on a command line.
type argument struct {
	value
	Type      string `json:"type"` // named or positional
	ValueHint string `json:"valueHint"`
}

// envelope is a server in an answer of the API.
type envelope struct {
	Server *Server `json:"server"`
	Meta   struct {
		Official struct {
			Status        string    `json:"status"`
			StatusMessage string    `json:"statusMessage"`
			PublishedAt   time.Time `json:"publishedAt"`
		} `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
}

// read reads a server in an answer of the API.
func read(raw []byte) (Server, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return Server{}, fmt.Errorf("reading a server: %w", err)
	}
	if e.Server == nil || !nameRule.MatchString(e.Server.Name) || e.Server.Version == "" {
		return Server{}, fmt.Errorf("reading a server: it has no name or no version")
	}
	s := *e.Server
	s.Status, s.StatusMessage, s.Published = e.Meta.Official.Status, e.Meta.Official.StatusMessage, e.Meta.Official.PublishedAt
	return s, nil
}

// Publisher is the owner of the namespace of the server's name: a DNS name, or an
// account at GitHub. The public registry checks that.
func (s Server) Publisher() string {
	namespace, _, _ := strings.Cut(s.Name, "/")
	if account, ok := strings.CutPrefix(namespace, "io.github."); ok {
		return "github.com/" + account
	}
	labels := strings.Split(namespace, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// Source is the address of the source code; empty: the registry names none.
func (s Server) Source() string {
	if s.Repository.URL == "" || s.Repository.Subfolder == "" {
		return s.Repository.URL
	}
	return s.Repository.URL + " (" + s.Repository.Subfolder + ")"
}

// has reports whether the name, title and description hold all words, which are in lower
// case.
func (s Server) has(words []string) bool {
	text := strings.ToLower(s.Name + " " + s.Title + " " + s.Description)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// maxKey is how long the name of a server in the config may be.
const maxKey = 32

// Key is a short name for the server in the config: weather for io.github.x/weather-mcp.
// A name that is taken gets a number.
func (s Server) Key(taken func(string) bool) string {
	namespace, name, _ := strings.Cut(s.Name, "/")
	labels := strings.Split(namespace, ".")
	key := short(name)
	for i := len(labels) - 1; key == "" && i >= 0; i-- {
		key = short(labels[i])
	}
	if key == "" {
		key = "server"
	}
	free := key
	for n := 2; taken(free); n++ {
		end := fmt.Sprintf("-%d", n)
		free = key[:min(len(key), maxKey-len(end))] + end
	}
	return free
}

// short is a name without the words that most names of servers have.
func short(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "mcp" || word == "server" || word == "servers" })
	key := strings.Join(words, "-")
	return strings.TrimRight(key[:min(len(key), maxKey)], "-")
}
