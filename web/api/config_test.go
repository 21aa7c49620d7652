package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"legwork/tasks/api"
	webapi "legwork/web/api"
)

// configFile is a config file at version "1" whose texts say what is wrong with them.
type configFile struct{}

func (configFile) Read(context.Context) (webapi.ConfigText, error) {
	return webapi.ConfigText{Text: "language: en\n", ETag: `"1"`, Path: "config.yaml", Writable: true, Errors: []webapi.ConfigMistake{}, Warnings: []webapi.ConfigMistake{}}, nil
}

func (configFile) Check(_ context.Context, text string) (webapi.ConfigCheck, error) {
	return webapi.ConfigCheck{Errors: []webapi.ConfigMistake{}, Warnings: []webapi.ConfigMistake{}, Diff: "+" + text, Dangerous: []string{}}, nil
}

func (configFile) Save(_ context.Context, who api.Principal, text, code string, tags []string) (webapi.ConfigSaved, error) {
	switch {
	case !slices.Contains(tags, `"1"`):
		return webapi.ConfigSaved{}, &webapi.ConfigError{Changed: true}
	case strings.HasPrefix(text, "read only"):
		return webapi.ConfigSaved{}, &webapi.ConfigError{ReadOnly: "The file is read-only."}
	case strings.HasPrefix(text, "dangerous") && code != "right":
		return webapi.ConfigSaved{}, &webapi.ConfigError{Code: []string{"servers.x.command"}, Detail: "The code is wrong."}
	case strings.HasPrefix(text, "wrong"):
		return webapi.ConfigSaved{}, &webapi.ConfigError{Mistakes: []webapi.ConfigMistake{{Line: 3, Column: 5, Key: "models", Message: "is wrong"}}}
	}
	return webapi.ConfigSaved{ETag: `"2"`, Restart: []string{who.Name}}, nil
}

func (configFile) SendCode(context.Context, api.Principal, string) (webapi.ConfigCode, error) {
	return webapi.ConfigCode{Dangerous: []string{"servers.x.command"}}, nil
}

func (configFile) Versions(context.Context) ([]webapi.ConfigVersion, error) { return nil, nil }

func (configFile) Version(context.Context, string) (webapi.ConfigVersionText, error) {
	return webapi.ConfigVersionText{Text: "language: en\n"}, nil
}

func (configFile) Schema() []byte { return []byte(`{"type":"object"}`) }

// TestConfigReplies: only admins may, and each refusal has its own reply.
func TestConfigReplies(t *testing.T) {
	e := newEnv(t)
	for _, c := range []struct {
		token, tag, text, code string
		status                 int
		want                   string
	}{
		{"admin", `"1"`, "a: b", "", 200, `"restart":["admin"]`},
		{"operator", `"1"`, "a: b", "", 403, "forbidden"},
		{"viewer", `"1"`, "a: b", "", 403, "forbidden"},
		{"agent", `"1"`, "a: b", "", 403, "forbidden"},
		{"admin", `"0"`, "a: b", "", 412, "precondition_failed"},
		{"admin", "*", "a: b", "", 422, "header.If-Match"},
		{"admin", "1", "a: b", "", 422, "header.If-Match"},
		{"admin", `"1"`, "wrong", "", 422, `"line":3,"column":5,"key":"models"`},
		{"admin", `"1"`, "dangerous", "", 403, `"code":"code_needed"`},
		{"admin", `"1"`, "dangerous", "", 403, `"key":"servers.x.command"`},
		{"admin", `"1"`, "dangerous", "right", 200, `"etag":"\"2\""`},
		{"admin", `"1"`, "read only", "", 409, "read_only"},
		{"admin", `"1"`, "a: \x00", "", 400, "malformed"},
		{"admin", `"1"`, "", "", 422, "body.text"},
	} {
		body := map[string]any{"text": c.text}
		if c.code != "" {
			body["code"] = c.code
		}
		got := e.do(request{method: "PUT", path: "/v1/config", token: c.token, header: map[string]string{"If-Match": c.tag}, body: body})
		if got.status != c.status || !strings.Contains(string(got.body), c.want) {
			t.Errorf("%+v: got %d %s", c, got.status, got.body)
		}
	}
	if got := e.do(request{method: "GET", path: "/v1/config"}); got.status != http.StatusOK || got.header.Get("ETag") != `"1"` {
		t.Errorf("got %d %v", got.status, got.header)
	}
}
