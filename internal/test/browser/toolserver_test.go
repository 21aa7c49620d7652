package browser_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/internal/test/browser"
)

// hugeLine is the result of the tool huge: 1 MiB in one line.
var hugeLine = strings.Repeat("0123456789abcde ", 1<<16)

// toolServer serves tools over HTTP that return hostile strings, or a huge one, and tools
// whose names and descriptions are hostile. It returns its address.
func toolServer(t *testing.T) string {
	t.Helper()
	s := server.NewMCPServer("evil", "1", server.WithToolCapabilities(true), server.WithInstructions(strings.Join(hostile()[:25], "\n")))
	reads := true
	offer := func(name, description string, do func() *mcp.CallToolResult) {
		tool := mcp.NewTool(name, mcp.WithDescription(description))
		tool.Annotations.ReadOnlyHint = &reads
		s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return do(), nil })
	}
	everything := strings.Join(hostile(), "\n\n")
	offer("tell", "Tells.", func() *mcp.CallToolResult { return mcp.NewToolResultText(everything) })
	offer("fail", "Fails.", func() *mcp.CallToolResult { return mcp.NewToolResultError(everything) })
	offer("huge", "Tells much.", func() *mcp.CallToolResult { return mcp.NewToolResultText(hugeLine) })
	for n, text := range hostile() {
		if n < 25 {
			offer(text, "A tool with a hostile name.", func() *mcp.CallToolResult { return mcp.NewToolResultText("done") })
		}
		if len(text) < 1000 {
			offer(fmt.Sprint("tool_", n), text, func() *mcp.CallToolResult { return mcp.NewToolResultText("done") })
		}
	}
	h := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL + "/mcp"
}

// withTools restarts legwork with the tools of toolServer in the group evil, and waits
// until they are there.
func (e *env) withTools() {
	e.t.Helper()
	text := strings.Replace(e.config(), "servers:\n", fmt.Sprintf("servers:\n  evil: {url: %q}\n", toolServer(e.t)), 1)
	description := strings.NewReplacer("\x00", "", "$", "$$", strings.Repeat("A", 4000), "").Replace(strings.Join(hostile()[:25], " "))
	text = strings.Replace(text, "groups:\n", fmt.Sprintf("groups:\n  evil: {description: %s, servers: [evil], tools: [tell, fail, huge], read_only: [\"*\"]}\n", encoded(description)), 1)
	e.kill()
	e.write("config.yaml", text)
	e.start()
	tab := e.enter("admin", browser.Wide)
	tab.Go(e.URL + "/console/tools/evil")
	tab.See(browser.Link("tell"))
	e.harmless(tab, "the tools")
}

// TestHugeResult shows all of a result of 1 MiB in one line.
func TestHugeResult(t *testing.T) {
	e := newEnv(t, "")
	e.withTools()
	tab := e.enter("operator", browser.Wide)
	tab.Fill(ask, "Get the huge result")
	tab.Click(browser.Button("Send"))
	tab.Click(browser.Link("Details"))
	tab.Until(`location.pathname.includes("/tasks/")`)
	tab.Go(e.URL + "/console/tasks/" + e.task(t) + "/journal")
	tab.Click(browser.Button("/evil.huge: 0123/"))
	tab.Until(`document.querySelector("dialog .task-text")?.textContent.includes("0123456789abcde")`)
	for tab.Count(browser.Button("/^(Load all|Show more)/")) > 0 { // until the whole of it is there
		tab.Click(browser.Button("/^(Load all|Show more)/"))
	}
	tab.Until(fmt.Sprintf(`document.querySelector("dialog .task-text").textContent.includes("0123456789abcde ".repeat(%d).trim())`, 1<<16))
	var wide int
	if tab.Eval(`document.documentElement.scrollWidth - innerWidth`, &wide); wide > 0 {
		t.Errorf("the page is %d pixels wider than the window", wide)
	}
}
