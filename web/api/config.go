package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// ConfigFile is the config file of the process. Texts that it returns have marks such as
// «hidden:3f2a9c1e» in place of secrets, and texts that it is given may have them. Its
// errors for clients are a *ConfigError, and api.ErrNotFound.
type ConfigFile interface {
	// Read returns the file as it is now.
	Read(ctx context.Context) (ConfigText, error)
	// Check checks a text without using it.
	Check(ctx context.Context, text string) (ConfigCheck, error)
	// Save replaces the file if its tag is one of tags, and lets the process use it.
	// code is needed for sensitive keys.
	Save(ctx context.Context, who api.Principal, text, code string, tags []string) (ConfigSaved, error)
	// SendCode shows people, not the caller, the code with which the text can be saved.
	SendCode(ctx context.Context, who api.Principal, text string) (ConfigCode, error)
	// Versions lists the earlier contents of the file, the newest first.
	Versions(ctx context.Context) ([]ConfigVersion, error)
	// Version returns one of them.
	Version(ctx context.Context, id string) (ConfigVersionText, error)
	// Schema is the JSON Schema of the file.
	Schema() []byte
}

// ConfigError says why a text was not saved. It has one of the reasons.
type ConfigError struct {
	Changed  bool            // the file has another tag now
	Mistakes []ConfigMistake // in the text
	Code     []string        // sensitive keys that need a code, or a right one
	ReadOnly string          // why the file cannot be written, a sentence
	Detail   string          // for people; may be empty for Changed and Mistakes
}

// Error implements error.
func (e *ConfigError) Error() string {
	text := e.problem().Error()
	for _, m := range e.Mistakes {
		text += fmt.Sprintf("\n%d:%d: %s: %s", m.Line, m.Column, m.Key, m.Message)
	}
	return text
}

func (e *ConfigError) problem() *problem.Error {
	switch {
	case e.Changed:
		return problem.New(problem.Precondition, "The config file has changed since you read it. Read it again and compare.")
	case e.ReadOnly != "":
		return problem.New(problem.ReadOnly, e.ReadOnly)
	case len(e.Code) > 0:
		p := problem.New(problem.CodeNeeded, e.Detail)
		for _, key := range e.Code[:min(len(e.Code), maxMistakes)] {
			p.Errors = append(p.Errors, problem.Mistake{Location: "body.text", Message: "changing this key needs a code", Key: key})
		}
		return p
	}
	p := problem.New(problem.Invalid, "The text has mistakes; see errors.")
	for _, m := range e.Mistakes[:min(len(e.Mistakes), maxMistakes)] {
		p.Errors = append(p.Errors, problem.Mistake{Location: "body.text", Message: m.Message, Line: m.Line, Column: m.Column, Key: m.Key})
	}
	return p
}

