package bot_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
)

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"arguments.json":                   "arguments.json",
		"北京 (2).txt":                       "北京 (2).txt",
		"../../etc/passwd":                 "passwd",
		`C:\Windows\a.txt`:                 "a.txt",
		"":                                 "file",
		"..":                               "file",
		"dir/":                             "file",
		"a\x00b\nc\u202etxt.exe":           "a_b_c_txt.exe",
		`a:b*c?"<>|.json`:                  "a_b_c_____.json",
		"\xff.json":                        "_.json",
		strings.Repeat("x", 200) + ".json": strings.Repeat("x", 75) + ".json",
	} {
		f := bot.File{Name: name}
		if got := f.BaseName(); got != want {
			t.Errorf("BaseName of %q is %q, want %q", name, got, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	for kind, want := range map[string]string{
		"application/json":           "application/json",
		"text/plain; charset=utf-8":  "text/plain; charset=utf-8",
		"":                           "application/octet-stream",
		"nonsense/":                  "application/octet-stream",
		"text/plain\r\nX-Evil: yes":  "application/octet-stream",
		"text/plain; a=\"\r\nX: y\"": "application/octet-stream",
	} {
		f := bot.File{Type: kind}
		if got := f.MediaType(); got != want {
			t.Errorf("MediaType of %q is %q, want %q", kind, got, want)
		}
	}
}

func FuzzBaseName(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, name string) {
		file := bot.File{Name: name}
		got := file.BaseName()
		if got == "" || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\n\x00") || utf8.RuneCountInString(got) > 80 {
			t.Errorf("BaseName of %q is %q", name, got)
		}
	})
}

// A try that sent the file and not the message is followed by one that sends
// the message alone.
func TestUploadsSendEachFileOnce(t *testing.T) {
	var u bot.Uploads
	chat := bot.Chat{Platform: "slack", ID: "C1"}
	d := bot.Draft{Task: "t1", Mark: "m1", File: &bot.File{Name: "a.json", Content: []byte("{}")}}
	var happened []string
	broken := errors.New("broken")
	try := func(to bot.Chat, d bot.Draft, file, message error) error {
		_, err := u.Send(to, &d, func(*bot.File) (string, error) {
			happened = append(happened, "file")
			return "f", file
		}, func() (string, error) {
			happened = append(happened, "message")
			return "1", message
		})
		return err
	}
	for _, step := range []struct {
		draft         func(bot.Draft) bot.Draft
		to            bot.Chat
		file, message error
		want          string
	}{
		{to: chat, file: broken, want: "file"},
		{to: chat, message: broken, want: "file message"},
		{to: chat, message: broken, want: "message"},
		{to: bot.Chat{Platform: "slack", ID: "C2"}, want: "file message"},
		{to: chat, want: "message"},
		{to: chat, want: "file message"}, // meant to be sent again
		{to: chat, draft: func(d bot.Draft) bot.Draft { d.File = nil; return d }, want: "message"},
	} {
		sent := d
		if step.draft != nil {
			sent = step.draft(d)
		}
		happened = nil
		err := try(step.to, sent, step.file, step.message)
		if got := strings.Join(happened, " "); got != step.want || errors.Is(err, broken) != (step.file != nil || step.message != nil) {
			t.Errorf("with errors %v and %v happened %q and came %v, want %q", step.file, step.message, got, err, step.want)
		}
	}
}

func TestUploadsOfFilesThatNobodyTakes(t *testing.T) {
	var u bot.Uploads
	for _, size := range []int{0, bot.MaxFile + 1} {
		d := bot.Draft{File: &bot.File{Name: "a", Content: make([]byte, size)}}
		called := false
		_, err := u.Send(bot.Chat{}, &d, func(*bot.File) (string, error) { called = true; return "", nil }, func() (string, error) { called = true; return "", nil })
		if !errors.Is(err, bot.ErrNoFiles) || called {
			t.Errorf("a file of %d bytes gave %v and was sent: %t, want ErrNoFiles", size, err, called)
		}
	}
}

// TestUploadsOfDraftsThatAreFiles: the id is that of the file, also when the rest of the
// text has to be tried again.
func TestUploadsOfDraftsThatAreFiles(t *testing.T) {
	var u bot.Uploads
	chat := bot.Chat{Platform: "slack", ID: "C1"}
	d := bot.Draft{Mark: "m1", File: &bot.File{Name: "a.pdf", As: bot.AsDocument, Content: []byte("%PDF")}}
	files, fail := 0, errors.New("broken")
	file := func(*bot.File) (string, error) { files++; return "f" + strconv.Itoa(files), nil }
	if _, err := u.Send(chat, &d, file, func() (string, error) { return "", fail }); !errors.Is(err, fail) {
		t.Errorf("got %v, want the error of the text", err)
	}
	id, err := u.Send(chat, &d, file, func() (string, error) { return "text", nil })
	if err != nil || id != "f1" {
		t.Errorf("the next try gave %q, %v, want the id of the file that was sent", id, err)
	}
	if id, err = u.Send(chat, &d, file, nil); err != nil || id != "f2" {
		t.Errorf("a file without a text gave %q, %v, want the id of a new one", id, err)
	}
}
