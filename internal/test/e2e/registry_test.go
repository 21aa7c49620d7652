package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"legwork/internal/test/fakes/registryfake"
)

// published are servers of a registry: one that is remote, one that is a package, and
// others that show what a registry can hold.
func published(remote string) []registryfake.Entry {
	return []registryfake.Entry{
		{Status: "active", Document: fmt.Sprintf(`{"name": "io.github.alpha/desk-mcp", "title": "Desk", "description": "Looks things up and books them.", "version": "1.4.0",
			"repository": {"url": "https://github.com/alpha/desk-mcp", "source": "github"}, "websiteUrl": "https://desk.example.com",
			"remotes": [{"type": "streamable-http", "url": %q, "headers": [{"name": "X-Desk-Key", "description": "Key of your desk", "isRequired": true, "isSecret": true}]}]}`, remote)},
		{Status: "active", Document: `{"name": "com.example/desk-files", "description": "Reads files on your desk.\u001b[2J\u202e Hidden.", "version": "2.0.0",
			"packages": [{"registryType": "npm", "identifier": "@example/desk-files", "version": "2.0.1", "transport": {"type": "stdio"},
				"packageArguments": [{"type": "positional", "valueHint": "folder", "isRequired": true}], "environmentVariables": [{"name": "DESK_TOKEN", "isRequired": true, "isSecret": true}]},
				{"registryType": "oci", "identifier": "ghcr.io/example/desk-files:2.0.1", "transport": {"type": "stdio"}},
				{"registryType": "nuget", "identifier": "Desk.Files", "version": "2.0.1", "transport": {"type": "stdio"}}]}`},
		{Status: "deprecated", Message: "Use desk-mcp.", Document: `{"name": "io.github.alpha/desk-old", "description": "The old one.", "version": "0.9.0", "remotes": [{"type": "sse", "url": "https://desk.example.com/sse"}]}`},
		{Status: "deleted", Document: `{"name": "io.github.evil/desk", "description": "Malware.", "version": "1.0.0", "remotes": [{"type": "sse", "url": "https://evil.example.com/sse"}]}`},
		{Document: `{"name": "com.example/desk-windows", "description": "Only a bundle.", "version": "1.0.0", "packages": [{"registryType": "mcpb", "identifier": "https://github.com/a/b.mcpb", "transport": {"type": "stdio"}}]}`},
	}
}

