package conf_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/conf"
)

// mark is a mark that follows from the part that it hides.
func mark(part string) string {
	sum := sha256.Sum256([]byte(part))
	return conf.NewMark(hex.EncodeToString(sum[:4]))
}

func environment(name string) (string, bool) {
	value, ok := map[string]string{"KEY": "sk-from-environment", "PW": "pass-from-environment"}[name]
	return value, ok
}

// hide hides the secrets of a text. The text must be YAML.
func hide(t *testing.T, text string) conf.Hidden {
	t.Helper()
	h, err := conf.ReadDraft("config.yaml", text, environment).Hide(mark)
	if err != nil {
		t.Fatalf("hiding: %v in\n%s", err, text)
	}
	return h
}

// restore puts the secrets back.
func restore(h conf.Hidden, text string) (conf.Restored, conf.Errors) {
	return conf.Restore("config.yaml", text, func(mark string) (conf.Mark, bool) { m, ok := h.Marks[mark]; return m, ok })
}

const withSecrets = `# Made by hand.
models:
  main: {base_url: "http://127.0.0.1:1/v1", model: m, api_key: 'it''s-SECRET-1'}  # api_key: old-SECRET-2
  second:
    base_url: https://user:SECRET-3@llm.example.com/v1?api-key=SECRET-4
    model: m
    api_key: ${KEY:-SECRET-5}
    extra_body: {auth_token: "SECRET\t6", temperature: 1}
http:
  listen: 127.0.0.1:0
  tokens:
    - {name: ops, sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", role: admin}
servers:
  shell:
    command: server
    args: [--verbose, --api-key, SECRET-7, --header, "Authorization: Bearer SECRET-8"]
    env:
      PRIVATE_KEY: |
        -----BEGIN KEY-----
        SECRET-9
          SECRET-10
        -----END KEY-----
      SSH_KEY: "SECRET-11
        SECRET-12"
      ACCESS_TOKEN: SECRET-13
        SECRET-14
      MODE: plain   # SECRET-15 stays: nothing says that it is one
      PIN_SECRET: d
  remote: &remote
    url: https://mcp.example.com/mcp
    headers: {Authorization: Bearer SECRET-16, X-Name: "SECRET-17", Later: "Bearer ${KEY}"}
  same: {<<: *remote, url: "https://other.example.com/mcp"}
alerts: {webhooks: {ops: {url: "https://hooks.example.com/SECRET-18", secret: ${PW}}}}
`

// TestHide holds that each secret of a file is hidden, in every form of YAML, that the
// rest stays, and that the marks bring back every byte.
func TestHide(t *testing.T) {
	withSecrets := strings.ReplaceAll(withSecrets, "${PW}", `"${PW}"`)
	h := hide(t, withSecrets)
	if i := strings.Index(strings.ReplaceAll(h.Text, "SECRET-15", ""), "SECRET"); i >= 0 && !strings.Contains(h.Text[i:i+20], "_SECRET") {
		t.Fatalf("a secret is shown:\n%s", h.Text)
	}
	for _, kept := range []string{
		"# Made by hand.", `base_url: "http://127.0.0.1:1/v1"`, "https://user:", "@llm.example.com/v1?api-key=", "${KEY:-", `Later: "Bearer ${KEY}"`, "temperature: 1",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "--api-key", "--verbose", "MODE: plain", `secret: "${PW}"`, "other.example.com",
	} {
		if !strings.Contains(h.Text, kept) {
			t.Errorf("%q is hidden in\n%s", kept, h.Text)
		}
	}
	if got, want := strings.Count(h.Text, "\n"), strings.Count(withSecrets, "\n"); got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}
	r, errs := restore(h, h.Text)
	if diff := cmp.Diff(withSecrets, r.Text); errs != nil || diff != "" {
		t.Errorf("restored: %v (-want +got):\n%s", errs, diff)
	}
	if errs := r.Shows("config.yaml", conf.ReadDraft("config.yaml", r.Text, environment)); errs != nil {
		t.Errorf("restored without a change: %v", errs)
	}
}

