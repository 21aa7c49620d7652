package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/watch"
	"legwork/tools"
	toolclient "legwork/tools/client"
)

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
		var r tools.Result
		more := watch.Memory(func() { r, err = m.Set().Call(ctx, "g", tools.Call{Call: toolclient.Call{Tool: "s.huge"}}) })
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
