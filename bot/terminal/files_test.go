package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
)

// written writes a file of a person and returns its path.
func written(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAttachAndFetch(t *testing.T) {
	dir := t.TempDir()
	path := written(t, dir, "a b.png", "picture")
	a, err := Attach(path)
	if want := (bot.Attachment{Ref: path, Kind: bot.AttachPhoto, Name: "a b.png", Type: "image/png", Bytes: 7}); err != nil || a != want {
		t.Errorf("attaching gave %+v, %v, want %+v", a, err, want)
	}
	t.Chdir(dir)
	if b, err := Attach("a b.png"); err != nil || filepath.Base(b.Ref) != "a b.png" || !filepath.IsAbs(b.Ref) {
		t.Errorf("attaching a relative path gave %+v, %v, want an absolute one", b, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []bot.Fetcher{New(Config{}), NewHub("me")} {
		var b bytes.Buffer
		if err := f.Fetch(t.Context(), bot.Chat{}, a, &b); err != nil || b.String() != "picture" {
			t.Errorf("fetching gave %q, %v", b.String(), err)
		}
		full := errors.New("disk full")
		if err := f.Fetch(t.Context(), bot.Chat{}, a, failing{full}); err != full { //nolint:errorlint // it comes as it is
			t.Errorf("fetching onto a full disk gave %v", err)
		}
		for bad, says := range map[string]string{
			dir: "folder", pipe: "device or a pipe", "/dev/zero": "device or a pipe", filepath.Join(dir, "none"): "no such file", "a b.png": "not absolute",
		} {
			if err := f.Fetch(t.Context(), bot.Chat{}, bot.Attachment{Ref: bad}, &b); !errors.Is(err, bot.ErrFileGone) || !strings.Contains(err.Error(), says) {
				t.Errorf("fetching %s gave %v, want ErrFileGone with %q", bad, err, says)
			}
			if filepath.IsAbs(bad) {
				if _, err := Attach(bad); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("attaching %s gave %v, want %q", bad, err, says)
				}
			}
		}
	}
}

// failing is a writer onto a disk that is full.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// names are the names of a message's files.
func names(m bot.Message) string { return namesOf(m.Files) }

func TestLinesWithFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := written(t, dir, "a.txt", "x"), written(t, dir, "b b.txt", "x")
	first, err := Attach(a)
	if err != nil {
		t.Fatal(err)
	}
	var progress buffer
	in := &inbox{}
	in.t = New(Config{
		In:    strings.NewReader("/status\nfirst\n/file " + b + "\n/file '" + a + "'\nsecond\n/file /none\n/file " + a + "\n/file -\n/file\n" + a + "\n/task third\n"),
		Files: []bot.Attachment{first}, Err: &progress, Texts: loadTexts(t), Person: "me",
	})
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range in.got {
		got = append(got, m.Text+": "+names(m))
	}
	want := []string{"/status: ", "first: a.txt", "second: b b.txt, a.txt", a + ": ", "/task third: "} // in a pipe, a path is a text
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if text := progress.String(); !in.t.Failed() || !strings.Contains(text, "✗ /none is not attached: there is no such file.") || !strings.Contains(text, "goes: b b.txt, a.txt") || strings.Count(text, "No file goes along") != 2 {
		t.Errorf("Failed() is %v and the person reads\n%s", in.t.Failed(), text)
	}
}

func TestOnceWithFiles(t *testing.T) {
	a, err := Attach(written(t, t.TempDir(), "a.txt", "x"))
	if err != nil {
		t.Fatal(err)
	}
	var out, progress buffer
	dir := t.TempDir()
	in := &inbox{}
	in.t = New(Config{Text: "ask", Files: []bot.Attachment{a}, Dir: dir, Out: &out, Err: &progress, Texts: loadTexts(t), Wait: func(context.Context) error { return nil }})
	in.script = func(m bot.Message) {
		mustPost(t, in.t, madeFile("t", "See **this**."))
		mustPost(t, in.t, madeFile("t", ""))
		mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", ReplyTo: m.ID, Text: "Done."})
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if len(in.got) != 1 || names(in.got[0]) != "a.txt" {
		t.Errorf("the message is %+v, want its file", in.got)
	}
	want := "Saved: " + filepath.Join(dir, "report.tar") + "\nSee this.\nSaved: " + filepath.Join(dir, "report-2.tar") + "\n"
	if diff := cmp.Diff(want, progress.String()); diff != "" || out.String() != "Done.\n" {
		t.Errorf("the answer is %q, and progress (-want +got):\n%s", out.String(), diff)
	}
}

// madeFile is a draft that is a file.
func madeFile(task, text string) bot.Draft {
	return bot.Draft{Kind: bot.KindAnswer, Task: task, Text: text, File: &bot.File{Name: "../../report.tar", As: bot.AsDocument, Content: []byte("made")}}
}

func TestEventsWithFiles(t *testing.T) {
	dir := t.TempDir()
	a := written(t, dir, "a.txt", "x")
	line, err := json.Marshal(map[string]any{"id": "1", "files": []string{a}})
	if err != nil {
		t.Fatal(err)
	}
	var out buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader(string(line) + "\n" + `{"id":"2","text":"x","files":["/none"]}` + "\n" + `{"id":"3"}` + "\n"), Out: &out, JSON: true, Dir: dir})
	in.script = func(m bot.Message) { mustPost(t, in.t, madeFile("t", "see")) }
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if len(in.got) != 1 || names(in.got[0]) != "a.txt" || in.got[0].Text != "" {
		t.Errorf("the messages are %+v, want the file alone", in.got)
	}
	var saved event
	for line := range strings.Lines(out.String()) {
		var ev event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == "file" {
			saved = ev
		}
	}
	if want := filepath.Join(dir, "report.tar"); len(saved.Files) != 1 || saved.Files[0] != want || *saved.Text != "see" || saved.File != nil {
		t.Errorf("the event is %+v, want the path %s alone", saved, want)
	}
	if text := out.String(); !strings.Contains(text, "attaching /none") || !strings.Contains(text, "line 3 has no text") {
		t.Errorf("the events are\n%s\nwant an error about each bad line", text)
	}
}