type (
	// ConfigText is the config file.
	ConfigText struct {
		Text     string          `json:"text" doc:"The YAML, with marks such as '«hidden:3f2a9c1e»' in place of secrets. Empty when they cannot be told from the rest."`
		ETag     string          `json:"etag" doc:"The version, for If-Match; empty when there is no file."`
		Path     string          `json:"path" doc:"The file; empty when the configuration comes from the environment."`
		Writable bool            `json:"writable" doc:"The file can be replaced with PUT."`
		Why      string          `json:"why,omitempty" doc:"A sentence that says why it cannot, or why there is no text."`
		Errors   []ConfigMistake `json:"errors" doc:"The mistakes in it. A file with mistakes is not in use."`
		Warnings []ConfigMistake `json:"warnings" doc:"What is odd in it."`
	}
	// ConfigMistake is a mistake in the file.
	ConfigMistake struct {
		File    string `json:"file,omitempty" doc:"Another file that it is in: an imported one, for example."`
		Line    int    `json:"line" doc:"From 1; 0 when it has no place in the text."`
		Column  int    `json:"column" doc:"In characters, from 1."`
		Key     string `json:"key" doc:"The key, such as 'models.main.fallback[0]'; empty for the file as a whole."`
		Message string `json:"message" doc:"What is wrong, and what is allowed."`
	}
	// ConfigCheck is what a text would change.
	ConfigCheck struct {
		Errors    []ConfigMistake `json:"errors" doc:"The mistakes; with any, the text cannot be saved."`
		Warnings  []ConfigMistake `json:"warnings" doc:"What is odd."`
		Diff      string          `json:"diff" doc:"The difference to the file, as a unified diff; empty when there is none."`
		Dangerous []string        `json:"dangerous" doc:"The changed keys for which saving needs a code."`
	}
	// ConfigSaved is the outcome of saving.
	ConfigSaved struct {
		ETag    string   `json:"etag" doc:"The new version."`
		Restart []string `json:"restart" doc:"The keys that differ from those at the start and take effect after a restart."`
		Problem string   `json:"problem,omitempty" doc:"Why the process does not use the file, although it is saved."`
	}
	// ConfigCode says that a code was shown.
	ConfigCode struct {
		Dangerous []string `json:"dangerous" doc:"The changed keys that need it."`
		ExpiresAt api.Time `json:"expires_at" doc:"Until when it can be used."`
	}
	// ConfigVersion is an earlier content of the file.
	ConfigVersion struct {
		ID         string   `json:"id" doc:"Its id."`
		ReplacedAt api.Time `json:"replaced_at" doc:"When it was replaced."`
		ReplacedBy string   `json:"replaced_by" doc:"Who replaced it."`
	}
	// ConfigVersionText is an earlier content of the file with its text.
	ConfigVersionText struct {
		ConfigVersion
		Text string `json:"text" doc:"The YAML, with marks in place of secrets. A text that is saved may have them."`
		Why  string `json:"why,omitempty" doc:"Why there is no text."`
	}
	// NewConfig is a text to save.
	NewConfig struct {
		Text string `json:"text" minLength:"1" maxLength:"1048576" doc:"The YAML. Marks stand for the secrets at their keys."`
		Code string `json:"code,omitempty" maxLength:"100" doc:"The code that legwork has shown for exactly this text."`
	}
	// ConfigDraft is a text to check.
	ConfigDraft struct {
		Text string `json:"text" minLength:"1" maxLength:"1048576" doc:"The YAML. Marks stand for the secrets at their keys."`
	}
)

type (
	configReply struct {
		ETag string `header:"ETag" doc:"The version of the file, for If-Match."`
		Body ConfigText
	}
	saveConfigRequest struct {
		IfMatch string `header:"If-Match" required:"true" doc:"The version that the text was made from: the ETag of a reply."`
		Body    NewConfig
	}
	configSavedReply struct {
		ETag string `header:"ETag" doc:"The version of the file, for If-Match."`
		Body ConfigSaved
	}
	configDraftRequest struct{ Body ConfigDraft }
	configCheckReply   struct{ Body ConfigCheck }
	configCodeReply    struct{ Body ConfigCode }
	configVersions     struct{ Body Page[ConfigVersion] }
	configVersionPath  struct {
		ID string `path:"id" maxLength:"40" doc:"Id of the version."`
	}
	configVersionReply struct{ Body ConfigVersionText }
	configSchemaReply  struct{ Body json.RawMessage }
)

// configCalls are the handlers of the calls about the config file.
type configCalls struct{ *calls }

// file returns the config file.
func (c configCalls) file() (ConfigFile, error) {
	if c.ConfigFile == nil {
		return nil, problem.New(problem.NotFound, "This process has no config file.")
	}
	return c.ConfigFile, nil
}

func (c configCalls) read(ctx context.Context, _ *struct{}) (*configReply, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	now, err := file.Read(ctx)
	return &configReply{now.ETag, now}, err
}

func (c configCalls) save(ctx context.Context, in *saveConfigRequest) (*configSavedReply, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	match, err := readTags("If-Match", in.IfMatch)
	if err != nil {
		return nil, err
	}
	if match.any || len(match.list) == 0 {
		return nil, invalid("header.If-Match", "send the version that the text was made from: the ETag of GET /v1/config")
	}
	saved, err := file.Save(ctx, api.Caller(ctx), in.Body.Text, in.Body.Code, match.list)
	return &configSavedReply{saved.ETag, saved}, err
}

func (c configCalls) check(ctx context.Context, in *configDraftRequest) (*configCheckReply, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	checked, err := file.Check(ctx, in.Body.Text)
	return &configCheckReply{checked}, err
}

func (c configCalls) sendCode(ctx context.Context, in *configDraftRequest) (*configCodeReply, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	sent, err := file.SendCode(ctx, api.Caller(ctx), in.Body.Text)
	return &configCodeReply{sent}, err
}

