package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"legwork/bot"
)

// Attach names a file at a path for a message. The path becomes absolute, because another
// process may read the file. The error is for the person.
func Attach(path string) (bot.Attachment, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return bot.Attachment{}, fmt.Errorf("finding %s: %w", bot.Clean(path), err)
	}
	info, err := os.Stat(full)
	if err != nil {
		return bot.Attachment{}, fmt.Errorf("attaching %s: %w", bot.Clean(path), reason(err))
	}
	if err := regular(info); err != nil {
		return bot.Attachment{}, fmt.Errorf("attaching %s: %w", bot.Clean(path), err)
	}
	a := bot.Attachment{Ref: full, Kind: bot.AttachDocument, Name: filepath.Base(full), Type: mime.TypeByExtension(filepath.Ext(full)), Bytes: info.Size()}
	switch of, _, _ := strings.Cut(a.Type, "/"); of {
	case "image":
		a.Kind = bot.AttachPhoto
	case "audio":
		a.Kind = bot.AttachAudio
	case "video":
		a.Kind = bot.AttachVideo
	}
	return a, nil
}

// regular refuses what is no file: reading from a device or a pipe may never end.
func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errFolder
	case !info.Mode().IsRegular():
		return errors.New("it is a device or a pipe, not a file")
	}
	return nil
}

var errFolder = errors.New("it is a folder, not a file")

// problem says to the person why a file is not attached.
func problem(t *Terminal, path string, err error) string {
	key := "terminal.file_bad"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key = "terminal.file_missing"
	case errors.Is(err, fs.ErrPermission):
		key = "terminal.file_denied"
	case errors.Is(err, errFolder):
		key = "terminal.file_folder"
	}
	return t.text(key, map[string]any{"Name": oneLine(path)})
}

// reason is an error of a file without its path.
func reason(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	return err
}

// Fetch implements bot.Fetcher: it reads the file at the path that the person gave.
func (t *Terminal) Fetch(ctx context.Context, _ bot.Chat, a bot.Attachment, w io.Writer) error {
	return fetch(ctx, a, w)
}

// Fetch implements bot.Fetcher. Only the owner of the process reaches the hub, so the
// person may read what the process may read.
func (h *Hub) Fetch(ctx context.Context, _ bot.Chat, a bot.Attachment, w io.Writer) error {
	return fetch(ctx, a, w)
}

func fetch(ctx context.Context, a bot.Attachment, w io.Writer) error {
	return bot.Download(ctx, bot.StallTimeout, 0, w, func(context.Context) (io.ReadCloser, error) {
		if !filepath.IsAbs(a.Ref) {
			return nil, fmt.Errorf("%w: its path is not absolute", bot.ErrFileGone)
		}
		f, err := os.OpenFile(a.Ref, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not wait for a writer
		if err != nil {
			return nil, fmt.Errorf("%w: opening it: %w", bot.ErrFileGone, reason(err))
		}
		info, err := f.Stat()
		if err == nil {
			err = regular(info)
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%w: %w", bot.ErrFileGone, err)
		}
		return f, nil
	})
}

// pending are the files that go along with the next question.
type pending []bot.Attachment

// namesOf lists files, for people.
func namesOf(files []bot.Attachment) string {
	var names []string
	for _, a := range files {
		names = append(names, oneLine(a.Name))
	}
	return strings.Join(names, ", ")
}

// fileCommand is the command of a chat in the terminal that attaches files.
const fileCommand = "/file"

// command does what a line asks about files: "/file PATH" adds one, "/file -" drops all,
// and "/file" lists them. It returns what the person is told; ok is false for other lines,
// and failed reports that a file was not attached.
func (p *pending) command(t *Terminal, line string) (reply string, ok, failed bool) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case name != fileCommand:
		return "", false, false
	case rest == "-":
		*p = nil
	case rest != "":
		path := cmp.Or(pathOf(rest), rest)
		a, err := Attach(path)
		if err != nil {
			return problem(t, path, err), true, true
		}
		*p = append(*p, a)
	}
	return p.list(t), true, false
}

// list says which files go along with the next question.
func (p *pending) list(t *Terminal) string {
	if len(*p) == 0 {
		return t.text("terminal.file_none", nil)
	}
	return t.text("terminal.file_list", map[string]any{"Names": namesOf(*p)})
}

// drop adds a file when a line is nothing but its path, as terminals write it when a
// person drops a file on them. It returns what the person is told; ok is false for other
// lines.
func (p *pending) drop(t *Terminal, line string) (reply string, ok bool) {
	path := pathOf(line)
	if path == "" || !filepath.IsAbs(path) && !strings.HasPrefix(path, ".") {
		return "", false
	}
	a, err := Attach(path)
	if err != nil {
		return "", false
	}
	*p = append(*p, a)
	return p.list(t), true
}

// take gives the files to a message, unless it is a press or a command without a question.
func (p *pending) take(m *bot.Message) {
	name, _, _ := strings.Cut(m.Text, " ")
	if m.Kind != bot.MessageText || strings.HasPrefix(name, "/") && name != "/task" && name != "/plan" {
		return
	}
	m.Files, *p = *p, nil
}

// pathOf is the path that a line holds: plain, in quotes, with escaped spaces or as the
// address file://. It is empty for several lines, and for a quotation that does not end.
func pathOf(line string) string {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line, "\n\r\x00") {
		return ""
	}
	if q := line[0]; q == '\'' || q == '"' {
		inner, closed := strings.CutSuffix(line[1:], string(q))
		if !closed || strings.ContainsRune(inner, rune(q)) {
			return ""
		}
		return inner
	}
	if address, err := url.Parse(line); err == nil && address.Scheme == "file" && (address.Host == "" || address.Host == "localhost") {
		return address.Path
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(line, "~/") {
		line = filepath.Join(home, line[2:])
	}
	if os.PathSeparator == '/' { // elsewhere a backslash separates folders
		line = unescape(line)
	}
	return line
}

// unescape removes the backslashes with which a shell marks characters.
func unescape(s string) string {
	var b strings.Builder
	escaped := false
	for _, c := range s {
		if escaped = c == '\\' && !escaped; !escaped {
			b.WriteRune(c)
		}
	}
	return b.String()
}
