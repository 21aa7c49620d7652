package confedit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/app/confedit"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	webapi "legwork/web/api"
)

const valid = `# By hand.
models:
  main: {base_url: "http://127.0.0.1:1/v1", model: small, api_key: SECRETSECRET}
servers:
  web: {builtin: web}
`

// env is an editor of a file in a folder of its own.
type env struct {
	*confedit.Editor
	t       *testing.T
	path    string
	shown   map[string]confedit.Change // by the ids of changes; the code is "code of ID"
	reloads int
	audit   []tasks.AuditEntry
	clock   time.Time
}

func newEnv(t *testing.T, content string) *env {
	t.Helper()
	folder := t.TempDir()
	e := &env{t: t, path: filepath.Join(folder, "config.yaml"), shown: map[string]confedit.Change{}, clock: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)}
	e.write(content)
	e.Editor = e.at(e.path)
	return e
}

// at is an editor of the file under another path.
func (e *env) at(path string) *confedit.Editor {
	return confedit.New(confedit.Config{
		Path: path, Folder: filepath.Join(filepath.Dir(e.path), "data", "config-versions"), Now: func() time.Time { return e.clock },
		Env: func() (func(string) (string, bool), error) {
			return func(string) (string, bool) { return "", false }, nil
		},
		Reload: func(context.Context) (string, []string) { e.reloads++; return "", []string{"telegram"} },
		Code: func(_ context.Context, id string, c confedit.Change) (time.Time, error) {
			e.shown[id] = c
			return e.clock.Add(10 * time.Minute), nil
		},
		Fits:   func(id, code string) bool { _, ok := e.shown[id]; return ok && code == "code of "+id },
		Record: func(_ context.Context, a tasks.AuditEntry) { e.audit = append(e.audit, a) },
	})
}

func (e *env) write(content string) {
	e.t.Helper()
	if err := os.WriteFile(e.path, []byte(content), 0o640); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) content() string {
	e.t.Helper()
	raw, err := os.ReadFile(e.path)
	if err != nil {
		e.t.Fatal(err)
	}
	return string(raw)
}

