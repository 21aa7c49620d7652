package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/internal/test/servers"
	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/files"
)

func TestOptions(t *testing.T) {
	tests := []struct {
		o    files.Options
		want string // empty: valid
	}{
		{files.Options{}, ""},
		{files.Options{Root: "/srv/docs"}, ""},
		{files.Options{Root: "a/{chat}-{person}/b"}, ""},
		{files.Options{MaxFileBytes: 1 << 40}, ""},
		{files.Options{MaxTotalBytes: 10}, ""},
		{files.Options{Root: "a/{room}"}, `root contains "{room}"`},
		{files.Options{Root: "a/{chat"}, `root contains "{chat"`},
		{files.Options{Root: "a/chat}"}, `root contains "}"`},
		{files.Options{Root: "a\x00b"}, "NUL"},
		{files.Options{MaxFiles: -1}, "must not be negative"},
		{files.Options{MaxFileBytes: 20, MaxTotalBytes: 10}, "max_file_bytes is 20, more than the 10"},
	}
	for _, test := range tests {
		_, err := files.New(test.o, "base")
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("New with %+v: %v, want %q", test.o, err, test.want)
		}
	}
}

// lookalikes are chats that must not share a folder on any file system.
var lookalikes = []string{
	"telegram:-100987", "telegram:100987", "telegram:-100987/", "telegram:-100987/1", "telegram_-100987", "telegram/-100987", "telegram.-100987", "telegram@-100987",
	"Telegram:-100987", "telegram:-100987 ", "telegram:-100987.", "telegram:-100987\x00", "telegram:‐100987",
	"slack:C1", "slack:c1", "slack:_c1", "slack:=43", "slack:=43_c1", "SLACK:C1", "slack:C1/1712.3", "slack:C1/17123", "slack::C1",
	"con", "CON", "=63on", "nul", "com1", "aux", "..", ".", "../other", "a/../b", "=", "~", "~/", "/etc", `\`, "C:", "c:", "*", "?",
	"е", "e", "é", "e\u0301", "ß", "SS", "ss", "İ", "i", "K", "k", "Å",
	strings.Repeat("a", 200), strings.Repeat("a", 201), strings.Repeat("A", 200), "telegram:{person}", "{chat}",
}

func TestChatsApart(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"", "w/{chat}", "w/x-{chat}-y/files", "{chat}", "w/{person}/{chat}"} {
		d := open(t, files.Options{Root: root, Write: true})
		for i, chat := range lookalikes {
			who := caller.Caller{Chat: chat, Person: "p"}
			if got := servers.Text(d.result(who, "list", args{})); got != "The folder is empty." {
				t.Errorf("with root %q %q sees %q of another chat", root, chat, got)
			}
			if r := d.result(who, "write", args{"path": "own.txt", "content": fmt.Sprint(i)}); r.IsError {
				t.Errorf("with root %q %q cannot write: %s", root, chat, servers.Text(r))
			}
		}
		for i, chat := range lookalikes {
			who := caller.Caller{Chat: chat, Person: "p"}
			if got := servers.Text(d.result(who, "read", args{"path": "own.txt"})); got != fmt.Sprint(i) {
				t.Errorf("with root %q %q reads %q, want %d", root, chat, got, i)
			}
		}
	}
}

func TestShared(t *testing.T) {
	d := open(t, files.Options{Root: "docs", Write: true})
	d.result(caller.Caller{Chat: "a:1", Person: "a:2"}, "write", args{"path": "f.txt", "content": "for all"})
	if got := servers.Text(d.result(caller.Caller{Chat: "b:1", Person: "b:2"}, "read", args{"path": "f.txt"})); got != "for all" {
		t.Errorf("another chat reads %q from a root without {chat}", got)
	}
	if _, err := os.Stat(filepath.Join(d.base, "docs", "f.txt")); err != nil {
		t.Error(err)
	}
	private := openIn(t, files.Options{Root: "{person}", Write: true}, d.base)
	private.result(caller.Caller{Chat: "a:1", Person: "a:2"}, "write", args{"path": "f.txt", "content": "mine"})
	if got := servers.Text(private.result(caller.Caller{Chat: "a:9", Person: "a:2"}, "read", args{"path": "f.txt"})); got != "mine" {
		t.Errorf("the same person in another chat reads %q from {person}", got)
	}
	if r := private.result(caller.Caller{Chat: "a:1", Person: "a:3"}, "read", args{"path": "f.txt"}); !r.IsError {
		t.Errorf("another person reads %q from {person}", servers.Text(r))
	}
}

// TestRootInTheWay: an error of the folder itself is reported without its
// path.
func TestRootInTheWay(t *testing.T) {
	d := open(t, files.Options{Write: true})
	plant(t, d.base, map[string]string{"workspace/local": "a file", "elsewhere/f.txt": secret})
	d.mustFail("list", args{}, "tell the person that an administrator has to look at it")
	d.mustFail("write", args{"path": "a", "content": "b"}, "opening the workspace")
	if err := os.Remove(d.home()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", d.home()); err != nil {
		t.Fatal(err)
	}
	d.mustFail("read", args{"path": "f.txt"}, "opening the workspace")
}

func FuzzFolder(f *testing.F) {
	for i, chat := range lookalikes {
		f.Add(chat, lookalikes[(i+1)%len(lookalikes)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || a == b || a == "" || b == "" {
			t.Skip("not two keys")
		}
		d := open(t, files.Options{Root: "w/{chat}", Write: true})
		for _, chat := range []string{a, b} {
			if r := d.result(caller.Caller{Chat: chat, Person: "p"}, "make_dir", args{"path": "own"}); r.IsError {
				t.Fatalf("%q has no folder: %s", chat, servers.Text(r))
			}
		}
		made, err := os.ReadDir(filepath.Join(d.base, "w"))
		if err != nil || len(made) != 2 || strings.EqualFold(made[0].Name(), made[1].Name()) {
			t.Fatalf("%q and %q have the folders %v (%v)", a, b, made, err)
		}
		for _, e := range made {
			if strings.Trim(e.Name(), "abcdefghijklmnopqrstuvwxyz0123456789-_=@~") != "" || len(e.Name()) > 200 {
				t.Errorf("a folder is named %q", e.Name())
			}
		}
	})
}
