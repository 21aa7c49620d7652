// Package confedit lets admins edit the config file from a browser: it shows the file
// with its secrets hidden, checks texts, replaces the file in one step, keeps its earlier
// contents, and asks for a code before a change that could take over the machine.
package confedit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"legwork/conf"
	"legwork/internal/fsutil"
	"legwork/tasks"
	"legwork/tasks/api"
	webapi "legwork/web/api"
)

// Config is the configuration of an Editor. All fields but Path are needed.
type Config struct {
	// Path is the config file. Empty: the configuration comes from elsewhere, and there
	// is nothing to edit.
	Path string
	// Folder gets the earlier contents of the file. New does not create it.
	Folder string
	// Env looks up a variable as it would be when legwork reads the file.
	Env func() (func(string) (string, bool), error)
	// Reload lets the process use the file. problem says why it does not; restart lists
	// the keys that take effect after a restart.
	Reload func(ctx context.Context) (problem string, restart []string)
	// Code shows people a code for the change with an id. An error says why it cannot.
	Code func(ctx context.Context, id string, change Change) (until time.Time, err error)
	// Fits reports whether a code is the one that was shown for a change.
	Fits func(id, code string) bool
	// Record adds an entry to the audit log.
	Record func(context.Context, tasks.AuditEntry)
	// Now is the clock.
	Now func() time.Time
}

// Change describes a change to the people who see its code.
type Change struct {
	Who  string   // who wants to save it: the key of a person or token
	Keys []string // that need the code
}

// Editor implements webapi.ConfigFile. It is safe for concurrent use.
type Editor struct {
	Config
	saving sync.Mutex
	secret func() []byte // of marks
}

var _ webapi.ConfigFile = (*Editor)(nil)

// New makes an Editor.
func New(c Config) *Editor {
	return &Editor{Config: c, secret: sync.OnceValue(func() []byte { return markSecret(c.Folder) })}
}