// TestToolsFromRegistry: a server is found, added, accepted and used without leaving the
// terminal, beside legwork serve too. Its secret is in .env alone.
func TestToolsFromRegistry(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	fake := registryfake.New(t, published(w.remote("-http", "127.0.0.1:0", "-full"))...)
	before := "# my config\ndata_dir: data\nregistry: " + fake.URL + "\nmodels: {main: {base_url: \"http://127.0.0.1:1/v1\", model: fake}}\nservers:   # mine\n  clock: {builtin: clock}\n\n# the end\n"
	if err := os.WriteFile(w.file("config.yaml"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}

	code, out, said := w.finish("", "tools", "search", "desk")
	if code != 0 || strings.Contains(out, "evil") || strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "DEPRECATED. by github.com/alpha: The old one.") ||
		!hasLine(out, "io.github.alpha/desk-mcp", "1.4.0", "http", "X-Desk-Key") || !hasLine(out, "com.example/desk-windows", "none that legwork uses") ||
		!strings.Contains(out, `by example.com: Reads files on your desk.\x1b[2J\u202e Hidden.`) {
		t.Fatalf("searching: got exit code %d,\n%s%s", code, out, said)
	}
	var found struct {
		Servers []struct {
			Name string
			Ways []struct {
				What string
				Asks []string
			}
		}
	}
	if code, out, said := w.finish("", "tools", "search", "look", "desk", "--json"); code != 0 || json.Unmarshal([]byte(out), &found) != nil || len(found.Servers) != 1 || found.Servers[0].Ways[0].Asks[0] != "X-Desk-Key" {
		t.Errorf("searching for programs: got exit code %d, %s%s", code, out, said)
	}
	if code, out, _ := w.finish("", "tools", "search", "nothing-of-that-name"); code != 1 || !strings.Contains(out, "has no server with") {
		t.Errorf("no match: got exit code %d, %s", code, out)
	}

	const secret = "key-$of'the desk"
	s := w.sit("tools", "add", "io.github.alpha/desk-mcp")
	s.sees("published by  github.com/alpha", "calls         http://127.0.0.1:", "It asks for X-Desk-Key: Key of your desk", "is not shown")
	s.types(secret + "\r")
	s.sees("Models choose a server by a sentence", "Enter takes: Looks things up and books them.")
	s.types("\r")
	s.sees("hold_new_tools: true", "Add it? [y/N]")
	s.types("y\r")
	s.sees("Added desk to config.yaml.", "legwork tools accept desk")
	s.exit(0)
	if strings.Contains(s.text(), "key-$of") {
		t.Errorf("the secret is on the screen:\n%s", s.text())
	}
	after := w.read("config.yaml")
	want := "  clock: {builtin: clock}\n  # io.github.alpha/desk-mcp 1.4.0, from " + strings.TrimPrefix(fake.URL, "http://") + "\n  desk:\n    url: \"http://127.0.0.1:"
	if !strings.Contains(after, want) || !strings.HasPrefix(after, before[:len(before)-len("\n# the end\n")]) || !strings.Contains(after, "\n\n# the end\n") || strings.Contains(after, "key-") ||
		!strings.Contains(after, `headers: {"X-Desk-Key": "${DESK_X_DESK_KEY}"}`) || !strings.HasSuffix(after, "groups:\n  desk:\n    description: \"Looks things up and books them.\"\n    servers: [\"desk\"]\n") {
		t.Errorf("the config is\n%s", after)
	}
	for name, mode := range map[string]os.FileMode{"config.yaml": 0o600, ".env": 0o600} {
		if info, err := os.Stat(w.file(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has the mode %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}

	if code, out, said := w.finish("", "tools", "list"); code != 0 || !hasLine(out, "desk.lookup", "quarantined", "new; no admin has accepted it yet") || !strings.Contains(out, `"legwork tools accept desk" shows them.`) {
		t.Errorf("listing: got exit code %d,\n%s%s", code, out, said)
	}
	if code, out, said := w.finish("", "tools", "call", "desk", "lookup", `{"key": "x"}`, "--yes"); code != 1 || !strings.Contains(said, "it is new and no admin has accepted it") {
		t.Errorf("calling too early: got exit code %d, %s%s", code, out, said)
	}
	if code, out, said := w.finish("", "tools", "accept", "desk", "--yes"); code != 0 || !strings.Contains(out, "+Looks up a key.") || !strings.Contains(out, "Accepted: desk.") {
		t.Errorf("accepting: got exit code %d,\n%s%s", code, out, said)
	}
	if code, out, said := w.finish("", "tools", "call", "desk", "lookup", `{"key": "x"}`, "--yes"); code != 0 || out != "value of x\n" {
		t.Errorf("calling: got exit code %d, %s%s", code, out, said)
	}
	if code, out, said := w.finish("", "tools", "list"); code != 0 || !hasLine(out, "desk.lookup", "may change", "asks") || strings.Contains(out, "quarantined") {
		t.Errorf("listing at the end: got exit code %d,\n%s%s", code, out, said)
	}
}

// TestToolsAddBesideServe: a running legwork uses the new server at once, without its tools.
func TestToolsAddBesideServe(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	fake := registryfake.New(t, published(w.remote("-http", "127.0.0.1:0", "-full"))...)
	w.configure("registry: " + fake.URL + "\nmodels: {main: {base_url: \"http://127.0.0.1:1/v1\", model: fake}}\nhttp: {listen: 127.0.0.1:0}\nservers: {}\n")
	p := w.serve()
	if code, out, said := w.finish("", "tools", "add", "io.github.alpha/desk-mcp", "--yes", "--as", "shop"); code != 0 || !strings.Contains(out, "Set these there first, behind the equals sign: SHOP_X_DESK_KEY") {
		t.Fatalf("adding: got exit code %d,\n%s%s", code, out, said)
	}
	if env := w.read(".env"); env != "SHOP_X_DESK_KEY=''\n" {
		t.Errorf(".env is %q", env)
	}
	p.until("the new tools wait", func() bool { return strings.Contains(p.err.String(), `msg="new tools wait for an admin" server=shop`) })
	if code, out, said := w.finish("", "tools", "accept", "shop", "--yes"); code != 1 || strings.Contains(out, "Accepted") || !strings.Contains(said, "--code CODE") {
		t.Fatalf("accepting without the code: got exit code %d,\n%s%s", code, out, said)
	}
	p.until("the code", func() bool { return strings.Contains(p.out.String(), "type the code") })
	if code, out, said := w.finish("", "tools", "accept", "shop", "--yes", "--code", acceptCode(t, p.program)); code != 0 || !strings.Contains(out, "Accepted: shop.") {
		t.Fatalf("accepting: got exit code %d,\n%s%s", code, out, said)
	}
	if code, out, said := w.finish("", "tools", "call", "shop", "lookup", `{"key": "x"}`, "--yes"); code != 0 || out != "value of x\n" {
		t.Errorf("calling: got exit code %d, %s%s", code, out, said)
	}
}

// TestToolsAddRefused: bad input by name. The config file stays as it is.
func TestToolsAddRefused(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	fake := registryfake.New(t, published("https://desk.example.com/mcp")...)
	w.configure("registry: " + fake.URL + "\nmodels: {main: {base_url: \"http://127.0.0.1:1/v1\", model: fake}}\nservers:\n  clock: {builtin: clock}\n")
	const files = "com.example/desk-files"
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		said  string
	}{
		"a name without its namespace": {"", []string{"desk"}, 2, `"legwork tools search WORDS" lists names`},
		"an unknown server":            {"", []string{"io.github.alpha/none"}, 1, "has no server io.github.alpha/none"},
		"an unknown version":           {"", []string{files, "--version", "9"}, 1, "in the version 9"},
		"a deleted server":             {"", []string{"io.github.evil/desk", "--yes"}, 1, "was deleted from the registry"},
		"nothing to use":               {"", []string{"com.example/desk-windows", "--yes"}, 1, "legwork cannot use this server"},
		"several ways":                 {"", []string{files, "--yes"}, 1, "choose one with --choice NUMBER"},
		"a way that is none":           {"", []string{files, "--choice", "4"}, 1, "--choice 4 is none of the 3 ways"},
		"a way that cannot be used":    {"", []string{files, "--choice", "3"}, 1, `packages of the kind "nuget"`},
		"a name that is taken":         {"", []string{files, "--as", "clock", "--choice", "1"}, 1, "choose another name with --as"},
		"a name that is none":          {"", []string{files, "--as", "a b", "--choice", "2", "--yes"}, 1, "cannot be a server's name"},
		"no":                           {"secret\n/srv\nA sentence.\nn\n", []string{files, "--choice", "1"}, 1, "nothing was written"},
		"an end in the middle":         {"/srv\n", []string{files, "--choice", "1"}, 1, "nothing was written"},
		"an address that is none":      {"", []string{files, "--registry", "registry"}, 2, "is not an address"},
	} {
		t.Run(name, func(t *testing.T) {
			before := w.read("config.yaml")
			code, out, said := w.finish(c.stdin, append([]string{"tools", "add"}, c.args...)...)
			if code != c.code || !strings.Contains(said, c.said) {
				t.Errorf("got exit code %d, want %d and %q:\n%s%s", code, c.code, c.said, out, said)
			}
			if w.read("config.yaml") != before {
				t.Error("the config file was changed")
			}
			if _, err := os.Stat(w.file(".env")); err == nil {
				t.Error("variables were written")
			}
		})
	}
	// A package: the exact command is shown, and what it needs is asked for.
	code, out, said := w.finish("1\nsecret\n/srv/my files\nReads my files.\ny\n", "tools", "add", files)
	if code != 0 || !strings.Contains(out, "runs here     npx -y @example/desk-files@2.0.1 <folder>") || strings.Contains(out, "secret\n") {
		t.Errorf("adding a package: got exit code %d,\n%s%s", code, out, said)
	}
	if config := w.read("config.yaml"); !strings.Contains(config, "  desk-files:\n    command: npx\n    args: [\"-y\", \"@example/desk-files@2.0.1\", \"/srv/my files\"]\n    env: {\"DESK_TOKEN\": \"${DESK_FILES_DESK_TOKEN}\"}\n    hold_new_tools: true\n") {
		t.Errorf("the config is\n%s", config)
	}
}
