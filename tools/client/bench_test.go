package client_test

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/client"
)

// BenchmarkCall measures calls of 10 kB with this client and with the bare
// library, and what this client adds at the 99th percentile.
func BenchmarkCall(b *testing.B) {
	args, err := json.Marshal(map[string]string{"key": strings.Repeat("k", 10<<10)})
	if err != nil {
		b.Fatal(err)
	}
	for _, by := range transports() {
		b.Run(by, func(b *testing.B) {
			s := ready(b, fake(b, by))
			lib := bare(b, by)
			var ours, theirs []time.Duration
			for b.Loop() {
				from := time.Now()
				r, err := s.Call(context.Background(), client.Call{Tool: "lookup", Arguments: args, Timeout: time.Minute, Keep: 1 << 20})
				if err != nil || r.Failed {
					b.Fatalf("got %q, %v", r.Text, err)
				}
				ours = append(ours, time.Since(from))
				from = time.Now()
				q := mcp.CallToolRequest{}
				q.Params.Name, q.Params.Arguments = "lookup", json.RawMessage(args)
				if _, err := lib.CallTool(context.Background(), q); err != nil {
					b.Fatal(err)
				}
				theirs = append(theirs, time.Since(from))
			}
			b.ReportMetric(us(percentile(ours, 50)), "p50-us")
			b.ReportMetric(us(percentile(ours, 99)), "p99-us")
			b.ReportMetric(us(percentile(ours, 50)-percentile(theirs, 50)), "added-p50-us")
			b.ReportMetric(us(percentile(ours, 99)-percentile(theirs, 99)), "added-p99-us")
		})
	}
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, len(all)*p/100)]
}

// bare is the library without anything of ours.
func bare(b *testing.B, by string) *mcpclient.Client {
	b.Helper()
	cfg := fake(b, by)
	var t transport.Interface
	var err error
	switch by {
	case stdio:
		cmd := exec.Command(cfg.Command, cfg.Args...)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err = cmd.Start(); err == nil {
			t = transport.NewIO(out, in, io.NopCloser(strings.NewReader("")))
			b.Cleanup(func() {
				_ = in.Close()
				_ = cmd.Wait()
			})
		}
	case http:
		t, err = transport.NewStreamableHTTP(cfg.URL)
	case sse:
		t, err = transport.NewSSE(cfg.URL)
	}
	if err != nil {
		b.Fatal(err)
	}
	c := mcpclient.NewClient(t)
	if err := c.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "bare", Version: "1"}
	if by == sse {
		hello.Params.ProtocolVersion = "2025-11-25"
	}
	if _, err := c.Initialize(context.Background(), hello); err != nil {
		b.Fatal(err)
	}
	return c
}
