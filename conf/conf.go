// Package conf reads legwork's configuration: one YAML file, or environment
// variables alone. It composes the Config of every package and checks all of it at
// once. Each mistake names its place, what is wrong and what is allowed.
package conf

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/alerts"
	"legwork/tools"
)

// Config is the whole config file. Load and FromEnv return it, checked and
// with the defaults of this package's keys filled in; its zero value is not usable.
// The packages llm and tools fill in the defaults of their own parts.
type Config struct {
	// Language of the texts that legwork itself writes. Answers are in the language of the question.
	Language string `yaml:"language,omitempty"`
	// Timezone of people who set none: an IANA name such as Europe/Berlin.
	Timezone string `yaml:"timezone,omitempty"`
	// DataDir is the folder of the store. legwork creates it. A relative path starts at the config file's folder.
	DataDir string `yaml:"data_dir,omitempty"`
	// Instructions are added to every prompt.
	Instructions string `yaml:"instructions,omitempty"`
	// TextsDir is a folder whose prompts and texts replace the built-in ones; empty for none. A relative path starts at the config file's folder.
	TextsDir string `yaml:"texts_dir,omitempty"`
	// Log sets which lines are logged, and their format.
	Log Log `yaml:"log,omitempty"`

	LLM       llm.Config `yaml:",inline"`
	Platforms `yaml:",inline"`
	// Chats holds the settings of single chats by their keys, such as "telegram:12345", "slack:C012AB3CD" or "terminal:alice".
	Chats map[string]Chat `yaml:"chats,omitempty"`
	Tools tools.Config    `yaml:",inline"`
	// ImportServers are files in the usual mcpServers format, or VS Code's, whose servers are added. Relative paths start at the config file's folder.
	ImportServers []string `yaml:"import_servers,omitempty"`
	// Registry is the address of the MCP registry in which "legwork tools search" looks. Empty: the public one.
	Registry string `yaml:"registry,omitempty"`
	// AgentTools are legwork's own tools that sub-tasks get beside those of their group.
	AgentTools AgentTools `yaml:"agent_tools,omitempty"`
	// Approvals sets how people are asked to approve tools that change data.
	Approvals Approvals `yaml:"approvals,omitempty"`
	// Trust names the destinations to which tasks may send private data without a question.
	Trust Trust `yaml:"trust,omitempty"`
	// Schedules are questions that legwork asks itself at set times.
	Schedules []Schedule `yaml:"schedules,omitempty"`
	// Limits bound every task.
	Limits Limits `yaml:"limits,omitempty"`
	// Budget limits the cost of tasks.
	Budget Budget `yaml:"budget,omitempty"`
	// Files limits the files that people send and that are made for them.
	Files Files `yaml:"files,omitempty"`
	// Retention sets how long finished tasks, the history and files are kept.
	Retention Retention `yaml:"retention,omitempty"`
	// Backup sets how often the data is backed up.
	Backup Backup `yaml:"backup,omitempty"`
	// Alerts sets who is told about problems that need a person.
	Alerts alerts.Config `yaml:"alerts,omitempty"`
	// Telemetry sets where traces go.
	Telemetry Telemetry `yaml:"telemetry,omitempty"`
	// Engine runs the tasks.
	Engine Engine `yaml:"engine,omitempty"`
	// Store keeps the tasks.
	Store Store `yaml:"store,omitempty"`
	// SealingKey encrypts the stored sign-ins at tool servers: 32 random bytes in base64 or hexadecimal digits. Default: LEGWORK_SEALING_KEY; without both, the file sealing.key in data_dir, which legwork makes when it is needed.
	SealingKey string `yaml:"sealing_key,omitempty"`

	file     string           // as it was given to Load
	places   map[string]place // of each key in the file
	folder   string           // of the config file
	sealedBy string           // the variable that holds the sealing key; empty: none, or the file does
	filled   []secret         // values from variables and files
	imported []string         // files that ImportServers names, missing ones too
	warnings Errors
}

// Folder is where relative paths start: the folder of the config file, or the
// working directory without one.
func (c *Config) Folder() string { return c.folder }

// At is a problem at the place of a key, such as "servers.clock.command", or at that
// of the nearest key around it. A server from an imported file has its place there.
func (c *Config) At(key, problem string) Error {
	return errorOf(c.places, c.file, key, problem)
}

// Warnings are problems that do not make the config unusable, such as unknown keys
// in imported files.
func (c *Config) Warnings() Errors { return slices.Clone(c.warnings) }

// Imported lists the files that servers were imported from.
func (c *Config) Imported() []string { return slices.Clone(c.imported) }

// Log sets which lines are logged, and their format. Logs go to standard error.
type Log struct {
	// Level is the least important level that is logged.
	Level string `yaml:"level,omitempty" jsonschema:"enum=debug,enum=info,enum=warn,enum=error"`
	// Format of the lines: text for people, json for programs.
	Format string `yaml:"format,omitempty" jsonschema:"enum=text,enum=json"`
}

