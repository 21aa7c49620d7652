package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/planner"
	"legwork/store"
	"legwork/tasks"
)

// verifier is the part of a store that compares its files with the records about them.
type verifier interface {
	VerifyFiles(ctx context.Context) (store.FilesReport, error)
	FileBytes(ctx context.Context) (int64, error)
}

// fileBytes has more than one chunk of a database that keeps chunks.
func fileBytes(seed string, n int) []byte {
	return bytes.Repeat([]byte(seed+" legwork "), n/len(seed+" legwork ")+1)[:n]
}

// fileEnv is an env whose store keeps files.
type fileEnv struct{ *env }

// onFiles makes a case of the suite of one that uses a fileEnv.
func onFiles(test func(fileEnv)) func(*env) { return func(b *env) { test(fileEnv{b}) } }

// keep keeps a content for an owner.
func (b fileEnv) keep(owner, name string, content []byte) files.ID {
	b.Helper()
	f, err := b.store.KeepFile(b.Context(), bytes.NewReader(content), tasks.Keep{Owner: owner, Name: name, Type: "text/plain", Until: b.clock.now().Add(24 * time.Hour)})
	b.ok(err)
	b.same("kept file", f, files.File{ID: files.IDOf(content), Name: name, Type: "text/plain", Bytes: int64(len(content))})
	return f.ID
}

// kept expects contents, exactly these, and that all records fit to them.
func (b fileEnv) kept(want ...[]byte) {
	b.Helper()
	total := int64(0)
	for _, content := range want {
		total += int64(len(content))
		r, err := b.store.OpenFile(b.Context(), files.IDOf(content))
		b.ok(err)
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, content) {
			b.Fatalf("content %.20q: got %d bytes, %v, want %d", content, len(got), err, len(content))
		}
	}
	v := b.store.(verifier)
	report, err := v.VerifyFiles(b.Context())
	b.ok(err)
	b.same("report", report, store.FilesReport{Contents: len(want), Bytes: total})
	sum, err := v.FileBytes(b.Context())
	b.ok(err)
	b.same("size of all", sum, total)
}

// gone expects that contents are not kept.
func (b fileEnv) gone(contents ...[]byte) {
	b.Helper()
	for _, content := range contents {
		if r, err := b.store.OpenFile(b.Context(), files.IDOf(content)); !errors.Is(err, files.ErrNone) {
			b.Fatalf("opening %.20q: got %v, %v, want ErrNone", content, r, err)
		}
		if use, err := b.store.FileOf(b.Context(), files.IDOf(content), func(tasks.FileUse) bool { return true }); !errors.Is(err, files.ErrNone) {
			b.Fatalf("use of %.20q: got %+v, %v, want ErrNone", content, use, err)
		}
	}
}

// attached is a file that a message brings along, whose content is kept.
func attached(ids ...files.ID) (list []bot.Attachment) {
	for _, id := range ids {
		list = append(list, bot.Attachment{Ref: bot.KeptRef + string(id), Kind: bot.AttachDocument})
	}
	return list
}

// withFiles is a delivery that opens a task with files.
func (b fileEnv) withFiles(c bot.Chat, id tasks.ID, ids ...files.ID) tasks.Inbound {
	in := b.question(c, id, "goal of "+string(id))
	in.Open.Opening.Files = attached(ids...)
	return in
}

