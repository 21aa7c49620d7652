package offline

import (
	"slices"
	"strings"

	"legwork/llm"
)

// alone is the name under which a plan gives work to the model without tools.
const alone = "llm_tool"

// prompt is the part of a request that the rules read.
type prompt struct {
	role     string
	length   int // messages
	groups   []group
	goal     string
	news     string // guidance since the last results
	task     string
	zone     string   // the person's time zone
	results  []result // of sub-tasks
	returned []string // by tools, to this sub-task
	refused  bool     // an earlier reply to this request was given back
	tools    []llm.Tool
	images   bool // one of the messages holds images
	files    []file
}

type group struct{ name, description string }

type result struct{ state, text string }

func readPrompt(rules *rules, r llm.Request) prompt {
	p := prompt{role: r.Role, length: len(r.Messages), tools: r.Tools}
	last := "" // the last of several speaks, since tags in history are older
	for _, m := range r.Messages {
		p.images = p.images || len(m.Images) > 0
		switch m.Role {
		case llm.System:
			p.groups = append(p.groups, readGroups(rules, m.Content)...)
		case llm.User:
			p.read(rules, m.Content)
			last = m.Content
		case llm.Assistant:
			p.refused = p.goal != "" && len(m.ToolCalls) == 0
		case llm.ToolRole:
			p.returned = append(p.returned, inner(rules, m.Content))
		}
	}
	if p.goal == "" && p.task == "" {
		p.goal = strings.TrimSpace(last)
	}
	if p.role == "" {
		p.role = guess(p)
	}
	return p
}

// guess guesses the role of a prompt.
func guess(p prompt) string {
	if slices.ContainsFunc(p.tools, func(t llm.Tool) bool { return t.Name == "plan" }) {
		return llm.RolePlan
	}
	if p.task != "" || len(p.tools) > 0 && !p.makes() {
		return llm.RoleWork
	}
	return llm.RoleAnswer
}

// read takes goal, guidance, task and results from a user's message.
func (p *prompt) read(rules *rules, text string) {
	for _, t := range rules.tag.FindAllStringSubmatch(text, -1) {
		body := strings.TrimSpace(t[3])
		switch t[1] {
		case "goal":
			p.goal, p.news, p.results, p.refused = body, "", nil, false
		case "task":
			p.task = body
		case "data":
			if name := rules.file.FindStringSubmatch(t[2]); name != nil {
				p.files = append(p.files, file{name[1], body})
			}
		case "guidance":
			p.news = strings.TrimSpace(p.news + "\n" + body)
		case "result":
			r := result{state: "done", text: body}
			if a := rules.state.FindStringSubmatch(t[2]); a != nil {
				r.state = a[1]
			}
			p.results, p.news = append(p.results, r), ""
		}
	}
	if zones := rules.zone.FindAllString(rules.tag.ReplaceAllString(text, ""), 1); len(zones) > 0 && p.zone == "" {
		p.zone = zones[0]
	}
}

// inner takes off the tag around a tool's result. A text without a tag is a message of
// legwork to the model: its first sentence says what happened, and the rest what the
// model should do, which is nothing for people.
func inner(rules *rules, text string) string {
	t := rules.tag.FindStringSubmatch(text)
	switch {
	case t == nil:
		if end := rules.sentence.FindStringIndex(text); end != nil {
			text = text[:end[1]]
		}
	case t[1] == "data":
		text = t[3]
	}
	return strings.TrimSpace(text)
}

// readGroups finds the list "- NAME: DESCRIPTION (MARK)" that llm_tool is in. The
// mark says whether the group can change things.
func readGroups(rules *rules, system string) []group {
	var list []group
	known := false
	for line := range strings.Lines(system + "\n") {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		name, description, described := strings.Cut(item, ":")
		if !ok || !described || strings.ContainsAny(name, " \t") {
			if known {
				return list
			}
			list = nil
			continue
		}
		if name == alone {
			known = true
			continue
		}
		list = append(list, group{name, strings.TrimSpace(rules.mark.ReplaceAllString(description, ""))})
	}
	return nil
}
