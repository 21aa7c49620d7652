package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"legwork/tools/builtin/memory"
)

// childHolds keeps the file locked until its input ends.
func childHolds(dir string) int {
	db, err := bbolt.Open(filepath.Join(dir, memory.FileName), 0o600, &bbolt.Options{Timeout: 10 * time.Second})
	if err != nil {
		return 1
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = db.Close()
	return 0
}

func child(task, dir string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), childTask+"="+task+" "+dir), os.Stderr
	return c
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, t.TempDir())
	var g sync.WaitGroup
	for range 3 {
		g.Go(func() {
			if err := child("remember", d.dir).Run(); err != nil {
				t.Errorf("a second process: %v", err)
			}
		})
	}
	for i := range 4 {
		g.Go(func() {
			for j := range 5 {
				a := args{"text": fmt.Sprintf("own note %d %d", i, j)}
				for answer, failed := d.call(nobody, "remember", a); failed; answer, failed = d.call(nobody, "remember", a) {
					if !strings.Contains(answer, "in use by another program") {
						t.Errorf("remembering beside others said %q", answer)
						return
					}
				}
				d.call(nobody, "recall", args{"query": "note"})
			}
		})
	}
	g.Wait()
	if got := ids(d.must(nobody, "recall", args{"limit": 50})); len(strings.Fields(got)) != 50 {
		t.Errorf("after 50 notes of four processes there are %q", got)
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, t.TempDir())
	d.must(nobody, "remember", args{"text": "a note"})
	holder := child("hold", d.dir)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	for tool, a := range map[string]args{"recall": {}, "remember": {"text": "b"}} {
		d.mustFail(nobody, tool, a, "in use by another program; try again in a moment")
	}
	_ = in.Close()
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := ids(d.must(nobody, "recall", args{})); got != "p1" {
		t.Errorf("after the lock is gone recall found %q, want p1", got)
	}
}

// TestDamaged puts files in the way that are no memory.
func TestDamaged(t *testing.T) {
	t.Parallel()
	good := open(t, memory.Options{}, t.TempDir())
	for i := range 50 {
		good.must(nobody, "remember", args{"text": fmt.Sprintf("note %d %s", i, strings.Repeat("tea ", 200))})
	}
	whole, err := os.ReadFile(filepath.Join(good.dir, memory.FileName))
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{
		"text": []byte("this is no database\n"), "zeros": make([]byte, len(whole)), "half": whole[:len(whole)/2], "one page": whole[:4096], "few bytes": whole[:100],
		"no meta": append(make([]byte, 8192), whole[8192:]...),
	}
	for name, bytes := range damages {
		t.Run(name, func(t *testing.T) {
			d := open(t, memory.Options{}, t.TempDir())
			path := filepath.Join(d.dir, memory.FileName)
			if err := os.WriteFile(path, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				d.mustFail(nobody, "recall", args{}, "memory.db is damaged and was left as it is")
				d.mustFail(nobody, "remember", args{"text": "a"}, "memory.db is damaged and was left as it is")
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != string(bytes) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
			if err := os.WriteFile(path+".new", whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			if got := ids(d.must(nobody, "recall", args{"limit": 50})); len(strings.Fields(got)) != 50 {
				t.Errorf("after a backup was put back recall found %q", got)
			}
		})
	}
}

// TestDamagedSizes makes the list of free pages so long that no memory holds
// it: reading it would end the process.
func TestDamagedSizes(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, t.TempDir())
	for i := range 20 {
		d.must(nobody, "remember", args{"text": fmt.Sprintf("note %d %s", i, strings.Repeat("tea ", 200))})
	}
	path := filepath.Join(d.dir, memory.FileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize, head, kind, count, free = 4096, 16, 8, 10, 0x10
	found := 0
	for at := 0; at < len(whole); at += pageSize {
		if whole[at+kind] == free && whole[at+kind+1] == 0 {
			found++
			copy(whole[at+count:], "\xff\xff")
			copy(whole[at+head:], "\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00")
		}
	}
	if found == 0 {
		t.Skip("the pages of this machine are of another size")
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ids(d.must(nobody, "recall", args{"limit": 50})); len(strings.Fields(got)) != 20 {
		t.Errorf("reading needs no free pages, but found %q", got)
	}
	d.mustFail(nobody, "remember", args{"text": "a"}, "memory.db is damaged and was left as it is")
	d.mustFail(nobody, "forget", args{"id": "p1"}, "memory.db is damaged and was left as it is")
}

// TestDamagedPages damages bytes here and there: the process lives on, and what
// is shown is what was stored.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	good := open(t, memory.Options{}, t.TempDir())
	for i := range 48 {
		good.must(nobody, "remember", args{"text": fmt.Sprintf("note %d %s", i, strings.Repeat("tea ", 150))})
	}
	whole, err := os.ReadFile(filepath.Join(good.dir, memory.FileName))
	if err != nil {
		t.Fatal(err)
	}
	stored := good.must(nobody, "recall", args{"limit": 50}) + "\n"
	random := rand.New(rand.NewPCG(1, 2))
	told := 0
	for range 150 {
		d := open(t, memory.Options{}, t.TempDir())
		bytes := []byte(string(whole))
		at, n := random.IntN(len(bytes)), 1+random.IntN(64)
		if random.IntN(2) == 0 {
			at -= at % 4096 // the head of a page
			n = min(n, 48)
		}
		for i := at; i < min(at+n, len(bytes)); i++ {
			bytes[i] = byte(random.Uint32())
		}
		if err := os.WriteFile(filepath.Join(d.dir, memory.FileName), bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		answer, failed := d.call(nobody, "recall", args{"limit": 50})
		for line := range strings.Lines(answer) {
			if strings.HasPrefix(line, "[p") && !strings.Contains(stored, strings.TrimSpace(line)+"\n") {
				t.Errorf("damage of %d bytes at %d shows %q", n, at, line)
			}
		}
		if failed || strings.Contains(answer, "damaged notes") {
			told++
		}
		d.call(nobody, "remember", args{"text": "one more"})
		d.call(nobody, "forget", args{"id": "p7"})
	}
	if told == 0 {
		t.Error("no damage was told")
	}
}