func testFiles(b fileEnv) {
	long, short, empty := fileBytes("long", 600_000), []byte("short"), []byte{}
	for i, content := range [][]byte{long, short, empty, short} {
		b.keep("test:c", fmt.Sprintf("file %d", i), content)
	}
	for range 2 {
		b.kept(long, short, empty)
		use, err := b.store.FileOf(b.Context(), files.IDOf(short), func(u tasks.FileUse) bool { return u.Owner == "test:c" })
		b.ok(err)
		want := tasks.FileUse{File: files.File{ID: files.IDOf(short), Name: "file 3", Type: "text/plain", Bytes: 5}, Owner: "test:c", Until: b.clock.now().Add(24 * time.Hour).UTC()}
		b.same("use", use, want)
		if _, err := b.store.FileOf(b.Context(), files.IDOf(short), func(tasks.FileUse) bool { return false }); !errors.Is(err, files.ErrNone) {
			b.Fatalf("a use that does not match: got %v, want ErrNone", err)
		}
		b.store = b.reopen()
	}
	r, err := b.store.OpenFile(b.Context(), files.IDOf(long))
	b.ok(err)
	for _, at := range []int64{599_990, 0, 262_140, 262_144, 300_000} {
		_, err := r.Seek(at, io.SeekStart)
		b.ok(err)
		part := make([]byte, 10)
		_, err = io.ReadFull(r, part)
		b.ok(err)
		b.same(fmt.Sprintf("part at %d", at), string(part), string(long[at:at+10]))
	}
	end, err := r.Seek(0, io.SeekEnd)
	b.ok(err)
	b.same("end", end, int64(len(long)))
	n, err := r.Read(make([]byte, 1))
	b.same("after the end", fmt.Sprint(n, err), "0 EOF")
	b.ok(r.Close())
	b.gone([]byte("unknown"))
	for _, id := range []files.ID{"", "x", "../../../../etc/passwd", files.ID(strings.Repeat("/", 64))} {
		if _, err := b.store.OpenFile(b.Context(), id); !errors.Is(err, files.ErrNone) {
			b.Fatalf("opening %q: got %v, want ErrNone", id, err)
		}
	}
}

