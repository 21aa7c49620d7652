// Mcpserver is an MCP server on standard input and output for tests: well
// behaved by default, and misbehaving in one chosen way by -fault or by the
// tools that -faults offers. With -log it appends every call to a file, synced
// before the call is made, so that a judge can tell what was really called.
//
// Its tools are lookup {key} (only reads), book {item} (changes something and
// must not be repeated) and slow {ms}. Their log lines are JSON objects:
// {"time", "pid", "event": "call" or "done", "id", "tool", "arguments"}.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	fault := flag.String("fault", "", "start: exit at once; probe: exit on the modern greeting; silent: ignore it; deaf: never read; mute: never answer; child: leave a grandchild whose id is written to -pidfile; stubborn: stay when the input ends; stderr: flood the error output")
	faults := flag.Bool("faults", false, "offer the misbehaving tools")
	delay := flag.Duration("delay", 0, "wait before reading anything")
	logFile := flag.String("log", "", "append each call to this file")
	pidFile := flag.String("pidfile", "", "where -fault child writes the grandchild's process id")
	flag.Parse()

	j, err := openJournal(*logFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	atStart(*fault, *pidFile, *delay)
	out := &output{w: os.Stdout}
	s := newServer(j, *faults)
	in, pipe := io.Pipe()
	go func() { _ = pipe.CloseWithError(tap(os.Stdin, pipe, out, *fault, j, s)) }()
	if err := server.NewStdioServer(s).Listen(context.Background(), in, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if *fault == "stubborn" || *fault == "child" {
		select {}
	}
}

// atStart does the faults that come before the first message.
func atStart(fault, pidFile string, delay time.Duration) {
	switch fault {
	case "start":
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(3)
	case "deaf":
		select {}
	case "stderr":
		go func() {
			for {
				fmt.Fprintln(os.Stderr, strings.Repeat("too much ", 1000))
			}
		}()
	case "child":
		c := exec.Command("sleep", "600")
		c.Stdout = os.Stdout // which keeps the pipe open when this process ends
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = os.WriteFile(pidFile, fmt.Appendf(nil, "%d", c.Process.Pid), 0o600)
	}
	<-time.After(delay)
}

// tap passes the input on line by line, logs calls, and does the faults that
// the library would not let happen.
func tap(r io.Reader, w io.Writer, out *output, fault string, j *journal, s *server.MCPServer) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		_ = json.Unmarshal(line, &m)
		switch {
		case fault == "mute", fault == "silent" && m.Method == "server/discover":
			continue
		case fault == "probe" && m.Method == "server/discover":
			fmt.Fprintln(os.Stderr, "unknown method, giving up")
			os.Exit(4)
		case m.Method == "tools/call":
			j.write("call", m.ID, m.Params.Name, m.Params.Arguments)
			if misbehave(m.Params.Name, string(m.ID), out, s) {
				continue
			}
		case m.Method == "notifications/cancelled":
			j.write("cancelled", nil, "", nil)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// misbehave does the fault tools that write by themselves or not at all.
func misbehave(tool, id string, out *output, s *server.MCPServer) bool {
	begin := `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`
	end := `"}]},"id":` + id + "}\n"
	switch tool {
	case "die":
		os.Exit(5)
	case "hang":
	case "garbage":
		out.print("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{\"content\":[}}\n")
	case "noise":
		out.print("debug: this should have gone to stderr\n")
		return false
	case "huge":
		out.flood(begin, strings.Repeat("x", 1<<20), 100, end)
	case "pieces":
		out.flood(`{"jsonrpc":"2.0","result":{"content":[`, strings.Repeat(`{"type":"text","text":"x"},`, 1<<15), 16, `{"type":"text","text":"x"}]},"id":`+id+"}\n")
	case "flood":
		out.flood(`{"`, strings.Repeat("x", 1<<20), 1<<20, "")
	case "binary":
		out.print(begin + "a\xff\xfeb\\u0000c" + end)
	case "odd":
		out.print(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"first"},{"type":"image","data":"AAAA","mimeType":"image/png"},` +
			`{"type":"audio","data":"AAAAAAAA"},{"type":"resource","resource":{"uri":"file:///a.txt","text":"inside"}},{"type":"resource","resource":{"uri":"file:///b","blob":"AAAA"}},` +
			`{"type":"resource_link","uri":"file:///c","name":"c"},{"type":"hologram"},7]}}` + "\n")
	case "structured":
		out.print(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[],"structuredContent":{"answer":42}}}` + "\n")
	case "grow":
		offer(s, "grown", "Appeared later.", nil)
		return false
	default:
		return false
	}
	return true
}

func newServer(j *journal, faults bool) *server.MCPServer {
	s := server.NewMCPServer("fake", "1", server.WithToolCapabilities(true), server.WithInstructions("Looks things up and books them."))
	yes, no := true, false
	lookup := mcp.NewTool("lookup", mcp.WithDescription("Looks up a key."), mcp.WithString("key", mcp.Required()))
	lookup.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes}
	s.AddTool(lookup, answer(j, func(_ context.Context, r mcp.CallToolRequest) string { return "value of " + r.GetString("key", "") }))
	book := mcp.NewTool("book", mcp.WithDescription("Books an item."), mcp.WithString("item", mcp.Required()))
	book.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &no, IdempotentHint: &no}
	s.AddTool(book, answer(j, func(_ context.Context, r mcp.CallToolRequest) string { return "booked " + r.GetString("item", "") }))
	slow := mcp.NewTool("slow", mcp.WithDescription("Answers late."), mcp.WithNumber("ms", mcp.Required()))
	slow.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes}
	s.AddTool(slow, answer(j, func(ctx context.Context, r mcp.CallToolRequest) string {
		select {
		case <-time.After(time.Duration(r.GetInt("ms", 0)) * time.Millisecond):
		case <-ctx.Done():
		}
		return "at last"
	}))
	if faults {
		for _, name := range strings.Fields("die hang garbage noise huge pieces flood binary odd structured grow") {
			offer(s, name, "Misbehaves.", nil)
		}
		offer(s, "env", "Tells the environment.", func() string { return strings.Join(os.Environ(), "\n") })
		offer(s, "pid", "Tells the process id.", func() string { return fmt.Sprint(os.Getpid()) })
		s.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("the shop is closed"), nil
		})
		s.AddTool(mcp.NewToolWithRawSchema("strange", "Has a schema with everything.", json.RawMessage(
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Strange","type":"object","$defs":{"id":{"type":"string","pattern":"^(?!x)[a-z]+$"}},`+
				`"properties":{"id":{"$ref":"#/$defs/id"},"n":{"type":"integer","default":3}},"oneOf":[{"required":["id"]},{"required":["n"]}]}`)),
			answer(j, func(_ context.Context, r mcp.CallToolRequest) string {
				b, _ := json.Marshal(r.GetArguments())
				return string(b)
			}))
	}
	return s
}

func offer(s *server.MCPServer, name, description string, text func() string) {
	s.AddTool(mcp.NewTool(name, mcp.WithDescription(description)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if text == nil {
			return mcp.NewToolResultText("done"), nil
		}
		return mcp.NewToolResultText(text()), nil
	})
}

// answer logs the end of a call before its result goes out.
func answer(j *journal, f func(context.Context, mcp.CallToolRequest) string) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := f(ctx, r)
		args, _ := json.Marshal(r.GetArguments())
		j.write("done", nil, r.Params.Name, bytes.TrimSpace(args))
		return mcp.NewToolResultText(text), nil
	}
}