func (e *env) read() webapi.ConfigText {
	e.t.Helper()
	now, err := e.Read(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	return now
}

var ops = api.Principal{Name: "ops", Role: policy.RoleAdmin}

// save saves the text of the file after a replacement, with its tag.
func (e *env) save(from, to, code string) (webapi.ConfigSaved, error) {
	e.t.Helper()
	now := e.read()
	return e.Save(e.t.Context(), ops, strings.Replace(now.Text, from, to, 1), code, []string{now.ETag})
}

// refused returns the reason for which a text was not saved.
func refused(t *testing.T, err error) *webapi.ConfigError {
	t.Helper()
	var why *webapi.ConfigError
	if !errors.As(err, &why) {
		t.Fatalf("got error %v, want a ConfigError", err)
	}
	return why
}

// TestSave: a text is saved as it is, with its secret, its comments and its rights, is used
// at once, and the content before is kept.
func TestSave(t *testing.T) {
	e := newEnv(t, valid)
	if now := e.read(); strings.Contains(now.Text, "SECRET") || !now.Writable || now.Why != "" || len(now.Errors) != 0 {
		t.Fatalf("got %+v", now)
	}
	saved, err := e.save("model: small", "model: large", "")
	if err != nil || saved.Restart[0] != "telegram" || e.reloads != 1 {
		t.Fatalf("got %+v, %v after %d reloads", saved, err, e.reloads)
	}
	if got, want := e.content(), strings.Replace(valid, "model: small", "model: large", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if info, err := os.Stat(e.path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got rights %v, %v", info.Mode(), err)
	}
	if e.read().ETag != saved.ETag {
		t.Errorf("the tag of the reply is not that of the file")
	}
	if len(e.audit) != 1 || e.audit[0].Action != "config.save" || e.audit[0].Who != "api:ops" || e.audit[0].Detail != "lines changed: +1 -1" {
		t.Errorf("got audit log %+v", e.audit)
	}
	entries, err := os.ReadDir(filepath.Dir(e.path))
	if err != nil || len(entries) != 2 {
		t.Errorf("got files %v, %v, want the config and the data", entries, err)
	}
}

// TestVersions: earlier contents are listed and shown without secrets, the last 50 are
// kept, and one of them can be restored with its secrets.
func TestVersions(t *testing.T) {
	e := newEnv(t, valid)
	if _, err := e.save("api_key: "+mark(t, e.read().Text), "api_key: ANOTHERSECRET", "code"); err == nil {
		t.Fatal("a key was changed without a code")
	}
	for i := range 55 { // within one millisecond: ids stay apart
		if _, err := e.save("# By hand.", fmt.Sprintf("# By hand. %d", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	e.write(strings.Replace(valid, "SECRETSECRET", "ANOTHERSECRET", 1)) // in a text editor
	list, err := e.Versions(t.Context())
	if err != nil || len(list) != 50 || list[0].ID <= list[1].ID || list[0].ReplacedBy != "api:ops" {
		t.Fatalf("got %d versions, %v", len(list), err)
	}
	old, err := e.Version(t.Context(), list[0].ID)
	if err != nil || strings.Contains(old.Text, "SECRETSECRET") || !strings.Contains(old.Text, "# By hand. 53") {
		t.Fatalf("got %+v, %v", old, err)
	}
	checked, err := e.Check(t.Context(), old.Text)
	if err != nil || len(checked.Errors) > 0 || len(checked.Dangerous) != 1 || strings.Contains(checked.Diff, "SECRET") {
		t.Fatalf("got %+v, %v", checked, err)
	}
	if _, err := e.SendCode(t.Context(), ops, old.Text); err != nil {
		t.Fatal(err)
	}
	for id := range e.shown {
		if _, err := e.Save(t.Context(), ops, old.Text, "code of "+id, []string{e.read().ETag}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(e.content(), "api_key: SECRETSECRET") {
		t.Errorf("got %s", e.content())
	}
	for _, id := range []string{"", "..", "../config", "20260101T000000.000Z"} {
		if _, err := e.Version(t.Context(), id); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("version %q: got %v, want ErrNotFound", id, err)
		}
	}
}

// mark is the first mark of a text.
func mark(t *testing.T, text string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, "«hidden:")
	if !ok {
		t.Fatalf("no mark in %q", text)
	}
	return "«hidden:" + after[:8] + "»"
}

// TestConflict: of two admins who save at once, one saves and the other one gets a
// conflict; so does an admin whose file was changed by hand meanwhile.
func TestConflict(t *testing.T) {
	e := newEnv(t, valid)
	now := e.read()
	errs := make([]error, 2)
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() {
			_, errs[i] = e.Save(t.Context(), ops, now.Text+fmt.Sprintf("# %d\n", i), "", []string{now.ETag})
		})
	}
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !refused(t, errors.Join(errs...)).Changed {
		t.Errorf("got %v", errs)
	}
	now = e.read()
	e.write(valid + "# by hand\n")
	_, err := e.Save(t.Context(), ops, now.Text, "", []string{now.ETag})
	if !refused(t, err).Changed || e.content() != valid+"# by hand\n" {
		t.Errorf("got %v, and the file %q", err, e.content())
	}
}

// TestCode: a sensitive change needs the code of exactly this text, and says which keys.
func TestCode(t *testing.T) {
	e := newEnv(t, valid)
	const from, to = "servers:", "servers:\n  sh: {command: sh}"
	_, err := e.save(from, to, "")
	if why := refused(t, err); len(why.Code) != 1 || why.Code[0] != "servers.sh.command" {
		t.Fatalf("got %+v", why)
	}
	text := strings.Replace(e.read().Text, from, to, 1)
	if sent, err := e.SendCode(t.Context(), ops, text); err != nil || !sent.ExpiresAt.Equal(e.clock.Add(10*time.Minute)) {
		t.Fatalf("got %+v, %v", sent, err)
	}
	if _, err := e.SendCode(t.Context(), ops, e.read().Text); err == nil {
		t.Error("a code was shown for a text that needs none")
	}
	for id, change := range e.shown {
		if change.Who != "api:ops" || len(change.Keys) != 1 {
			t.Errorf("people read %+v", change)
		}
		_, err := e.save(from, to+" # another text", "code of "+id)
		if why := refused(t, err); len(why.Code) == 0 || e.content() != valid {
			t.Errorf("another text: got %+v", why)
		}
		if _, err := e.save(from, to, "code of "+id); err != nil || !strings.Contains(e.content(), "command: sh") {
			t.Errorf("got %v", err)
		}
	}
}

// TestBadTexts: a text with mistakes is not saved, and nothing else changes.
func TestBadTexts(t *testing.T) {
	e := newEnv(t, valid)
	bomb := "x: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("x%d: &%c [%s]\n", i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 10), ","))
	}
	for what, text := range map[string]string{
		"a tab":          "models:\n\tmain: {}\n",
		"no YAML":        "models: [",
		"a NUL":          "language: \"a\x00b\"",
		"not UTF-8":      valid + "# \xff",
		"aliases":        valid + bomb,
		"a loop":         "models: &a {main: *a}",
		"two documents":  valid + "---\n" + valid,
		"empty":          "\n",
		"unknown key":    valid + "modles: {}\n",
		"too large":      valid + strings.Repeat("# 9 bytes\n", 110_000),
		"a moved secret": valid + "instructions: " + mark(t, e.read().Text) + "\n",
	} {
		_, err := e.Save(t.Context(), ops, text, "", []string{e.read().ETag})
		why := refused(t, err)
		if len(why.Mistakes) == 0 || e.content() != valid || e.reloads != 0 {
			t.Errorf("%s: got %+v, and the file %q", what, why, e.content())
		}
		if _, err := e.Check(t.Context(), text); err != nil {
			t.Errorf("checking %s: %v", what, err)
		}
	}
}

// TestLineEnds: a file that has CRLF or a byte order mark keeps it.
func TestLineEnds(t *testing.T) {
	e := newEnv(t, "\ufeff"+strings.ReplaceAll(valid, "\n", "\r\n"))
	if now := e.read(); strings.ContainsAny(now.Text, "\r\ufeff") || len(now.Errors) > 0 {
		t.Fatalf("got %+v", now)
	}
	if _, err := e.save("# By hand.", "# Edited.", ""); err != nil {
		t.Fatal(err)
	}
	if got, want := e.content(), strings.Replace("\ufeff"+strings.ReplaceAll(valid, "\n", "\r\n"), "By hand", "Edited", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReadOnly: a file that legwork may not or cannot replace is shown with the reason.
func TestReadOnly(t *testing.T) {
	e := newEnv(t, valid)
	if err := os.Chmod(e.path, 0o440); err != nil {
		t.Fatal(err)
	}
	if now := e.read(); now.Writable || !strings.Contains(now.Why, "read-only") || now.Text == "" {
		t.Errorf("got %+v", now)
	}
	if _, err := e.save("small", "large", ""); !strings.Contains(refused(t, err).ReadOnly, "read-only") {
		t.Errorf("got %v", err)
	}
	none := e.at("")
	if now, err := none.Read(t.Context()); err != nil || now.Writable || !strings.Contains(now.Why, "environment variables") || now.Text != "" {
		t.Errorf("without a file: got %+v, %v", now, err)
	}
	if _, err := none.Save(t.Context(), ops, valid, "", []string{`"1"`}); refused(t, err).ReadOnly == "" {
		t.Errorf("without a file: got %v", err)
	}
	if now, err := e.at(filepath.Dir(e.path)).Read(t.Context()); err != nil || now.Writable || !strings.Contains(now.Why, "not a regular file") {
		t.Errorf("a folder: got %+v, %v", now, err)
	}
	if now, err := e.at(e.path + ".gone").Read(t.Context()); err != nil || now.Writable || now.Why == "" {
		t.Errorf("a missing file: got %+v, %v", now, err)
	}
}

// TestLink: a link to the file stays a link.
func TestLink(t *testing.T) {
	e := newEnv(t, valid)
	link := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.Symlink(e.path, link); err != nil {
		t.Fatal(err)
	}
	e.Editor = e.at(link)
	if _, err := e.save("small", "large", ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(e.content(), "large") {
		t.Errorf("got %v, %v, and the file %q", info, err, e.content())
	}
}

// TestBrokenFile: a file that is not YAML is not shown, since its secrets cannot be told
// apart; it can be replaced, with a code.
func TestBrokenFile(t *testing.T) {
	e := newEnv(t, valid)
	if _, err := e.save("small", "large", ""); err != nil {
		t.Fatal(err)
	}
	e.write("api_key: [SECRETSECRET\n")
	now := e.read()
	if now.Text != "" || now.Why == "" || len(now.Errors) != 1 || now.Errors[0].Line == 0 {
		t.Fatalf("got %+v", now)
	}
	list, err := e.Versions(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	old, err := e.Version(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.SendCode(t.Context(), ops, old.Text); err != nil {
		t.Fatal(err)
	}
	for id := range e.shown {
		if _, err := e.Save(t.Context(), ops, old.Text, "code of "+id, []string{now.ETag}); err != nil || e.content() != valid {
			t.Errorf("got %v, and the file %q", err, e.content())
		}
	}
	list, err = e.Versions(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("got %v, %v", list, err)
	}
	if broken, err := e.Version(t.Context(), list[0].ID); err != nil || broken.Text != "" || broken.Why == "" {
		t.Errorf("got %+v, %v", broken, err)
	}
}
