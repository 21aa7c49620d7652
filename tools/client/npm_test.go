package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/form"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// everything is the reference server of the MCP project, on one of its transports.
func everything(t *testing.T, by string) client.Config {
	t.Helper()
	program := need.NPM(t, "mcp-server-everything")
	if by == stdio {
		return client.Config{Name: "s", Command: program, Args: []string{"stdio"}}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(program, map[string]string{http: "streamableHttp", sse: "sse"}[by])
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait()
	}))
	path := map[string]string{http: "mcp", sse: "sse"}[by]
	return client.Config{Name: "s", URL: fmt.Sprintf("http://127.0.0.1:%d/%s", port, path), SSE: by == sse}
}

// TestServerEverything speaks to the reference server on every transport that it
// has, about everything that it offers.
func TestServerEverything(t *testing.T) {
	for _, by := range transports() {
		t.Run(by, func(t *testing.T) {
			cfg := everything(t, by)
			cfg.Sampling, cfg.Roots = true, []string{t.TempDir()}
			s := start(t, cfg)
			watch.Until(t, "ready", func() bool { return s.Status().State == client.Ready })
			names := slices.Sorted(maps.Keys(s.Catalog().Tools))
			t.Logf("%s: revision %s, tools %v, %d prompts", by, s.Status().Protocol, names, len(s.Catalog().Prompts))
			wantText(t, "echo", call(t, s, "echo", `{"message":"hello"}`), false, "hello")
			wantText(t, "sum", call(t, s, "get-sum", `{"a":2,"b":3}`), false, "5")
			if r := call(t, s, "get-tiny-image", "{}"); len(r.Images) != 1 {
				t.Errorf("image: got %q and %d images, want one", r.Text, len(r.Images))
			}
			wantText(t, "structured", call(t, s, "get-structured-content", `{"location":"New York"}`), false, "temperature")
			var reports []client.Progress
			wantText(t, "long", call(t, s, "trigger-long-running-operation", `{"duration":1,"steps":4}`, func(c *client.Call) {
				c.Progress = func(p client.Progress) { reports = append(reports, p) }
			}), false, "completed")
			if len(reports) == 0 || reports[len(reports)-1].Done != 4 {
				t.Errorf("progress: got %+v, want the last of 4 steps", reports)
			}
			p := func(_ context.Context, q form.Question) (form.Answer, error) {
				a := form.Answer{Action: form.Accept, Values: map[string]json.RawMessage{}}
				for _, f := range q.Fields {
					if f.Required && len(f.Default) == 0 {
						a.Values[f.Name], _ = f.Read("somebody", time.UTC)
					}
				}
				return a, nil
			}
			r := call(t, s, "trigger-elicitation-request", "{}", func(c *client.Call) { c.Ask = p })
			wantText(t, "elicitation", r, false, "somebody")
			r = call(t, s, "trigger-sampling-request", `{"prompt":"hello","maxTokens":10}`, func(c *client.Call) {
				c.Sample = func(context.Context, client.Sampling) (client.Sampled, error) {
					return client.Sampled{Model: "m-1", Text: "a sample"}, nil
				}
			})
			wantText(t, "sampling", r, false, "a sample")
			wantText(t, "task", call(t, s, "simulate-research-query", `{"topic":"bread"}`), false, "Research Report: bread")
			r = call(t, s, "simulate-research-query", `{"topic":"python","ambiguous":true}`, func(c *client.Call) {
				c.Ask = func(_ context.Context, q form.Question) (form.Answer, error) {
					return form.Answer{Action: form.Accept, Values: map[string]json.RawMessage{q.Fields[0].Name: json.RawMessage(`"snake"`)}}, nil
				}
			})
			wantText(t, "task that asks", r, false, "snake")
			list := call(t, s, "list_resources", "{}")
			uri, _, _ := strings.Cut(list.Text, ":")
			if wantText(t, "resources", list, false, "://"); uri == "" {
				t.Fatalf("got %q, want resources", list.Text)
			}
			text, err := s.Prompt(t.Context(), "simple-prompt", nil)
			if err != nil || text == "" {
				t.Errorf("prompt: got %q, %v", text, err)
			}
		})
	}
}

// TestOfficialServers are the others of the MCP project.
func TestOfficialServers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("bread"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		program, tool, args, want string
		cfg                       client.Config
	}{
		{"mcp-server-filesystem", "read_text_file", `{"path":"` + dir + `/a.txt"}`, "bread", client.Config{Args: []string{dir}}},
		{"mcp-server-memory", "create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes bread"]}]}`, "likes bread", client.Config{Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json")}}},
		{"mcp-server-sequential-thinking", "sequentialthinking", `{"thought":"bread","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber", client.Config{}},
	} {
		t.Run(c.program, func(t *testing.T) {
			c.cfg.Name, c.cfg.Command = "s", need.NPM(t, c.program)
			s := ready(t, c.cfg)
			wantText(t, c.tool, call(t, s, c.tool, c.args, within(time.Minute)), false, c.want)
			t.Logf("revision %s, %d tools", s.Status().Protocol, s.Status().Tools)
		})
	}
}
