package tools_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/watch"
	"legwork/tools"
)

// addPrompt offers a prompt.
func (e *env) addPrompt(name, text string, o ...mcp.PromptOption) {
	e.AddPrompt(mcp.NewPrompt(name, append(o, mcp.WithPromptDescription("About "+name))...),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text := strings.ReplaceAll(text, "WHAT", r.Params.Arguments["what"])
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}}}, nil
		})
}

func TestPrompts(t *testing.T) {
	s := newEnv(t)
	s.addTool("pay", "Pays a bill.")
	s.addPrompt("buying", "Buy WHAT.", mcp.WithArgument("what", mcp.RequiredArgument(), mcp.ArgumentDescription("What to buy")))
	s.addPrompt("a/b", "Look around.")
	m, _ := s.run(t, tools.Options{})
	list, err := m.Set().Prompts(t.Context(), "g")
	want := []tools.Prompt{
		{Name: "s/a/b", Description: "About a/b"},
		{
			Name: "s/buying", Description: "About buying",
			Arguments: []tools.PromptArgument{{Name: "what", Description: "What to buy", Required: true}},
		},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("Prompts (-want +got):\n%s%v", diff, err)
	}
	for _, c := range []struct {
		group, name string
		arguments   map[string]string
		want, wrong string
	}{
		{"g", "s/buying", map[string]string{"what": "milk"}, "Buy milk.", ""},
		{"g", "s/a/b", nil, "Look around.", ""},
		{"g", "s/buying", nil, "", `needs the argument "what"`},
		{"g", "s/none", nil, "", "no such prompt"},
		{"g", "x/buying", nil, "", `no server "x"`},
		{"h", "s/buying", nil, "", `no group "h"`},
	} {
		got, err := m.Set().Prompt(t.Context(), c.group, c.name, c.arguments)
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("Prompt(%s, %s, %v): got %q, %v; want %q, %q", c.group, c.name, c.arguments, got, err, c.want, c.wrong)
		}
	}
}

// TestGroupPrompt: the text of a prompt is part of the group's instructions
// once its server is there, and follows what the server says.
func TestGroupPrompt(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	s.addTool("pay", "Pays a bill.")
	s.addPrompt("house", "Always\nhaggle.\u202e")
	cfg := s.config()
	g := cfg.Groups["g"]
	g.Instructions, g.Prompt = "Be brief.", "s/house"
	cfg.Groups["g"] = g
	var logged watch.Log
	m, _ := start(t, cfg, tools.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	is := func(want string) func() bool {
		return func() bool { return m.Set().Groups()[0].Instructions == want }
	}
	watch.Until(t, "the prompt is read", is("Be brief.\n\nAlways\nhaggle.\\u202e"))
	s.addPrompt("house", "Never haggle.")
	s.change(t, "pay", "Pays a bill.", "the new text is read", is("Be brief.\n\nNever haggle."))
	s.addPrompt("other", "Haggle.")
	s.addTool("pay", "Pays a bill.")
	g.Prompt = "s/other"
	cfg.Groups["g"] = g
	watch.Until(t, "the server lists the other prompt", func() bool {
		list, _ := m.Set().Prompts(t.Context(), "g")
		return len(list) == 2
	})
	if err := m.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if !is("Be brief.\n\nHaggle.")() {
		t.Errorf("instructions right after a reload: got %q, want the other prompt's", m.Set().Groups()[0].Instructions)
	}
	g.Prompt = "s/none"
	cfg.Groups["g"] = g
	if err := m.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if !is("Be brief.")() || !strings.Contains(logged.String(), "group prompt not read") {
		t.Errorf("a prompt that is missing: got instructions %q and the log %q", m.Set().Groups()[0].Instructions, logged.String())
	}
}
