package registry_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/registryfake"
	"legwork/tools/registry"
)

// read gets a server with these packages or remotes through a registry.
func read(t *testing.T, more string) registry.Server {
	t.Helper()
	fake := registryfake.New(t, registryfake.Entry{Document: `{"name": "io.github.a/weather", "description": "x", "version": "1.2.0", ` + more + `}`})
	s, err := client(t, fake.URL).Server(t.Context(), "io.github.a/weather", "latest")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWays: packages and addresses become settings. Inputs that are required or secret have
// the value <NAME>, others have none.
func TestWays(t *testing.T) {
	const stdio = `"transport": {"type": "stdio"}`
	for name, c := range map[string]struct {
		document string
		want     string // the settings; for a problem its words
		asks     string
	}{
		"npm": {
			document: `"packages": [{"registryType": "npm", "registryBaseUrl": "https://registry.npmjs.org", "identifier": "@a/weather", "version": "1.0.2", ` + stdio + `,
				"environmentVariables": [{"name": "WEATHER_API_KEY", "isRequired": true, "isSecret": true}, {"name": "LOG_LEVEL", "default": "info"}, {"name": "MODE", "value": "a$b"}]}]`,
			want: `npx ["-y" "@a/weather@1.0.2"] env [{WEATHER_API_KEY <WEATHER_API_KEY>} {MODE a$$b}]`, asks: "WEATHER_API_KEY",
		},
		"npm with arguments": {
			document: `"packages": [{"registryType": "npm", "identifier": "weather", "version": "1.0.2", "runtimeHint": "npx", ` + stdio + `,
				"runtimeArguments": [{"type": "positional", "value": "-y"}, {"type": "named", "name": "--node-options", "value": "--max-old-space-size=64"}],
				"packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "named", "name": "--stdio"}, {"type": "named", "name": "--port", "format": "number"},
					{"type": "named", "name": "--host", "default": "localhost", "isRequired": true}, {"type": "named", "name": "-d", "value": "{dir}/x{y}", "variables": {"dir": {"isRequired": true}}},
					{"type": "positional", "valueHint": "target_dir", "isRequired": true, "isRepeated": true}, {"type": "named", "name": "--units", "value": "{u}", "variables": {"u": {"default": "c"}}}]}]`,
			want: `npx ["-y" "--node-options=--max-old-space-size=64" "weather@1.0.2" "mcp" "--stdio" "--host=<host>" "-d" "<dir>/x{y}" "<target_dir>" "--units=c"]`, asks: "dir target_dir",
		},
		"pypi": {
			document: `"packages": [{"registryType": "pypi", "identifier": "weather-mcp", "version": "0.5.0", "runtimeHint": "uvx", ` + stdio + `}]`,
			want:     `uvx ["weather-mcp@0.5.0"]`,
		},
		"oci": {
			document: `"packages": [{"registryType": "oci", "identifier": "docker.io/a/weather:3.1.0", ` + stdio + `,
				"runtimeArguments": [{"type": "named", "name": "--mount", "value": "type=bind,src={src},dst=/p", "variables": {"src": {"isRequired": true, "format": "filepath"}}}],
				"packageArguments": [{"type": "positional", "value": "/p"}],
				"environmentVariables": [{"name": "PASSWORD", "isRequired": true, "isSecret": true}, {"name": "SSL", "default": "prefer"}]}]`,
			want: `docker ["run" "-i" "--rm" "--mount=type=bind,src=<src>,dst=/p" "-e" "PASSWORD" "docker.io/a/weather:3.1.0" "/p"] env [{PASSWORD <PASSWORD>}]`, asks: "src PASSWORD",
		},
		"oci with a version beside it": {
			document: `"packages": [{"registryType": "oci", "registryBaseUrl": "https://docker.io", "identifier": "a/weather", "version": "3.1.0", ` + stdio + `}]`,
			want:     `docker ["run" "-i" "--rm" "a/weather:3.1.0"]`,
		},
		"remote": {
			document: `"remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp",
				"headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isRequired": true, "isSecret": true}}}, {"name": "X-Region", "default": "eu"}]}]`,
			want: `https://mcp.example.com/mcp headers [{Authorization Bearer <token>}]`, asks: "token",
		},
		"sse with variables": {
			document: `"remotes": [{"type": "sse", "url": "https://{tenant}.example.com/sse?v={v}", "variables": {"tenant": {}, "v": {"default": "2"}}}]`,
			want:     `https://<tenant>.example.com/sse?v=2 sse`, asks: "tenant",
		},
		"nuget":               {document: `"packages": [{"registryType": "nuget", "identifier": "A.B", "version": "1.0.0", ` + stdio + `}]`, want: `problem: legwork does not start packages of the kind "nuget"`},
		"mcpb":                {document: `"packages": [{"registryType": "mcpb", "identifier": "https://github.com/a/b.mcpb", "fileSha256": "00", ` + stdio + `}]`, want: `problem: legwork does not start packages of the kind "mcpb"`},
		"a program over HTTP": {document: `"packages": [{"registryType": "npm", "identifier": "a", "version": "1.0.0", "transport": {"type": "streamable-http", "url": "http://127.0.0.1:8080/mcp"}}]`, want: `problem: it is a program that talks by "streamable-http"`},
		"no version":          {document: `"packages": [{"registryType": "npm", "identifier": "a", ` + stdio + `}]`, want: "problem: it names no exact version"},
		"a range":             {document: `"packages": [{"registryType": "npm", "identifier": "a", "version": "^1.0.0", ` + stdio + `}]`, want: "problem: it names no exact version"},
		"latest":              {document: `"packages": [{"registryType": "oci", "identifier": "ghcr.io/a/b:latest", ` + stdio + `}]`, want: "problem: it names no exact version"},
		"a port is no tag":    {document: `"packages": [{"registryType": "oci", "identifier": "localhost:5000/a/b", ` + stdio + `}]`, want: "problem: it names no exact version"},
		"an option":           {document: `"packages": [{"registryType": "npm", "identifier": "--call=sh", "version": "1.0.0", ` + stdio + `}]`, want: `problem: "--call=sh" is no name of a package`},
		"an address":          {document: `"packages": [{"registryType": "pypi", "identifier": "git+https://evil.example/x", "version": "1.0.0", ` + stdio + `}]`, want: `is no name of a package`},
		"another registry":    {document: `"packages": [{"registryType": "npm", "registryBaseUrl": "https://npm.evil.example", "identifier": "a", "version": "1.0.0", ` + stdio + `}]`, want: "problem: its package is at https://npm.evil.example"},
		"another runner": {
			document: `"packages": [{"registryType": "npm", "identifier": "a", "version": "1.0.0", "runtimeHint": "bunx", "runtimeArguments": [{"type": "positional", "value": "--bun"}], ` + stdio + `}]`,
			want:     `problem: it is made to be started by "bunx"`,
		},
		"no encryption":     {document: `"remotes": [{"type": "streamable-http", "url": "http://mcp.example.com/mcp"}]`, want: "problem: its address has no encryption"},
		"a strange address": {document: `"remotes": [{"type": "streamable-http", "url": "javascript:alert(1)"}]`, want: "problem: its address is none"},
		"a password":        {document: `"remotes": [{"type": "streamable-http", "url": "https://a:b@example.com/"}]`, want: "problem: its address holds a password"},
		"an open variable":  {document: `"remotes": [{"type": "streamable-http", "url": "https://{x}.example.com/"}]`, want: "problem: its address has a placeholder"},
		"a new transport":   {document: `"remotes": [{"type": "websocket", "url": "wss://example.com/"}]`, want: `problem: legwork does not know the transport "websocket"`},
	} {
		t.Run(name, func(t *testing.T) {
			ways := read(t, c.document).Ways()
			if len(ways) != 1 {
				t.Fatalf("got %d ways, want 1", len(ways))
			}
			w := ways[0]
			values := map[*registry.Input]string{}
			for _, in := range w.Inputs {
				if in.Required || in.Secret {
					values[in] = "<" + in.Name + ">"
				}
			}
			got := "problem: " + w.Problem
			if s := w.Settings(values); w.Problem == "" {
				got = strings.TrimSpace(s.Command + s.URL)
				if len(s.Args) > 0 {
					got += fmt.Sprintf(" %q", s.Args)
				}
				if len(s.Env) > 0 {
					got += fmt.Sprintf(" env %v", s.Env)
				}
				if len(s.Headers) > 0 {
					got += fmt.Sprintf(" headers %v", s.Headers)
				}
				if s.Type != "" {
					got += " " + s.Type
				}
			}
			if w.Problem == "" && got != c.want || w.Problem != "" && !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if asks := strings.Join(w.Asks(), " "); asks != c.asks {
				t.Errorf("it asks for %q, want %q", asks, c.asks)
			}
		})
	}
}

// TestKey: the name in the config is short, fits and is free.
func TestKey(t *testing.T) {
	for name, want := range map[string]string{
		"io.github.a/weather-mcp": "weather", "io.github.a/mcp-server-git": "git", "com.notion/mcp": "notion", "com.example/Big_Data.Tools": "big-data-tools",
		"a.b/" + strings.Repeat("x", 60): strings.Repeat("x", 32), "mcp/server": "server", "a.b/taken": "taken-2", "com.taken/mcp": "taken-2",
	} {
		got := registry.Server{Name: name}.Key(func(key string) bool { return key == "taken" })
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestInputProblem(t *testing.T) {
	for _, c := range []struct {
		in     registry.Input
		answer string
		fits   bool
	}{
		{registry.Input{}, "a $b", true},
		{registry.Input{}, "a\x1b[2J", false},
		{registry.Input{}, "a\nb", false},
		{registry.Input{Choices: []string{"a", "b"}}, "b", true},
		{registry.Input{Choices: []string{"a", "b"}}, "c", false},
		{registry.Input{Format: "number"}, "-1.5", true},
		{registry.Input{Format: "number"}, "one", false},
		{registry.Input{Format: "boolean"}, "true", true},
		{registry.Input{Format: "boolean"}, "yes", false},
	} {
		if got := c.in.Problem(c.answer); (got == "") != c.fits {
			t.Errorf("%+v: %q: got %q", c.in, c.answer, got)
		}
	}
}

// FuzzServer: whatever a registry answers, legwork does not fail, and what it would start
// is one of three programs with a package of an exact version.
func FuzzServer(f *testing.F) {
	f.Add(`{"server": {"name": "a/b", "version": "1", "packages": [{"registryType": "npm", "identifier": "x", "version": "1", "transport": {"type": "stdio"}, "packageArguments": [{"type": "named", "name": "--a", "value": "{b}{c}", "variables": {"b": {}}}]}]}}`)
	f.Add(`{"server": {"name": "a/b", "version": "1", "remotes": [{"type": "sse", "url": "https://{a}{b}", "variables": {"a": {"value": "{b}"}}}]}, "_meta": null}`)
	f.Add(`{"server": null}`)
	var answer string
	fake := registryfake.New(f)
	fake.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})
	c, err := registry.New(fake.URL)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer = text
		s, err := c.Server(t.Context(), "a/b", "latest")
		if err != nil {
			return
		}
		for _, w := range s.Ways() {
			if w.Problem != "" {
				continue
			}
			got := w.Settings(nil)
			if got.Command == "" && got.URL == "" && len(w.Inputs) == 0 || got.Command != "" && !slices.Contains([]string{"npx", "uvx", "docker"}, got.Command) {
				t.Errorf("got %+v of %s", got, text)
			}
			if diff := cmp.Diff(got, w.Settings(nil)); diff != "" {
				t.Errorf("twice the same: %s", diff)
			}
		}
		_ = s.Key(func(string) bool { return false })
	})
}
