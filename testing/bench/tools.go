package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/fakes/llmfake"
	"legwork/tools"
	toolclient "legwork/tools/client"
)

// callBytes is the size of the result that calls are measured with.
const callBytes = 9 << 10

// measureTools measures what package tools adds to calls of MCP servers, and what
// servers that behave badly cost.
func measureTools(ctx context.Context, dir string) (figures []figure, err error) {
	fake := filepath.Join(dir, "mcpserver")
	if err := build(ctx, fake, "./fakes/mcpserver"); err != nil {
		return nil, err
	}
	url, stop, err := serveFake(ctx, fake)
	if err != nil {
		return nil, err
	}
	defer stop()
	for _, m := range []func(context.Context, string, string) ([]figure, error){addedToCalls, readyBesideMute, hugeResults, checksOfCalls} {
		more, err := m(ctx, fake, url)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

// serveFake runs the server for tests on a socket.
func serveFake(ctx context.Context, fake string) (url string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, fake, "-http", "127.0.0.1:0", "-faults")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("starting the server for tests: %w", err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // killed
	}
	lines := bufio.NewReader(stderr)
	address, err := lines.ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("waiting for the address of the server for tests: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return strings.TrimSpace(address), stop, nil
}

// running starts the servers of a config; end stops them.
func running(ctx context.Context, cfg tools.Config) (m *tools.Manager, end func(), err error) {
	m, err = tools.New(cfg, tools.Options{Version: "bench"})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.Run(ctx) // without an error when ctx ends
	}()
	return m, func() { cancel(); <-done }, nil
}

// open is a group that may do everything with one server.
func open(s tools.ServerConfig) tools.Config {
	return tools.Config{
		Servers: map[string]tools.ServerConfig{"s": s},
		Groups:  map[string]tools.GroupConfig{"g": {Servers: []string{"s"}, Approve: tools.Approve{tools.ApproveNever}}},
	}
}

// addedToCalls compares calls through a group with calls of the bare library, to
// the same kind of server, in turns.
func addedToCalls(ctx context.Context, fake, url string) ([]figure, error) {
	var figures []figure
	for _, way := range []struct {
		name   string
		server tools.ServerConfig
		bare   func() (*client.Client, error)
	}{
		{"stdio", tools.ServerConfig{Command: fake}, func() (*client.Client, error) { return client.NewStdioMCPClient(fake, nil) }},
		{"HTTP", tools.ServerConfig{URL: url}, func() (*client.Client, error) { return client.NewStreamableHttpClient(url) }},
	} {
		m, end, err := running(ctx, open(way.server))
		if err != nil {
			return nil, err
		}
		ours, theirs, err := inTurns(ctx, m, way.bare)
		end()
		if err != nil {
			return nil, fmt.Errorf("calling by %s: %w", way.name, err)
		}
		figures = append(figures, within("added to a call of 9 kB by "+way.name+", 99th percentile",
			max(0, percentile(ours, 0.99)-percentile(theirs, 0.99)), time.Millisecond,
			fmt.Sprintf("%s bare; medians %s and %s", short(percentile(theirs, 0.99)), short(median(ours)), short(median(theirs)))))
	}
	return figures, nil
}

func inTurns(ctx context.Context, m *tools.Manager, connect func() (*client.Client, error)) (ours, theirs []time.Duration, err error) {
	bare, err := connect()
	if err != nil {
		return nil, nil, err
	}
	defer bare.Close() //nolint:errcheck // it is only measured
	if err := bare.Start(ctx); err != nil {
		return nil, nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1"}
	if _, err := bare.Initialize(ctx, hello); err != nil {
		return nil, nil, err
	}
	key := strings.Repeat("k", callBytes)
	arguments := json.RawMessage(`{"key":"` + key + `"}`)
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "lookup", arguments
	for n := range 1200 {
		mine, other := &ours, &theirs
		if n < 200 { // warm up
			mine, other = new([]time.Duration), new([]time.Duration)
		}
		err := timed(mine, func() error {
			v := m.Set().Verdict(ctx, "g", "s.lookup")
			r, err := m.Set().Call(ctx, "g", tools.Call{Call: toolclient.Call{Tool: "s.lookup", Arguments: arguments, Definition: v.Definition}})
			if err == nil && !strings.HasSuffix(r.Text, key) {
				err = fmt.Errorf("got %.100q", r.Text)
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		if err := timed(other, func() error { _, err := bare.CallTool(ctx, request); return err }); err != nil {
			return nil, nil, err
		}
	}
	return ours, theirs, nil
}

// readyBesideMute starts eight servers, one of which never answers.
func readyBesideMute(ctx context.Context, fake, _ string) ([]figure, error) {
	var took []time.Duration
	for range 5 {
		cfg := tools.Config{Servers: map[string]tools.ServerConfig{}}
		for i := range 7 {
			cfg.Servers[fmt.Sprintf("s%d", i)] = tools.ServerConfig{Command: fake}
		}
		cfg.Servers["mute"] = tools.ServerConfig{Command: fake, Args: []string{"-fault", "mute"}}
		from := time.Now()
		m, end, err := running(ctx, cfg)
		if err != nil {
			return nil, err
		}
		for i := range 7 {
			if _, err := m.Set().Tools(ctx, fmt.Sprintf("s%d", i)); err != nil {
				end()
				return nil, err
			}
		}
		took = append(took, time.Since(from))
		end()
	}
	var one []time.Duration
	for range 10 {
		if err := timed(&one, func() error {
			c, err := client.NewStdioMCPClient(fake, nil)
			if err != nil {
				return err
			}
			defer c.Close() //nolint:errcheck // it is only measured
			_, err = c.Initialize(ctx, mcp.InitializeRequest{})
			return err
		}); err != nil {
			return nil, err
		}
	}
	return []figure{within("eight stdio servers, one mute: the others ready", median(took), 100*time.Millisecond, short(median(one))+" one, bare")}, nil
}

// hugeResults calls a tool that returns 100 MiB, by both ways.
func hugeResults(ctx context.Context, fake, url string) ([]figure, error) {
	var figures []figure
	for _, way := range []struct {
		name   string
		server tools.ServerConfig
	}{{"stdio", tools.ServerConfig{Command: fake, Args: []string{"-faults"}}}, {"HTTP", tools.ServerConfig{URL: url}}} {
		m, end, err := running(ctx, open(way.server))
		if err != nil {
			return nil, err
		}
		if _, err := m.Set().Tools(ctx, "g"); err != nil {
			end()
			return nil, err
		}
		more, err := grown(func() error {
			r, err := m.Set().Call(ctx, "g", tools.Call{Call: toolclient.Call{Tool: "s.huge"}})
			if err == nil && (r.Failed || r.Bytes < 100<<20) {
				err = fmt.Errorf("got %d bytes of %d: %.100q", len(r.Text), r.Bytes, r.Text)
			}
			return err
		})
		end()
		if err != nil {
			return nil, fmt.Errorf("calling by %s: %w", way.name, err)
		}
		figures = append(figures, figure{
			name: "memory that a result of 100 MiB by " + way.name + " takes at its peak", measured: mib(int(more >> 10)), limit: "8.0 MiB", ok: more <= 8<<20,
		})
	}
	return figures, nil
}

// grown is by how much the memory of the runtime's heap and stacks grew at most
// while do ran.
func grown(do func() error) (int64, error) {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	use := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64() + sample[1].Value.Uint64()) //nolint:gosec // far below the limit
	}
	before := use()
	most, ended, stopped := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, use())
			case <-ended:
				return
			}
		}
	}()
	err := do()
	close(ended)
	<-stopped
	return most - before, err
}