// Chat holds the settings of one chat. A zero value means the general setting.
type Chat struct {
	// Instructions are added to every prompt of this chat, after the general ones.
	Instructions string `yaml:"instructions,omitempty"`
	// Groups that the planner may use in this chat; none named means all.
	Groups []string `yaml:"groups,omitempty"`
	// Model replaces the models of all roles in this chat.
	Model string `yaml:"model,omitempty"`
}

// AgentTools are legwork's own tools that sub-tasks get beside those of their group.
// Each of them costs prompt in every turn.
type AgentTools struct {
	// SharedState offers get_state and update_state in every task. Otherwise only tasks that have a shared state get them.
	SharedState bool `yaml:"shared_state,omitempty"`
	// Delegate lets a sub-task give a part of its work to another tool group.
	Delegate bool `yaml:"delegate,omitempty"`
}

// Approvals sets how people are asked to approve tools that change data.
type Approvals struct {
	// Expire is how long a question waits for a person. After that the call is not made.
	Expire time.Duration `yaml:"expire,omitempty"`
	// ShowIn is where the question appears: in the chat of the task, or in a private chat with the person who asked.
	ShowIn string `yaml:"show_in,omitempty" jsonschema:"enum=chat,enum=private"`
	// Grants is how long "Always in this chat" lasts.
	Grants time.Duration `yaml:"grants,omitempty"`
}

// Trust names the destinations to which tasks may send private data without a question.
type Trust struct {
	// Hosts are names such as wiki.example.com, or *.example.com for every name below it.
	Hosts []string `yaml:"hosts,omitempty"`
	// Recipients are addresses such as team@example.com, *@example.com for a whole domain, or other recipients as tools name them.
	Recipients []string `yaml:"recipients,omitempty"`
}

func (t Trust) validate(l *issues) {
	for i, host := range t.Hosts {
		if strings.Trim(host, "*. ") == "" || strings.ContainsAny(strings.TrimPrefix(host, "*."), "*/:@ ") {
			l.Add(fmt.Sprintf("trust.hosts[%d]", i), "%q is not a host; allowed are names such as wiki.example.com, or *.example.com for every name below it", host)
		}
	}
	for i, to := range t.Recipients {
		if strings.Trim(to, "*@ ") == "" || strings.Contains(strings.TrimPrefix(to, "*@"), "*") {
			l.Add(fmt.Sprintf("trust.recipients[%d]", i), "%q is not a recipient; allowed are addresses such as team@example.com, or *@example.com for a whole domain", to)
		}
	}
}

// The values of Approvals.ShowIn.
const (
	ShowInChat    = "chat"
	ShowInPrivate = "private"
)

// Limits bound tasks, so that none runs forever.
type Limits struct {
	// Rounds of planning of one task.
	Rounds int `yaml:"rounds,omitempty" jsonschema:"minimum=1,maximum=100"`
	// Subtasks of one plan.
	Subtasks int `yaml:"subtasks,omitempty" jsonschema:"minimum=1,maximum=256"`
	// Parallel is how many sub-tasks of one task run at once.
	Parallel int `yaml:"parallel,omitempty" jsonschema:"minimum=1,maximum=256"`
	// Turns of the model within one sub-task.
	Turns int `yaml:"turns,omitempty" jsonschema:"minimum=1,maximum=1000"`
	// TaskTimeout is the working time of one task; waiting for a person does not count.
	TaskTimeout time.Duration `yaml:"task_timeout,omitempty"`
	// ContextIdle is how long a context of outside agents may be idle before it ends as failed.
	ContextIdle time.Duration `yaml:"context_idle,omitempty"`
	// ConcurrentTasks is how many tasks run at once in the whole process; others wait.
	ConcurrentTasks int `yaml:"concurrent_tasks,omitempty" jsonschema:"minimum=1,maximum=10000"`
}

// Task returns the limits of a single task, including the machine's own.
func (l Limits) Task() planner.Limits {
	out := planner.DefaultLimits()
	out.Rounds, out.Subtasks, out.Parallel, out.Turns = l.Rounds, l.Subtasks, l.Parallel, l.Turns
	out.TaskTimeout, out.IdleTimeout = l.TaskTimeout, l.ContextIdle
	return out
}

// Engine selects the engine that runs the tasks.
type Engine struct {
	// Type of the engine: local runs tasks in this process.
	Type string `yaml:"type,omitempty" jsonschema:"enum=local"`
}

// Store selects the database that keeps the tasks.
type Store struct {
	// Type of the store: bolt is one file in data_dir, postgres a database on a server.
	Type string `yaml:"type,omitempty" jsonschema:"enum=bolt,enum=postgres"`
	// URL of the Postgres database: postgres://USER:PASSWORD@HOST:5432/DATABASE.
	URL string `yaml:"url,omitempty"`
}

// Load reads and checks a config file. env looks up a variable, as os.LookupEnv
// does. The error is an Errors with all mistakes.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, Errors{{File: path, Problem: err.Error()}}
	}
	return read(path, text, env)
}

// read does the rest of Load.
func read(path string, text []byte, env func(string) (string, bool)) (*Config, error) {
	root, errs := parse(path, text)
	if errs != nil {
		return nil, errs.within(text)
	}
	config, errs := readRoot(path, text, root, env)
	if len(errs) > 0 {
		return nil, errs
	}
	return config, nil
}