// markSecret is what marks are made with, kept beside the earlier contents: a draft in a
// browser outlives the process. Where it cannot be kept, marks are good until the end of
// the process.
func markSecret(folder string) []byte {
	path := filepath.Join(folder, "marks.key")
	if key, err := os.ReadFile(path); err == nil && len(key) == sha256.Size {
		return key
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	if os.MkdirAll(folder, 0o700) == nil {
		_, _ = fsutil.Write(context.Background(), path, write(key))
	}
	return key
}

// mark is the mark of a part of a secret. A guess cannot be checked with it without the
// key.
func (e *Editor) mark(part string) string {
	sum := hmac.New(sha256.New, e.secret())
	sum.Write([]byte(part))
	return conf.NewMark(hex.EncodeToString(sum.Sum(nil)[:4]))
}

// draft is a text of the file with its secrets in place, and what is wrong with it.
type draft struct {
	conf.Draft
	text   string // as it would be saved, with \n
	errors conf.Errors
}

// draft reads a text with marks. The errors have their places in that text. base are the
// marks of the file as it is now.
func (e *Editor) draft(text string, base conf.Hidden) (draft, error) {
	env, err := e.Env()
	if err != nil {
		return draft{}, fmt.Errorf("reading the environment of the config: %w", err)
	}
	text = newlines(text)
	known := e.lookup(base, env)
	restored, errs := conf.Restore(e.Path, text, known)
	d := draft{Draft: conf.ReadDraft(e.Path, restored.Text, env), text: restored.Text, errors: errs}
	if len(errs) == 0 {
		d.errors = restored.Place(e.Path, d.Errors)
	}
	if len(d.errors) == 0 {
		d.errors = restored.Shows(e.Path, d.Draft)
	}
	d.Warnings = restored.Place(e.Path, d.Warnings)
	return d, nil
}

// lookup finds marks: of the file, and then of its earlier contents, so that these can be
// restored.
func (e *Editor) lookup(base conf.Hidden, env func(string) (string, bool)) func(string) (conf.Mark, bool) {
	earlier := sync.OnceValue(func() []conf.Hidden {
		var all []conf.Hidden
		list, _ := e.list() // without it, marks of earlier contents are unknown
		for _, v := range list {
			if raw, err := os.ReadFile(v.path); err == nil {
				if hidden, err := conf.ReadDraft(e.Path, newlines(string(raw)), env).Hide(e.mark); err == nil {
					all = append(all, hidden)
				}
			}
		}
		return all
	})
	return func(mark string) (conf.Mark, bool) {
		if m, ok := base.Marks[mark]; ok {
			return m, true
		}
		for _, hidden := range earlier() {
			if m, ok := hidden.Marks[mark]; ok {
				return m, true
			}
		}
		return conf.Mark{}, false
	}
}

// hide hides the secrets of a text.
func (e *Editor) hide(text string) (conf.Draft, conf.Hidden, error) {
	env, err := e.Env()
	if err != nil {
		return conf.Draft{}, conf.Hidden{}, fmt.Errorf("reading the environment of the config: %w", err)
	}
	d := conf.ReadDraft(e.Path, text, env)
	hidden, err := d.Hide(e.mark)
	return d, hidden, err
}

const (
	whyEnvironment = "The configuration comes from environment variables. Put a file config.yaml into the folder where legwork starts, and start it again, to edit it here."
	whyNotHidden   = "The file is not shown, because legwork cannot tell its secrets from the rest of it; see the mistakes. Mend it in a text editor, or restore an earlier version."
)

// Read implements webapi.ConfigFile.
func (e *Editor) Read(context.Context) (webapi.ConfigText, error) {
	out := webapi.ConfigText{Path: e.Path, Errors: []webapi.ConfigMistake{}, Warnings: []webapi.ConfigMistake{}}
	f, err := e.read()
	if err != nil {
		if out.Why = sentence(err.Error()); e.Path == "" {
			out.Why = whyEnvironment
		}
		return out, nil
	}
	d, hidden, err := e.hide(f.text)
	if err != nil && !errors.Is(err, conf.ErrNotHidden) {
		return out, err
	}
	out.ETag, out.Text, out.Why = f.tag(), hidden.Text, f.readOnly()
	out.Writable = out.Why == ""
	if err != nil {
		out.Text, out.Why = "", whyNotHidden
		for i, one := range d.Errors {
			d.Errors[i].Problem = quoted.ReplaceAllString(one.Problem, "anchor") // it may be a secret
		}
	}
	out.Errors, out.Warnings = e.mistakes(hidden.Clean(d.Errors)), e.mistakes(hidden.Clean(d.Warnings))
	return out, nil
}

// quoted is the part of messages of the YAML parser that comes from the text.
var quoted = regexp.MustCompile(`anchor '[^']*'`)

// sentence makes an error a sentence.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// mistakes are errors for the page.
func (e *Editor) mistakes(errs conf.Errors) []webapi.ConfigMistake {
	list := make([]webapi.ConfigMistake, 0, len(errs))
	for _, one := range errs {
		m := webapi.ConfigMistake{Line: one.Line, Column: one.Column, Key: one.Key, Message: one.Problem}
		if one.File != e.Path {
			m.File = one.File
		}
		list = append(list, m)
	}
	return list
}

// Schema implements webapi.ConfigFile.
func (*Editor) Schema() []byte { return conf.Schema() }

// Check implements webapi.ConfigFile.
func (e *Editor) Check(_ context.Context, text string) (webapi.ConfigCheck, error) {
	f, hidden, d, err := e.compare(text)
	if err != nil {
		return webapi.ConfigCheck{}, err
	}
	out := webapi.ConfigCheck{Errors: e.mistakes(d.errors), Warnings: e.mistakes(d.Warnings), Dangerous: []string{}}
	// The difference is between texts with marks, so that it shows no secret.
	out.Diff = udiff.Unified("saved", "draft", hidden.Text, newlines(text))
	if keys := conf.Sensitive(f.text, d.text); len(keys) > 0 {
		out.Dangerous = keys
	}
	return out, nil
}

// compare reads the file and a text for it.
func (e *Editor) compare(text string) (f file, hidden conf.Hidden, d draft, err error) {
	if f, err = e.read(); err != nil {
		return f, hidden, d, &webapi.ConfigError{ReadOnly: sentence(err.Error())}
	}
	if _, hidden, err = e.hide(f.text); err != nil && !errors.Is(err, conf.ErrNotHidden) {
		return f, hidden, d, err
	}
	d, err = e.draft(text, hidden)
	return f, hidden, d, err
}

// SendCode implements webapi.ConfigFile.
func (e *Editor) SendCode(ctx context.Context, who api.Principal, text string) (webapi.ConfigCode, error) {
	f, _, d, err := e.compare(text)
	if err != nil {
		return webapi.ConfigCode{}, err
	}
	if len(d.errors) > 0 {
		return webapi.ConfigCode{}, &webapi.ConfigError{Mistakes: e.mistakes(d.errors)}
	}
	keys := conf.Sensitive(f.text, d.text)
	if len(keys) == 0 {
		return webapi.ConfigCode{}, &api.InvalidError{Field: "text", Detail: "this change needs no code"}
	}
	until, err := e.Code(ctx, changeID(d.text), Change{Who: who.Key(), Keys: keys})
	if err != nil {
		return webapi.ConfigCode{}, &webapi.ConfigError{Code: keys, Detail: sentence(err.Error())}
	}
	e.Record(ctx, tasks.AuditEntry{Who: who.Key(), Role: string(who.Role), Action: "config.code", Target: e.Path, Detail: "for: " + strings.Join(keys, ", "), From: who.Addr})
	return webapi.ConfigCode{Dangerous: keys, ExpiresAt: api.Time{Time: until}}, nil
}

// changeID binds a code to exactly one text.
func changeID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "config:" + hex.EncodeToString(sum[:])
}

