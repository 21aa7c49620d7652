package i18n

import (
	"fmt"
	"strings"
	"text/template"
)

// PromptData fills in the prompts. Nothing in it may change during a task:
// what changes goes into later messages.
type PromptData struct {
	Groups            []Group // plan: whom work can be given to, apart from llm_tool
	Example           string  // plan: the agent of the example; filled in with the first of Groups, or llm_tool
	MaxSubtasks       int     // plan: most sub-tasks in one plan
	Instructions      string  // plan, answer, work: the admin's, for all chats; may be empty
	ChatInstructions  string  // plan, answer, and work when Final: the admin's for this chat; may be empty
	GroupInstructions string  // work: the admin's for the group; may be empty
	Final             bool    // work: the last text of this sub-task is the answer to the person
	Makes             string  // plan, answer: the kinds of files that can be made for the person; may be empty
	Language          string  // name of the language for an answer to a question in an unclear one; empty: the prompt's own
}

// Group is a tool group as a planner sees it. Line breaks in Description
// become spaces, because each group has one line.
type Group struct {
	Name        string
	Description string
	ReadOnly    bool // it can change nothing
}

// promptNames lists the prompts of each language. Each is a system text, but for
// review: that is the question at the end of a prompt that begins with plan.
func promptNames() []string { return []string{"plan", "review", "work", "answer", "summary"} }

type prompt struct{ template *template.Template }

func parsePrompt(name, source string) (*prompt, error) {
	t, err := template.New(name).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("parsing prompt %q: %w", name, err)
	}
	return &prompt{t}, nil
}

func (p *prompt) render(data PromptData) (string, error) {
	groups := make([]Group, len(data.Groups))
	for i, g := range data.Groups {
		groups[i] = Group{g.Name, strings.Join(strings.Fields(g.Description), " "), g.ReadOnly}
	}
	data.Groups, data.Example = groups, "llm_tool"
	if len(groups) > 0 {
		data.Example = groups[0].Name
	}
	var b strings.Builder
	if err := p.template.Execute(&b, data); err != nil {
		return "", fmt.Errorf("rendering prompt %q: %w", p.template.Name(), err)
	}
	return strings.TrimSpace(b.String()) + "\n", nil
}
