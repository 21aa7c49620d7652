package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rogpeppe/go-internal/testscript"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/searchfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/leaks"
)

var update = flag.Bool("update", false, "rewrite what testdata/script expects by cmp")

// TestMain lets scripts run the real command line, and an MCP server with one
// tool that reads and two that change things.
func TestMain(m *testing.M) {
	testscript.Main(leaks.Runner{Tests: m}, map[string]func(){
		"legwork":   main,
		"mcpserver": serveMCP,
		"repeat":    repeat,
	})
}

// TestScripts runs testdata/script/*.txtar; each is a session in a shell.
func TestScripts(t *testing.T) {
	t.Parallel()
	models := llmfake.New(t, llmfake.Options{Models: []string{"big", "small"}, Respond: func(llmfake.Request) llmfake.Response {
		return llmfake.Say("ok")
	}})
	people := telegramfake.New(t, telegramfake.Options{Token: "123456:AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDD"})
	team := slackfake.New(t, slackfake.Options{})
	pages := http.NewServeMux()
	pages.HandleFunc("GET /search", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results": [{"url": "https://example.com/", "title": "Weather", "content": "Rain."}]}`)
	})
	search := httptest.NewServer(pages)
	t.Cleanup(search.Close)
	brave := searchfake.New(t, "brave", searchfake.Result{Title: "Weather", Address: "https://example.com/", Snippet: "Rain."})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("MODEL_URL", models.URL)
			e.Setenv("TELEGRAM_URL", people.URL)
			e.Setenv("TELEGRAM_TOKEN", people.Token)
			e.Setenv("SLACK_URL", team.APIURL)
			e.Setenv("SEARCH_URL", search.URL+"/search")
			e.Setenv("BRAVE_URL", brave.URL)
			e.Setenv("BRAVE_KEY", searchfake.Key)
			e.Setenv("SLACK_BOT", slackfake.BotToken)
			e.Setenv("SLACK_APP", slackfake.AppToken)
			return nil
		},
	})
}

func serveMCP() {
	s := server.NewMCPServer("books", "1")
	nothing := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	}
	for _, name := range []string{"lend", "find", "burn"} {
		s.AddTool(mcp.NewTool(name), nothing)
	}
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// repeat prints its first argument as often as its second says.
func repeat() {
	var times int
	if _, err := fmt.Sscan(os.Args[2], &times); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(strings.Repeat(os.Args[1], times))
}