// Save implements webapi.ConfigFile.
func (e *Editor) Save(ctx context.Context, who api.Principal, text, code string, tags []string) (webapi.ConfigSaved, error) {
	e.saving.Lock()
	defer e.saving.Unlock()
	f, _, d, err := e.compare(text)
	if err != nil {
		return webapi.ConfigSaved{}, err
	}
	if why := f.readOnly(); why != "" {
		return webapi.ConfigSaved{}, &webapi.ConfigError{ReadOnly: why}
	}
	if !contains(tags, f.tag()) {
		return webapi.ConfigSaved{}, &webapi.ConfigError{Changed: true}
	}
	content := f.bytes(d.text)
	if len(d.errors) == 0 && len(content) > maxFile {
		d.errors = conf.Errors{{File: e.Path, Problem: fmt.Sprintf("is larger than %d bytes", maxFile)}}
	}
	if len(d.errors) > 0 {
		return webapi.ConfigSaved{}, &webapi.ConfigError{Mistakes: e.mistakes(d.errors)}
	}
	keys := conf.Sensitive(f.text, d.text)
	if len(keys) > 0 && !e.Fits(changeID(d.text), code) {
		why := "This change could take over the machine. legwork shows a code for it to its admins."
		if code != "" {
			why = "The code is wrong, has expired, or was shown for another text. Ask for a new one."
			e.Record(ctx, tasks.AuditEntry{Who: who.Key(), Role: string(who.Role), Action: "code.wrong", Target: e.Path, From: who.Addr})
		}
		return webapi.ConfigSaved{}, &webapi.ConfigError{Code: keys, Detail: why}
	}
	if err := e.keep(ctx, f, who); err != nil {
		return webapi.ConfigSaved{}, err
	}
	if err := f.replace(ctx, content); err != nil {
		return webapi.ConfigSaved{}, err
	}
	detail := "lines changed: " + lines(f.text, d.text)
	if len(keys) > 0 {
		detail += "; with a code: " + strings.Join(keys, ", ")
	}
	e.Record(ctx, tasks.AuditEntry{Who: who.Key(), Role: string(who.Role), Action: "config.save", Target: e.Path, Detail: detail, From: who.Addr})
	saved := webapi.ConfigSaved{ETag: file{raw: content}.tag(), Restart: []string{}}
	problem, restart := e.Reload(ctx)
	saved.Problem, saved.Restart = problem, append(saved.Restart, restart...)
	return saved, nil
}

func contains(tags []string, tag string) bool {
	for _, one := range tags {
		if one == tag { // strong comparison: a weak tag never fits
			return true
		}
	}
	return false
}

// lines counts the lines that were added and removed.
func lines(before, after string) string {
	added, removed := 0, 0
	for line := range strings.SplitSeq(udiff.Unified("", "", before, after), "\n") {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return fmt.Sprintf("+%d -%d", added, removed)
}
