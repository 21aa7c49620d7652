package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"legwork/llm"
)

// Names of the machine's own tools. They are resolved by the fold, not by a
// server.
const (
	ToolPlan        = "plan"
	ToolUpdateState = "update_state"
	ToolReadResult  = "read_result"
	ToolAskPerson   = "ask_person"
	ToolDelegate    = "delegate"
)

// property is one parameter of a machine tool.
type property struct {
	name, kind string // kind: a JSON type, or "strings" for a list of them
	optional   bool
}

// schema renders properties in the given order: prompts must be the same to
// the byte from call to call. Names alone have to tell what they mean, since
// every turn of every sub-task carries these tools.
func schema(properties []property) json.RawMessage {
	var out, required strings.Builder
	for i, p := range properties {
		if i > 0 {
			out.WriteByte(',')
		}
		kind := fmt.Sprintf(`"type":%q`, p.kind)
		if p.kind == "strings" {
			kind = `"type":"array","items":{"type":"string"}`
		}
		fmt.Fprintf(&out, `%q:{%s}`, p.name, kind)
		if !p.optional {
			if required.Len() > 0 {
				required.WriteByte(',')
			}
			fmt.Fprintf(&required, "%q", p.name)
		}
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, out.String(), required.String()))
}

func (b *builder) planTool() llm.Tool {
	entry := schema([]property{
		{"id", "string", true},
		{"name", "string", false},
		{"description", "string", false},
		{"after", "strings", true},
	})
	return llm.Tool{
		Name: ToolPlan, Description: b.text("tool.plan", nil),
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"plan":{"type":"array","items":%s}},"required":["plan"]}`, entry)),
	}
}

// machineTools are offered after the group's own, which hide those of the same
// name; what was delegated cannot delegate.
func (b *builder) machineTools(w Work) []llm.Tool {
	return slices.DeleteFunc(b.ownTools(w), func(own llm.Tool) bool {
		return slices.ContainsFunc(b.scene.Tools, func(t llm.Tool) bool { return t.Name == own.Name })
	})
}

func (b *builder) ownTools(w Work) []llm.Tool {
	list := []llm.Tool{
		{Name: ToolUpdateState, Description: b.text("tool.update_state", nil), Schema: schema([]property{
			{"values", "object", false},
		})},
		{Name: ToolReadResult, Description: b.text("tool.read_result", nil), Schema: schema([]property{
			{"result", "integer", false},
			{"offset", "integer", true},
		})},
		{Name: ToolAskPerson, Description: b.text("tool.ask_person", nil), Schema: schema([]property{
			{"question", "string", false},
			{"choices", "strings", true},
		})},
	}
	if w.Parent == nil {
		list = append(list, llm.Tool{Name: ToolDelegate, Description: b.text("tool.delegate", map[string]any{"Groups": b.groupNames()}), Schema: schema([]property{
			{"name", "string", false},
			{"description", "string", false},
		})})
	}
	return list
}

func (b *builder) groupNames() string {
	names := make([]string, 0, len(b.scene.Groups)+1)
	for _, g := range b.scene.Groups {
		names = append(names, g.Name)
	}
	return strings.Join(append(names, LLMTool), ", ")
}

// MachineCall reads a call of one of the machine's own tools. ok is false for
// any other name. What cannot be used becomes a Refusal that a model can act
// on. groups are the names that delegate accepts.
func MachineCall(c Call, groups []string, delegated bool) (_ Call, ok bool) {
	switch c.Name {
	case ToolUpdateState:
		var u Update
		if err := json.Unmarshal([]byte(c.Arguments), &u); err != nil || len(u.Values) == 0 {
			return refuse(c, `update_state needs {"values": {KEY: VALUE, …}}; a null deletes a key`), true
		}
		c.Update = &u
	case ToolReadResult:
		r := Read{}
		if err := json.Unmarshal([]byte(c.Arguments), &r); err != nil || r.Result < 1 || r.Offset < 0 {
			return refuse(c, `read_result needs {"result": NUMBER, "offset": BYTES}`), true
		}
		c.Read = &r
	case ToolAskPerson:
		var q struct {
			Question string   `json:"question"`
			Choices  []string `json:"choices"`
		}
		if err := json.Unmarshal([]byte(c.Arguments), &q); err != nil || strings.TrimSpace(q.Question) == "" {
			return refuse(c, `ask_person needs {"question": TEXT, "choices": [TEXT, …]}`), true
		}
		c.Ask = &Question{Text: q.Question, Choices: q.Choices}
	case ToolDelegate:
		var d Subtask
		if err := json.Unmarshal([]byte(c.Arguments), &d); err != nil || strings.TrimSpace(d.Description) == "" {
			return refuse(c, `delegate needs {"name": GROUP, "description": TEXT}`), true
		}
		if delegated {
			return refuse(c, "a delegated sub-task cannot delegate: do the work yourself"), true
		}
		if d.Name != LLMTool && !slices.Contains(groups, d.Name) {
			return refuse(c, fmt.Sprintf("there is no group %q; the groups are %s", d.Name, strings.Join(append(slices.Clone(groups), LLMTool), ", "))), true
		}
		c.Delegate = &Subtask{Name: d.Name, Description: d.Description}
	default:
		return c, false
	}
	return c, true
}

func refuse(c Call, reason string) Call {
	c.Refusal = reason
	return c
}