// checksOfCalls judges calls by the rules of a group with patterns.
func checksOfCalls(ctx context.Context, fake, _ string) ([]figure, error) {
	cfg := open(tools.ServerConfig{Command: fake})
	g := cfg.Groups["g"]
	g.Approve, g.Tools, g.ReadOnly = tools.Approve{"b*", "*.pay_*", "!book_later"}, []string{"*", "!hidden_*"}, []string{"get_*", "list_*", "look*"}
	cfg.Groups["g"] = g
	m, end, err := running(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := m.Set().Tools(ctx, "g"); err != nil {
		return nil, err
	}
	const rounds = 1000
	var took []time.Duration
	for range 50 {
		if err := timed(&took, func() error {
			for range rounds {
				if v := m.Set().Verdict(ctx, "g", "s.book"); !v.Ask {
					return fmt.Errorf("the verdict is %+v", v)
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return []figure{within("permission, policy and approval of a call checked", median(took)/rounds, 10*time.Microsecond, "")}, nil
}

// Sixty tools in eight groups: what a task of three sub-tasks has in its prompts.
const (
	manyGroups = 8
	manyTools  = 60
	manyServer = "LEGWORK_BENCH_SERVER" // the number of the server that this process is to be
)

// measureMany counts the bytes of prompts with tools by group, against the same
// prompts with all tools in each.
func measureMany(ctx context.Context, dir string) ([]figure, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cfg := tools.Config{Servers: map[string]tools.ServerConfig{}, Groups: map[string]tools.GroupConfig{}}
	all := 0
	for i := range manyGroups {
		name := fmt.Sprintf("desk%d", i)
		cfg.Servers[name] = tools.ServerConfig{Command: self, Env: map[string]string{manyServer: fmt.Sprint(i)}}
		cfg.Groups[name] = tools.GroupConfig{Description: fmt.Sprintf("Looks after the papers of desk %d.", i), ReadOnly: []string{"*"}}
		for _, t := range deskTools(i) {
			all += len("desk0__") + len(t.Name) + len(t.Description) + len(t.RawInputSchema)
		}
	}
	r, err := newRigOf(cfg, dir, askDesks, 0)
	if err != nil {
		return nil, err
	}
	if _, answer, err := r.ask(ctx, "compare three desks"); err != nil || strings.Count(answer, "found") != 3 {
		return nil, fmt.Errorf("the answer is %q, %w", answer, err)
	}
	got, whole := 0, 0
	for _, request := range r.fake.Requests() {
		size, own := promptBytes(request), 0
		for _, t := range request.Tools {
			if strings.HasPrefix(t.Name, "desk") {
				own += len(t.Name) + len(t.Description) + len(t.Schema)
			}
		}
		got, whole = got+size, whole+size-own+all
	}
	share := float64(got) / float64(whole) * 100
	return []figure{{
		name: "prompts of a task with 60 tools in 8 groups", measured: fmt.Sprintf("%.0f %%", share), limit: "35 % of all tools in each",
		machine: fmt.Sprintf("%d of %d B", got, whole), ok: share <= 35,
	}}, r.close()
}

// deskTools are the tools of one desk, described as real servers do.
func deskTools(desk int) []mcp.Tool {
	n := manyTools / manyGroups
	if desk < manyTools%manyGroups {
		n++
	}
	list := make([]mcp.Tool, n)
	for i := range list {
		list[i] = mcp.NewToolWithRawSchema(fmt.Sprintf("search_papers_%d_%d", desk, i),
			"Searches the papers of the desk by words, people and dates, the newest first. Returns at most limit of them with title, author, date and a summary; use cursor for the next page.",
			json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words that the paper holds"},"author":{"type":"string","description":"full name of who wrote it"},"since":{"type":"string","format":"date","description":"only papers from this day on"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20},"cursor":{"type":"string","description":"from the page before"}},"required":["query"]}`))
	}
	return list
}

// askDesks is a model that asks three desks, each with one call, and counts what
// they found.
func askDesks(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	switch step {
	case llmfake.StepPlan:
		return llmfake.Call("plan", `{"plan":[{"id":"a","name":"desk0","description":"Find the newest paper"},{"id":"b","name":"desk3","description":"Find the newest paper"},{"id":"c","name":"desk7","description":"Find the newest paper"}]}`)
	case llmfake.StepWork:
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return llmfake.Say(content(last.Content))
		}
		return llmfake.Call(r.Tools[0].Name, `{"query":"newest"}`)
	}
	count := 0
	for _, m := range r.Messages {
		count += strings.Count(m.Content, "found")
	}
	return llmfake.Say(strings.Repeat("found ", count))
}

// serveDesk makes this process one of the servers of measureMany.
func serveDesk(number string) error {
	desk, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("reading %s: %w", manyServer, err)
	}
	s := server.NewMCPServer("desk", "1")
	for _, t := range deskTools(desk) {
		s.AddTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("found one"), nil
		})
	}
	return server.ServeStdio(s)
}
