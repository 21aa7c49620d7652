//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/badfiles"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/need"
)

// TestHostileFiles: the daemon answers each hostile file, or says in a sentence why it
// cannot be read. It stays small, and neither it nor the processes that read write, read
// or connect elsewhere.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	need.Check(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connected atomic.Int64
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			_ = c.Close()
		}
	}()
	b := newTelegramEnv(t, telegramOptions{
		options: options{think: readsFiles, more: sees + "budget: {task_tokens: 0, day_tokens: 0}\nfiles: {chat_bytes: 0}\n"},
		http:    ", tokens: [" + tokenLine("ops", "operator") + "]",
		fake:    telegramfake.Options{NoLimits: true},
	})
	const secret = "nobody may read this"
	outside, temporary := b.file("outside.txt"), b.file("temporary")
	if err := os.WriteFile(outside, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	b.vars = append(b.vars, "TMPDIR="+temporary)
	s := b.opens()
	ops := outsider{t: t, url: "http://" + s.address, token: tokenOf("ops")}
	before := b.names()
	all := badfiles.All(listener.Addr().String(), outside)
	if len(all) != badfiles.Count {
		t.Fatalf("there are %d files, want %d", len(all), badfiles.Count)
	}

	list := make(chan int)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for i := range list {
				answer := ops.hostile(all[i])
				if !b.explains(answer) || strings.Contains(answer, secret) {
					t.Errorf("%d, %.40q, %s: the answer is %.500q, want what the file holds or why it was not read", i, all[i].Name, all[i].What, answer)
				}
			}
		})
	}
	for i := range all {
		list <- i
	}
	close(list)
	workers.Wait()
	for i := 0; i < len(all); i += 10 {
		f := all[i]
		goal := fmt.Sprintf("hostile %d?", i)
		b.Say(b.bob.ID, b.bob, goal, telegramfake.Attach("document", telegramfake.File{Name: f.Name, Content: f.Make()}))
		if answer := b.sees(b.bob.ID, "goal: "+goal).Text; !b.explains(answer) {
			t.Errorf("%d, %.40q, %s: in Telegram the answer is %.500q", i, f.Name, f.What, answer)
		}
	}
	b.goesOn(b.ann)

	// A body that never ends is cut off at the limit of a file.
	if code, text := ops.posts("endless.txt", io.LimitReader(zeros{}, 1<<30)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("an upload of 1 GiB: %d %s, want 413", code, text)
	}

	s.stops()
	used := s.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // of it and of the processes that it waited for
	t.Logf("the largest process took %d MiB", used>>10)
	if used > 512<<10 {
		t.Errorf("a process took %d KiB, want at most 512 MiB", used)
	}
	_ = listener.Close()
	<-accepting
	if n := connected.Load(); n > 0 {
		t.Errorf("%d connections were made", n)
	}
	if after := b.names(); after != before {
		t.Errorf("the folder holds %s, before the files it held %s", after, before)
	}
	for _, dir := range []string{temporary, b.file("data/tmp")} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s holds %v, %v; want nothing", dir, left, err)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != secret {
		t.Errorf("the file outside holds %q, %v", text, err)
	}
}

// names are the files around the data folder, but for the log of the tool server.
func (b *telegramEnv) names() string {
	b.t.Helper()
	list, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		if e.Name() != "calls.jsonl" {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// explains reports that an answer shows what a file holds, or says why that cannot be
// read.
func (b *telegramEnv) explains(answer string) bool {
	for _, told := range []string{"file f1 ", "pictures: ", "gave 422", "gave 400"} { // the codes are of uploads
		if strings.Contains(answer, told) {
			return true
		}
	}
	for _, problem := range []string{"empty", "damaged", "encrypted", "unsupported", "bounds", "cut", "unheard", "unseen"} {
		head, tail, _ := strings.Cut(b.texts.Text("en", "file."+problem, map[string]any{"Name": "NAME"}), "NAME")
		if _, rest, found := strings.Cut(answer, head); found && strings.Contains(rest, tail) {
			return true
		}
	}
	return false
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// posts sends a file as a program does.
func (o outsider) posts(name string, content io.Reader) (code int, text []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body, in := io.Pipe()
	form := multipart.NewWriter(in)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, content)
		}
		if err == nil {
			err = form.Close()
		}
		in.CloseWithError(err)
	}()
	defer func() { _ = body.Close(); <-sent }()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+"/v1/files", body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	r.Header.Set("Content-Type", form.FormDataContentType())
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer reply.Body.Close()
	text, err = io.ReadAll(reply.Body)
	if err != nil {
		text = []byte(err.Error())
	}
	return reply.StatusCode, text
}

// hostile sends a file and returns the answer to a question about it.
func (o outsider) hostile(f badfiles.File) (answer string) {
	code, text := o.posts(f.Name, bytes.NewReader(f.Make()))
	var kept, task struct {
		ID       string     `json:"id"`
		State    string     `json:"state"`
		Answer   string     `json:"answer"`
		Finished *time.Time `json:"finished_at"`
	}
	if err := json.Unmarshal(text, &kept); err != nil || code != http.StatusCreated {
		return fmt.Sprintf("the upload gave %d %s", code, text)
	}
	code, text = o.sends(http.MethodPost, "/v1/tasks", fmt.Sprintf(`{"goal": "what is this?", "files": [%q]}`, kept.ID))
	for late := time.Now().Add(patience); ; {
		if err := json.Unmarshal(text, &task); err != nil || code >= 300 || task.ID == "" {
			return fmt.Sprintf("the task gave %d %s", code, text)
		}
		if task.Finished != nil || time.Now().After(late) {
			return task.State + ": " + task.Answer
		}
		code, text = o.sends(http.MethodGet, "/v1/tasks/"+task.ID, "")
	}
}