// TestHideMistakes holds that a file with mistakes shows no secret either, and that a
// text whose secrets cannot be found is not shown.
func TestHideMistakes(t *testing.T) {
	for _, text := range []string{
		"models: {main: {api_kee: hunter2hunter2, model: m}}",      // unknown key
		"models: {main: {api_key: [hunter2hunter2]}}",              // wrong type
		"models: {main: {api_key: a, api_key: hunter2hunter2}}",    // set twice
		"telegram: {token: hunter2hunter2, mode: nonsense}",        // one mistake beside it
		"nonsense: {deep: [{er: hunter2hunter2}]}",                 // unknown block
		"models: {main: {model: m}}\n# password: hunter2hunter2\n", // commented out
		"store: {type: postgres, url: 'postgres://u:hunter2hunter2@h/db'}",
	} {
		if h := hide(t, text); strings.Contains(h.Text, "hunter2") {
			t.Errorf("got %q", h.Text)
		}
	}
	for _, text := range []string{"", "a: [", "a: b: c", "- \xff", "a: \x00b"} {
		if h, err := conf.ReadDraft("config.yaml", text, environment).Hide(mark); !errors.Is(err, conf.ErrNotHidden) || h.Text != "" {
			t.Errorf("%q: got %q, %v, want ErrNotHidden", text, h.Text, err)
		}
	}
}

// TestRestoreMistakes: marks are refused where their secrets would be shown or go
// elsewhere, with their places in the text with marks.
func TestRestoreMistakes(t *testing.T) {
	const file = `
models:
  main: {base_url: "http://127.0.0.1:1/v1", model: m, api_key: &k SECRETSECRET1}
servers:
  a: {command: a, env: {A_TOKEN: SECRETSECRET2}, args: [x, --key, SECRETSECRET3]}
# old_token: SECRETSECRET4
`
	h := hide(t, file)
	one, two, three, four := mark("SECRETSECRET1"), mark("SECRETSECRET2"), mark("SECRETSECRET3"), mark("SECRETSECRET4")
	for _, c := range []struct {
		what     string
		from, to string
		want     string // part of the only mistake; empty for none
	}{
		{"moved to a prompt", "servers:", "instructions: " + one + "\nservers:", `4:15: instructions: ` + one + ` stands for a secret at models.main.api_key`},
		{"moved by an alias", "servers:", "instructions: *k\nservers:", "instructions: " + one + " stands for a secret at"},
		{"moved to another secret", "A_TOKEN: " + two, "A_TOKEN: " + one, "servers.a.env.A_TOKEN: " + one + " stands for"},
		{"moved within a list", "[x, --key", "[--key", ""},
		{"moved into a comment that hides it", "A_TOKEN: " + two + "}, args", "B: c}, # A_TOKEN: " + two + "\n      args", ""},
		{"moved into a comment that shows it", "A_TOKEN: " + two + "}, args", "B: c}, # " + two + "\n      args", "5:34: the secret would be shown here"},
		{"moved from a comment", "servers:", "language: " + four + "\nservers:", "stands for a secret in a comment"},
		{"comment removed", "# old_token: " + four + "\n", "", ""},
		{"as a key", "servers:", three + ": 1\nservers:", "cannot be a key"},
		{"unknown", one, conf.NewMark("00000000"), "3:67: «hidden:00000000» stands for no secret of this file"},
		{"part of a value", "A_TOKEN: " + two, "A_TOKEN: x" + two, ""},
		{"broken YAML", "servers:", "servers: [", "is not valid YAML"},
	} {
		text := strings.Replace(h.Text, c.from, c.to, 1)
		if text == h.Text {
			t.Fatalf("%s: %q is not in\n%s", c.what, c.from, h.Text)
		}
		r, errs := restore(h, text)
		if errs == nil {
			errs = r.Shows("config.yaml", conf.ReadDraft("config.yaml", r.Text, environment))
		}
		if got := errs.Error(); c.want == "" && errs != nil || c.want != "" && (len(errs) != 1 || !strings.Contains(got, c.want)) {
			t.Errorf("%s: got %s, want %q in\n%s", c.what, got, c.want, text)
		}
	}
}

