package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"go.uber.org/goleak"

	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/memory"
)

type args = map[string]any

// env is a memory server with a client. Each use of its clock is a minute
// later.
type env struct {
	t      testing.TB
	dir    string
	client *client.Client
}

func open(t testing.TB, o memory.Options, dir string) *env {
	t.Helper()
	at, minutes := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), atomic.Int64{}
	s, err := memory.New(o, dir, func() time.Time { return at.Add(time.Duration(minutes.Add(1)) * time.Minute) })
	if err != nil {
		t.Fatal(err)
	}
	return &env{t, dir, servers.Connect(t, s)}
}

// call calls a tool for somebody.
func (d *env) call(who caller.Caller, tool string, a args) (answer string, failed bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	res, err := servers.Call(ctx, d.client, tool, a, who.Meta())
	if err != nil {
		d.t.Fatalf("calling %s with %v: %v", tool, a, err)
	}
	answer = servers.Text(res)
	if d.dir != "" && strings.Contains(answer, d.dir) {
		d.t.Errorf("%s with %v shows a path of the host: %q", tool, a, answer)
	}
	return answer, res.IsError
}

func (d *env) must(who caller.Caller, tool string, a args) string {
	d.t.Helper()
	answer, failed := d.call(who, tool, a)
	if failed {
		d.t.Fatalf("%s with %v failed: %s", tool, a, answer)
	}
	return answer
}

func (d *env) mustFail(who caller.Caller, tool string, a args, words string) {
	d.t.Helper()
	if answer, failed := d.call(who, tool, a); !failed || !strings.Contains(answer, words) {
		d.t.Errorf("%s with %v said %q (error: %v), want an error with %q", tool, a, answer, failed, words)
	}
}

// ids are the notes that an answer shows, in order.
func ids(answer string) string {
	var list []string
	for line := range strings.Lines(answer) {
		if id, _, ok := strings.Cut(strings.TrimPrefix(line, "["), "] "); ok && len(id) < 6 {
			list = append(list, id)
		}
	}
	return strings.Join(list, " ")
}

// The test binary is its own child: this variable says what it is to do.
const childTask = "LEGWORK_MEMORY_CHILD"

func TestMain(m *testing.M) {
	task, dir, _ := strings.Cut(os.Getenv(childTask), " ")
	switch task {
	case "":
		goleak.VerifyTestMain(m)
	case "remember":
		os.Exit(childRemembers(dir))
	case "hold":
		os.Exit(childHolds(dir))
	}
}

// childRemembers writes notes through a server of its own.
func childRemembers(dir string) int {
	s, err := memory.New(memory.Options{}, dir, time.Now)
	if err != nil {
		return 1
	}
	for i := range 10 {
		message := fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember", "arguments": {"text": "note %d of %d"}}}`, i, os.Getpid())
		for {
			reply, err := json.Marshal(s.HandleMessage(context.Background(), []byte(message)))
			answer := string(reply)
			if strings.Contains(answer, "Remembered") {
				break
			}
			if err != nil || !strings.Contains(answer, "in use by another program") {
				fmt.Fprintln(os.Stderr, answer)
				return 1
			}
		}
	}
	return 0
}