// TestSaveWritesNothingOver: names that exist, also links, are left alone.
func TestSaveWritesNothingOver(t *testing.T) {
	dir := t.TempDir()
	written(t, dir, "report.tar", "mine")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "report-2.tar")); err != nil {
		t.Fatal(err)
	}
	term := New(Config{Dir: dir})
	made := madeFile("", "")
	path, err := term.save(&made)
	if err != nil || path != filepath.Join(dir, "report-3.tar") {
		t.Fatalf("saved as %s, %v, want report-3.tar", path, err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "report.tar")); err != nil || string(content) != "mine" {
		t.Errorf("the file of the person holds %q, %v", content, err)
	}
	term = New(Config{Dir: filepath.Join(dir, "none")})
	if _, err := term.save(&made); err == nil || !strings.Contains(err.Error(), "saving report.tar: ") {
		t.Errorf("saving into a folder that is not there gave %v", err)
	}
}

// TestSaveAfterKill: what a killed process has written of a file is gone when the file is
// saved again.
func TestSaveAfterKill(t *testing.T) {
	dir := t.TempDir()
	made := madeFile("", "")
	made.Mark = "T1.file.1"
	written(t, dir, ".legwork-T1.file.1", "half")
	path, err := New(Config{Dir: dir}).save(&made)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(content, made.File.Content) {
		t.Errorf("the file holds %q, %v, want %q", content, err, made.File.Content)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the folder holds %v, %v, want the file alone", list, err)
	}
}

func TestConsoleWithFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := written(t, dir, "a.txt", "x"), written(t, dir, "b b.txt", "x")
	s := sit(t, func(c *Config) { c.Dir = dir })
	s.keys("/file /none\r")
	s.seeText("/none is not attached: there is no such file.")
	s.keys("\x15/file " + a + "\r")
	s.seeText("  + a.txt")
	s.keys("\x1b[200~" + strings.ReplaceAll(b, " ", `\ `) + "\x1b[201~\r") // dropped on the terminal
	s.seeText("  + a.txt, b b.txt")
	s.keys("compare them\r")
	if m := s.first(); m.Text != "compare them" || names(m) != "a.txt, b b.txt" {
		t.Errorf("the message is %+v with the files %q, want both", m, names(m))
	}
	d := madeFile("t", "See **this**.")
	mustPost(t, s.t, d)
	s.seeText("See this.")
	if content, err := os.ReadFile(filepath.Join(dir, "report.tar")); err != nil || string(content) != "made" {
		t.Errorf("the saved file holds %q, %v", content, err)
	}
	s.keys("and now?\r")
	if m := s.first(); m.Text != "and now?" || len(m.Files) > 0 {
		t.Errorf("the next message is %+v, want no files", m)
	}
}

// TestHubWithFiles: a made file waits for a terminal, and one terminal saves it.
func TestHubWithFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub("me")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx, func(context.Context, []bot.Message) error { return nil }) }()
		chat := bot.Chat{Platform: Name, ID: "main", Private: true}
		d := madeFile("t", "the file")
		d.Kind = bot.KindNotice
		posted := make(chan error, 1)
		go func() {
			_, err := h.Post(t.Context(), chat, d)
			posted <- err
		}()
		synctest.Wait()
		select {
		case err := <-posted:
			t.Errorf("without a terminal posting gave %v, want that it waits", err)
		default:
		}
		one, leave := attach(t, h, "a", "main", nil)
		if err := <-posted; err != nil || len(*one) != 1 {
			t.Errorf("the terminal got %q, %v, want the file", *one, err)
		}
		two, leave2 := attach(t, h, "b", "main", nil)
		if _, err := h.Post(t.Context(), chat, d); err != nil || len(*one)+len(*two) != 2 {
			t.Errorf("two terminals got %q and %q, %v, want the file once", *one, *two, err)
		}
		if err := h.Handle(t.Context(), "a", []bot.Message{{ID: "1", Files: []bot.Attachment{{Ref: "a.txt"}}}}); err == nil {
			t.Error("a relative path was taken")
		}
		_, _ = leave(), leave2()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestPathOf(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("there is no home directory")
	}
	for line, want := range map[string]string{
		"/a/b.txt": "/a/b.txt", " /a/b.txt \n": "/a/b.txt", `/a/b\ c.txt`: "/a/b c.txt", `"/a/b c.txt"`: "/a/b c.txt", "'/a/b c.txt'": "/a/b c.txt",
		"'/a' '/b'": "", "'/a": "", "": "", "/a\n/b": "", "file:///a/b%20c.txt": "/a/b c.txt", "file://host/a": "file://host/a", "~/a": filepath.Join(home, "a"), "it's": "it's",
	} {
		if got := pathOf(line); got != want {
			t.Errorf("the path in %q is %q, want %q", line, got, want)
		}
	}
}