func (c configCalls) versions(ctx context.Context, _ *struct{}) (*configVersions, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	items, err := file.Versions(ctx)
	return &configVersions{page(items, nil)}, err
}

func (c configCalls) version(ctx context.Context, in *configVersionPath) (*configVersionReply, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	one, err := file.Version(ctx, in.ID)
	return &configVersionReply{one}, err
}

func (c configCalls) schema(_ context.Context, _ *struct{}) (*configSchemaReply, error) {
	file, err := c.file()
	if err != nil {
		return nil, err
	}
	return &configSchemaReply{slices.Clone(file.Schema())}, nil
}

func (c configCalls) register(h huma.API) {
	const example = "models:\n  main:\n    base_url: https://api.openai.com/v1\n    api_key: «hidden:3f2a9c1e»\n    model: gpt-5-mini\n"
	const tag = `"8c5bd93f62e2a8d7"`
	mistake := ConfigMistake{Line: 5, Column: 5, Key: "models.main.modl", Message: "unknown key, the nearest known one is model"}
	version := ConfigVersion{ID: "20261121T093000.000Z", ReplacedAt: exampleTime(), ReplacedBy: "api:ops"}
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/config", id: "getConfig", tag: "config", op: policy.OpConfig,
		summary: "Read the config file", text: "The text of the file with secrets hidden, its mistakes, and whether it can be changed here.",
		problems: []problem.Code{problem.NotFound},
		answer:   ConfigText{Text: example, ETag: tag, Path: "config.yaml", Writable: true, Errors: []ConfigMistake{}, Warnings: []ConfigMistake{}},
	}, c.read)
	register(c.calls, h, operation{
		method: http.MethodPut, path: "/v1/config", id: "putConfig", tag: "config", op: policy.OpConfig,
		summary: "Replace the config file", text: "Saves the text as it is, if it has no mistakes and the file has the version of If-Match, and lets legwork use it at once. A mark must stand at the key of its secret. " +
			"Keys that decide about programs, secrets, destinations of data, and who may enter need a code: legwork shows it where only its admins read.",
		problems: []problem.Code{problem.NotFound, problem.Precondition, problem.CodeNeeded, problem.ReadOnly},
		body:     NewConfig{Text: example}, answer: ConfigSaved{ETag: tag, Restart: []string{"telegram"}},
	}, c.save)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/config/check", id: "checkConfig", tag: "config", op: policy.OpConfig,
		summary: "Check a text of the config file", text: "Finds all mistakes, as `legwork check` does, and what the text would change. Nothing is saved.",
		problems: []problem.Code{problem.NotFound},
		body:     ConfigDraft{Text: example},
		answer:   ConfigCheck{Errors: []ConfigMistake{mistake}, Warnings: []ConfigMistake{}, Diff: "-    model: gpt-5-mini\n+    modl: gpt-5\n", Dangerous: []string{}},
	}, c.check)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/config/code", id: "sendConfigCode", tag: "config", op: policy.OpConfig,
		summary: "Show the code for a text", text: "Shows a code in the terminal of legwork and in the private chats of its admins. It fits exactly this text, for 10 minutes and 5 tries.",
		problems: []problem.Code{problem.NotFound, problem.ReadOnly}, body: ConfigDraft{Text: example},
		answer: ConfigCode{Dangerous: []string{"servers.tickets.url"}, ExpiresAt: exampleTime()},
	}, c.sendCode)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/config/versions", id: "listConfigVersions", tag: "config", op: policy.OpConfig,
		summary: "List earlier contents of the config file", text: "The last 50 that were replaced with this API, the newest first.",
		problems: []problem.Code{problem.NotFound}, answer: page([]ConfigVersion{version}, nil),
	}, c.versions)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/config/versions/{id}", id: "getConfigVersion", tag: "config", op: policy.OpConfig,
		summary: "Read an earlier content of the config file", text: "To restore it, save its text.",
		answer: ConfigVersionText{ConfigVersion: version, Text: example},
	}, c.version)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/config/schema", id: "getConfigSchema", tag: "config", op: policy.OpConfig,
		summary: "Read the JSON Schema of the config file", problems: []problem.Code{problem.NotFound}, answer: map[string]any{"type": "object"},
	}, c.schema)
}
