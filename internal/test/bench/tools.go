package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/tools"
)

// callBytes is the size of the result that calls are measured with.
const callBytes = 9 << 10

// measureTools measures what package tools adds to calls of MCP servers, and what
// servers that behave badly cost.
func measureTools(ctx context.Context, dir string) (figures []figure, err error) {
	fake := filepath.Join(dir, "mcpserver")
	if err := build(ctx, fake, "./internal/test/fakes/mcpserver"); err != nil {
		return nil, err
	}
	url, stop, err := servers.Listen(exec.CommandContext(ctx, fake, "-http", "127.0.0.1:0", "-faults"))
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
			v := m.Set().ToolVerdict(ctx, "g", "s.lookup")
			r, err := m.Set().Call(ctx, tools.Call{Group: "g", Tool: "s.lookup", Arguments: arguments, Definition: v.Definition})
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
	if _, err := m.Set().Tools(ctx, "g", ""); err != nil {
		return nil, err
	}
	const rounds = 1000
	var took []time.Duration
	for range 50 {
		if err := timed(&took, func() error {
			for range rounds {
				if v := m.Set().ToolVerdict(ctx, "g", "s.book"); !v.Ask {
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
			if _, err := m.Set().Tools(ctx, fmt.Sprintf("s%d", i), ""); err != nil {
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
		if _, err := m.Set().Tools(ctx, "g", ""); err != nil {
			end()
			return nil, err
		}
		var r tools.Result
		more := watch.Memory(func() { r, err = m.Set().Call(ctx, tools.Call{Group: "g", Tool: "s.huge"}) })
		end()
		if err == nil && (r.Failed || r.Bytes < 100<<20) {
			err = fmt.Errorf("got %d bytes of %d: %.100q", len(r.Text), r.Bytes, r.Text)
		}
		if err != nil {
			return nil, fmt.Errorf("calling by %s: %w", way.name, err)
		}
		figures = append(figures, figure{
			name: "memory that a result of 100 MiB by " + way.name + " takes at its peak", measured: mib(int(more >> 10)), limit: "8.0 MiB", ok: more <= 8<<20,
		})
	}
	return figures, nil
}