// TestRestoredPlaces: a mistake behind a secret has its place in the text with marks.
func TestRestoredPlaces(t *testing.T) {
	h := hide(t, "models:\n  main: {base_url: 'http://127.0.0.1:1/v1', api_key: aVeryLongSecretThatIsHidden, model: m}\n")
	text := strings.Replace(h.Text, "model: m", "modl: m", 1)
	r, errs := restore(h, text)
	if errs != nil {
		t.Fatal(errs)
	}
	got := r.Place("config.yaml", conf.ReadDraft("config.yaml", r.Text, environment).Errors)
	line := strings.Split(text, "\n")[1]
	if want := len([]rune(line[:strings.Index(line, "modl:")])) + 1; len(got) != 1 || got[0].Line != 2 || got[0].Column != want {
		t.Errorf("got %v, want one mistake at 2:%d", got, want)
	}
}

// TestMessagesHideSecrets: no message about a draft shows a secret that was put back into
// it, whole or cut.
func TestMessagesHideSecrets(t *testing.T) {
	h := hide(t, "models:\n  main: {model: m, base_url: 'https://user:SECRETSECRETSECRET@127.0.0.1/v1'}\n")
	for _, scheme := range []string{"ftp:", "ftp://127.0.0.1/aaaaaaaa", "no address at all "} {
		text := strings.Replace(h.Text, "https:", scheme, 1)
		r, errs := restore(h, text)
		if errs != nil {
			t.Fatal(errs)
		}
		got := r.Place("config.yaml", conf.ReadDraft("config.yaml", r.Text, environment).Errors)
		if len(got) == 0 || strings.Contains(got.Error(), "SECRETSECR") {
			t.Errorf("%s: got %v, want a mistake without the secret", scheme, got)
		}
	}
}

// TestHideExample: the reference of all keys can be shown, and is the same afterwards.
func TestHideExample(t *testing.T) {
	text, err := os.ReadFile("../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	h := hide(t, string(text))
	if len(h.Marks) > 0 {
		t.Errorf("hidden in the example, which has no secrets: %v", h.Marks)
	}
	if r, errs := restore(h, h.Text); errs != nil || r.Text != string(text) {
		t.Errorf("restored: %v", errs)
	}
}

func TestSensitive(t *testing.T) {
	const file = `
models: {main: {base_url: "http://a", model: m, api_key: k}}
servers: {a: {command: a, args: [b], sandbox: {}}}
http: {tokens: [{name: x, role: viewer}]}
access: {admins: ["telegram:1"]}
groups: {web: {approve: writes}}
`
	for _, c := range []struct {
		from, to string
		want     string
	}{
		{"model: m", "model: n", ""},
		{"approve: writes", "approve: never", ""},
		{"\nmodels", "\n# a comment\nmodels", ""},
		{"approve: writes", "instructions: '${file:/etc/passwd}'", "groups.web.instructions"},
		{"approve: writes", "instructions: costs $5", ""},
		{`"http://a"`, `"http://b"`, "models.main.base_url"},
		{"main:", "evil.price:", "models.evil.price.api_key models.evil.price.base_url models.main.api_key models.main.base_url"},
		{"args: [b]", "args: [b, c]", "servers.a.args"},
		{", sandbox: {}", "", "servers.a.sandbox"},
		{"role: viewer", "role: admin", "http.tokens[].role"},
		{`["telegram:1"]`, `["telegram:1", "telegram:2"]`, "access.admins"},
		{"groups:", "x: &a {command: c}\ngroups:", "x.command"},
		{"{a: {", "{b: {url: c}, a: {", "servers.b.url"},
		{"groups:", "import_servers: [mcp.json]\ngroups:", "import_servers"},
		{"groups:", "data_dir: elsewhere\ngroups:", "data_dir"},
		{"groups:", "files: {fonts: [/root]}\ngroups:", "files.fonts"},
	} {
		after := strings.Replace(file, c.from, c.to, 1)
		if got := conf.Sensitive(file, after); strings.Join(got, " ") != c.want || after == file {
			t.Errorf("%q to %q: got %v, want %s", c.from, c.to, got, c.want)
		}
	}
	if got := conf.Sensitive("a: [", file); !slices.Contains(got, "servers.a.command") {
		t.Errorf("before is no YAML: got %v, want all sensitive keys of after", got)
	}
}