// readRoot reads a parsed file. With mistakes, the config holds the keys that have none.
func readRoot(path string, text []byte, root *yaml.Node, env func(string) (string, bool)) (*Config, Errors) {
	folder := filepath.Dir(path)
	config := Default()
	d := &decoder{
		file:     path,
		expander: expander{env: env, folder: folder},
		failed:   map[string]bool{},
		misspelt: map[string]bool{},
		places:   map[string]place{"": {line: root.Line, column: root.Column}},
	}
	if root.Kind != yaml.MappingNode {
		d.fail(root, "", "a config file holds keys and values, not %s", kindName(root))
		return config, d.errors
	}
	d.decode(root, "", reflect.ValueOf(config).Elem())
	config.DataDir = beside(folder, config.DataDir)
	config.TextsDir = beside(folder, config.TextsDir)
	config.folder = folder
	if len(config.ImportServers) == 0 {
		config.ImportServers = nil // an empty list is no list
	}
	for _, server := range config.Tools.Servers {
		if a := server.Auth; a != nil && a.AssertionFile != "" {
			a.AssertionFile = beside(folder, a.AssertionFile)
		}
		for i, root := range server.Roots {
			server.Roots[i] = beside(folder, root)
		}
		if box := server.Sandbox; box != nil {
			for _, list := range [][]string{box.Read, box.Write} {
				for i, path := range list {
					list[i] = beside(folder, path)
				}
			}
		}
	}
	d.importServers(config, folder)
	config.filled, config.file, config.places = d.secrets, path, d.places
	variable := func(name string) string { value, _ := env(name); return strings.TrimSpace(value) }
	config.Telemetry.fromEnv(variable)
	config.sealFromEnv(variable)
	d.check(config)
	d.unpriced(config)
	d.missingPrices(config)
	d.weakTokens(config)
	d.idleAllows(config)
	for _, file := range append([]string{path}, config.imported...) {
		config.openToAll(file)
	}
	faults := d.texts(config.TextsDir)
	return config, slices.Concat(d.errors.within(text).sorted(), d.imported.sorted(), faults)
}

// Default is the config with every default of this package, and without models,
// servers and groups.
func Default() *Config {
	task := planner.DefaultLimits()
	return &Config{
		Language: "en",
		Timezone: "UTC",
		DataDir:  "data",
		Log:      Log{Level: "info", Format: "text"},
		Limits: Limits{
			Rounds:          task.Rounds,
			Subtasks:        task.Subtasks,
			Parallel:        task.Parallel,
			Turns:           task.Turns,
			TaskTimeout:     task.TaskTimeout,
			ContextIdle:     task.IdleTimeout,
			ConcurrentTasks: 32,
		},
		Budget:    defaultBudget(),
		Approvals: Approvals{Expire: 72 * time.Hour, ShowIn: ShowInChat, Grants: 30 * 24 * time.Hour},
		Platforms: Platforms{HTTP: HTTP{Listen: DefaultListen, Rate: defaultRate}},
		Retention: Retention{Tasks: 90 * day, History: 365 * day, Files: 90 * day},
		Files:     defaultFiles(),
		Alerts:    alerts.Config{After: 10 * time.Minute, Chat: true},
		Telemetry: Telemetry{Sample: 1},
		Backup:    Backup{Every: day, Keep: 7},
		Engine:    Engine{Type: "local"},
		Store:     Store{Type: "bolt"},
		folder:    ".",
	}
}

//go:embed demo.yaml
var demo string

// WriteDemo writes the config file of the offline demo into a folder, and returns its
// path: the built-in servers, no network, and the offline stand-in as the only model. The
// group notes changes files in the data directory alone; with it the demo shows an approval.
func WriteDemo(folder, timezone string) (path string, err error) {
	path = filepath.Join(folder, "config.yaml")
	text := demo + "timezone: " + timezone + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the config of the demo: %w", err)
	}
	return path, nil
}

// builtinTools are the tool groups that need neither keys nor network. Each
// server is a group of its own.
func builtinTools() tools.Config {
	return tools.Config{Servers: map[string]tools.ServerConfig{
		"clock": {Builtin: "clock"},
		"math":  {Builtin: "math"},
	}}
}

// envTools are the tool groups of a config without a file: the built-in ones, web
// pages, and search when there is an endpoint for it.
func envTools(searchURL string) tools.Config {
	config := builtinTools()
	config.Servers["web"] = tools.ServerConfig{Builtin: "web"}
	if searchURL != "" {
		config.Servers["search"] = tools.ServerConfig{Builtin: "search", Options: map[string]any{"url": searchURL}}
	}
	return config
}

// schema is generated by a test from the types of the config; the test also fails
// when it is out of date.
//
//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (draft 2020-12) of the config file, indented.
// Every config that Load accepts fits it, except merge keys and keys without a
// value. It does not check references to names elsewhere in the file.
func Schema() []byte { return slices.Clone(schema) }