// testFileLimits: what does not fit is refused, and leaves nothing behind.
func testFileLimits(b fileEnv) {
	base := []byte("0123456789")
	b.keep("test:a", "base", base)
	broken := errors.New("the connection broke")
	for name, test := range map[string]struct {
		r    io.Reader
		k    tasks.Keep
		want error
	}{
		"too large":            {strings.NewReader("12345678901"), tasks.Keep{Owner: "test:a", Max: 10}, files.ErrLarge},
		"much too large":       {bytes.NewReader(fileBytes("x", 2<<20)), tasks.Keep{Owner: "test:a", Max: 700_000}, files.ErrLarge},
		"too much of an owner": {strings.NewReader("123456"), tasks.Keep{Owner: "test:a", OwnerMax: 15}, files.ErrRoom},
		"too much in all":      {strings.NewReader("123456"), tasks.Keep{Owner: "test:b", TotalMax: 15}, files.ErrTotal},
		"known, too much":      {bytes.NewReader(base), tasks.Keep{Owner: "test:b", OwnerMax: 9}, files.ErrRoom},
		"broken":               {io.MultiReader(bytes.NewReader(fileBytes("y", 600_000)), brokenReader{broken}), tasks.Keep{Owner: "test:a"}, broken},
		"broken at once":       {brokenReader{broken}, tasks.Keep{Owner: "test:a"}, broken},
	} {
		if f, err := b.store.KeepFile(b.Context(), test.r, test.k); !errors.Is(err, test.want) {
			b.Fatalf("%s: got %+v, %v, want %v", name, f, err, test.want)
		}
		b.kept(base)
	}
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if f, err := b.store.KeepFile(ctx, bytes.NewReader(fileBytes("z", 9<<20)), tasks.Keep{Owner: "test:a"}); err == nil {
		b.Fatalf("with an ended context: got %+v", f)
	}
	if f, err := b.store.KeepFile(b.Context(), strings.NewReader("x"), tasks.Keep{}); err == nil {
		b.Fatalf("without an owner: got %+v", f)
	}
	until := b.clock.now().Add(time.Hour)
	for _, k := range []tasks.Keep{
		{Owner: "test:a", Max: 10, OwnerMax: 10, TotalMax: 10, Until: until}, // again
		{Owner: "test:b", Max: 10, OwnerMax: 10, TotalMax: 10, Until: until}, // bytes that are there
	} {
		_, err := b.store.KeepFile(b.Context(), bytes.NewReader(base), k)
		b.ok(err)
	}
	f, err := b.store.KeepFile(b.Context(), strings.NewReader("n"), tasks.Keep{Owner: "test:a", Name: "a\xff" + strings.Repeat("й", 4000), Until: until})
	b.ok(err)
	if !strings.HasPrefix(f.Name, "a\uFFFDй") || len(f.Name) > 1<<10 {
		b.Fatalf("a long name became %q with %d bytes", f.Name, len(f.Name))
	}
	b.kept(base, []byte("n"))
	b.store = b.reopen()
	b.kept(base, []byte("n"))
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// testFileReferences: contents stay as long as a journal refers to them.
func testFileReferences(b fileEnv) {
	one, two, three := fileBytes("one", 300_000), []byte("two"), []byte("three")
	ids := []files.ID{b.keep("test:c", "one.txt", one), b.keep("test:c", "two.txt", two), b.keep("test:c", "three.txt", three)}
	b.open(b.withFiles(chat("c"), "t1", ids[0], ids[1], ids[0]))
	b.open(b.withFiles(chat("d"), "t2", ids[1]))
	b.plan("t2")
	hint := b.guidance("t2", "and this")
	hint.Event.Files = attached(ids[2])
	b.same("receipt of guidance", b.deliver(hint)[0].Err, error(nil))
	for _, want := range []tasks.FileUse{
		{File: files.File{ID: ids[0], Name: "one.txt", Type: "text/plain", Bytes: 300_000}, Owner: "test:c", Task: "t1"},
		{File: files.File{ID: ids[1], Name: "two.txt", Type: "text/plain", Bytes: 3}, Owner: "test:c", Task: "t1"},
		{File: files.File{ID: ids[1], Name: "two.txt", Type: "text/plain", Bytes: 3}, Owner: "test:d", Task: "t2"},
	} {
		use, err := b.store.FileOf(b.Context(), want.ID, func(u tasks.FileUse) bool { return u.Owner == want.Owner })
		b.ok(err)
		b.same("use", use, want)
	}
	// A refused event leaves no reference, and one that refers to nothing is refused.
	b.appendWith("t2", -1, 0, files.ErrNone, planner.Event{Type: planner.GuidanceAdded, Text: "x", Files: attached(ids[0], files.IDOf([]byte("unknown")))})
	b.appendWith("t2", 0, 0, tasks.ErrConflict, planner.Event{Type: planner.GuidanceAdded, Text: "x", Files: attached(ids[0])})
	receipts, err := b.store.Open(b.Context(), []tasks.Inbound{b.withFiles(chat("c"), "t3", files.IDOf([]byte("unknown"))), b.withFiles(chat("c"), "t4", "../x")})
	b.ok(err)
	for _, r := range receipts {
		if !errors.Is(r.Err, files.ErrNone) || r.Opened {
			b.Fatalf("a task with an unknown file: got %+v, want ErrNone", r)
		}
	}
	b.missing("t3", "t4")

	b.clock.add(25 * time.Hour) // the uploads are over, but three.txt still belongs to chat c
	_, err = b.store.SweepFiles(b.Context(), time.Time{})
	b.ok(err)
	b.kept(one, two, three)
	b.append("t1", Ending()...)
	b.forget(chat("c"), 1)
	b.gone(one)
	b.kept(two, three)
	b.append("t2", Ending()...)
	b.store = b.reopen()
	b.kept(two, three)
	b.forget(chat("d"), 1)
	b.gone(one, two, three)
	b.kept()
	b.store = b.reopen()
	b.kept()
	b.keep("test:c", "again", one)
	b.kept(one)
}

// testFilesEnd: uploads that no task uses go after their time, and files of tasks a while
// after the tasks have ended.
func testFilesEnd(b fileEnv) {
	upload, used, running := []byte("upload"), []byte("used"), []byte("running")
	b.keep("test:c", "upload", upload)
	b.open(b.withFiles(chat("c"), "t1", b.keep("test:c", "used", used), b.keep("test:c", "running", running)))
	b.open(b.withFiles(chat("d"), "t2", b.keep("test:d", "running", running)))
	b.append("t1", Ending()...)
	sweep := func(before time.Time, want int) {
		b.Helper()
		d, err := b.store.SweepFiles(b.Context(), before)
		b.ok(err)
		b.same("deleted", d, tasks.Deleted{Contents: want})
	}
	b.clock.add(24*time.Hour - time.Second)
	sweep(time.Time{}, 0)
	b.clock.add(time.Second)
	if _, err := b.store.FileOf(b.Context(), files.IDOf(upload), func(tasks.FileUse) bool { return true }); !errors.Is(err, files.ErrNone) {
		b.Fatalf("an upload whose time is over: got %v, want ErrNone", err)
	}
	sweep(minute(0).Add(-time.Hour), 1)
	b.gone(upload)
	b.kept(used, running)
	sweep(b.clock.now(), 1)
	b.gone(used)
	b.kept(running)
	b.same("journal", len(b.load("t1", 0)), 4)
	b.append("t2", Ending()...)
	b.clock.add(time.Hour)
	_, err := b.store.Retain(b.Context(), b.clock.now(), time.Time{})
	b.ok(err)
	b.kept()
}

// testFilesErased: files go with their chat, the person who asked, or their token.
func testFilesErased(b fileEnv) {
	ann, bob, agent, other := []byte("ann"), []byte("bob"), []byte("agent"), []byte("other")
	group := bot.Chat{Platform: "test", ID: "c"}
	b.open(b.withFiles(group, "t1", b.keep("test:c", "ann", ann)))
	in := b.withFiles(group, "t2", b.keep("test:c", "bob", bob), files.IDOf(ann))
	in.Open.Opening.From.ID = "bob"
	b.open(in)
	b.keep("api:ops", "agent", agent)
	b.keep("test:d", "other", other)
	b.append("t1", Ending()...)
	b.append("t2", Ending()...)
	b.same("bob", b.erase("test:bob").Contents, 1)
	b.gone(bob)
	b.kept(ann, agent, other)
	b.same("token", b.erase("agent:ops").Contents, 1)
	b.kept(ann, other)
	b.same("chat", b.erase("test:d").Contents, 1)
	b.same("ann", b.erase("test:ann").Contents, 1)
	b.kept()
}

// testFilesMove: the files of a chat move with it, and count for the new one.
func testFilesMove(b fileEnv) {
	one, two := []byte("one"), []byte("two")
	b.open(b.withFiles(chat("c"), "t1", b.keep("test:c", "one", one)))
	b.keep("test:c", "two", two)
	b.keep("test:d", "one", one)
	b.ok(b.store.Move(b.Context(), chat("c").Key(), chat("d")))
	b.kept(one, two)
	if _, err := b.store.KeepFile(b.Context(), strings.NewReader("3"), tasks.Keep{Owner: "test:d", OwnerMax: 6}); !errors.Is(err, files.ErrRoom) {
		b.Fatalf("a file beyond the limit of the new chat: got %v, want ErrRoom", err)
	}
	b.append("t1", Ending()...)
	b.erase("test:d")
	b.kept()
}

// testFilesAtOnce: senders keep the same contents while others delete them. A content
// whose KeepFile has returned, or which a task uses, is there.
func testFilesAtOnce(b fileEnv) {
	contents := [][]byte{[]byte("same"), fileBytes("long", 300_000)}
	atOnce(b.T, 6, func(sender int) error {
		owner := fmt.Sprintf("test:c%d", sender)
		for round := range 8 {
			content := contents[round%len(contents)]
			f, err := b.store.KeepFile(b.Context(), bytes.NewReader(content), tasks.Keep{Owner: owner, Name: "x", Until: b.clock.now().Add(time.Hour)})
			if err != nil {
				return err
			}
			id := tasks.ID(fmt.Sprintf("t%d-%d", sender, round))
			in := Question(chat(fmt.Sprintf("c%d", sender)), id, "goal")
			in.Open.Opening.Files = attached(f.ID)
			receipts, err := b.store.Open(b.Context(), []tasks.Inbound{in})
			if err = errors.Join(err, receipts[0].Err); err != nil {
				return err
			}
			r, err := b.store.OpenFile(b.Context(), f.ID)
			if err != nil {
				return err
			}
			got, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, content) {
				return fmt.Errorf("round %d: got %d bytes, %w", round, len(got), err)
			}
			if err := b.store.Append(b.Context(), id, -1, 0, Ending()...); err != nil {
				return err
			}
			if _, err := b.store.Erase(b.Context(), owner); err != nil {
				return err
			}
		}
		return nil
	})
	b.kept()
}
