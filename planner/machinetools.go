package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/llm"
)

// Names of the machine's own tools. They are resolved by the fold, not by a
// server.
const (
	ToolPlan        = "plan"
	ToolGetState    = "get_state"
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
	if required.Len() > 0 {
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, out.String(), required.String()))
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s}}`, out.String()))
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
// name. A delegated sub-task cannot delegate, and read_result comes with the first
// text that names something to read: so this is called when the messages are there.
func (b *builder) machineTools(w Work) []llm.Tool {
	return slices.DeleteFunc(b.ownTools(w), func(own llm.Tool) bool {
		return slices.ContainsFunc(b.input.Tools, func(t llm.Tool) bool { return t.Name == own.Name })
	})
}

func (b *builder) ownTools(w Work) []llm.Tool {
	list := []llm.Tool{
		{Name: ToolGetState, Description: b.text("tool.get_state", nil), Schema: schema([]property{
			{"keys", "strings", true},
		})},
		{Name: ToolUpdateState, Description: b.text("tool.update_state", nil), Schema: schema([]property{
			{"values", "object", false},
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
	if b.namesMore { // last: caches of providers keep the prompt before it
		list = append(list, llm.Tool{Name: ToolReadResult, Description: b.text("tool.read_result", nil), Schema: schema([]property{
			{"result", "integer", true},
			{"earlier", "string", true},
			{"offset", "integer", true},
		})})
	}
	return list
}

func (b *builder) groupNames() string {
	names := make([]string, 0, len(b.input.Groups)+1)
	for _, g := range b.input.Groups {
		names = append(names, g.Name)
	}
	return strings.Join(append(names, LLMTool), ", ")
}

// MachineCall reads a call of one of the machine's own tools. ok is false for
// any other name. What cannot be used becomes a Refusal that a model can act
// on. groups are the names that delegate accepts.
func MachineCall(c Call, groups []string, delegated bool) (_ Call, ok bool) {
	switch c.Name {
	case ToolGetState:
		return getCall(c), true
	case ToolUpdateState:
		return updateCall(c), true
	case ToolReadResult:
		return readCall(c), true
	case ToolAskPerson:
		return askCall(c), true
	case ToolDelegate:
		return delegateCall(c, groups, delegated), true
	}
	return c, false
}

func getCall(c Call) Call {
	var g Get
	if strings.TrimSpace(c.Arguments) != "" && json.Unmarshal([]byte(c.Arguments), &g) != nil {
		return refuse(c, `get_state needs {"keys": [KEY, …]}, or {} for the whole state`)
	}
	c.Get = &g
	return c
}

// Bounds of one update_state, in bytes. Those of the whole state are Limits.
const (
	maxKey   = 100
	maxValue = 8 << 10
)

func updateCall(c Call) Call {
	var u Update
	if err := json.Unmarshal([]byte(c.Arguments), &u); err != nil || len(u.Values) == 0 {
		return refuse(c, `update_state needs {"values": {KEY: VALUE, …}}; a null deletes a key`)
	}
	for _, key := range slices.Sorted(maps.Keys(u.Values)) {
		switch n := len(u.Values[key]); {
		case strings.TrimSpace(key) == "" || len(key) > maxKey:
			return refuse(c, fmt.Sprintf("nothing was changed: a key has 1 to %d bytes, and %q has %d", maxKey, clip.Marked(key, 20), len(key)))
		case n > maxValue:
			return refuse(c, fmt.Sprintf("nothing was changed: the value of %q has %d bytes, at most %d are kept; share the finding itself, shortened, or put it into your result", key, n, maxValue))
		}
	}
	c.Update = &u
	return c
}

func readCall(c Call) Call {
	var args struct {
		Result  int    `json:"result"`
		Earlier string `json:"earlier"`
		Offset  int    `json:"offset"`
	}
	err := json.Unmarshal([]byte(c.Arguments), &args)
	if err != nil || (args.Result < 1) == (args.Earlier == "") || args.Offset < 0 {
		return refuse(c, `read_result needs {"result": NUMBER, "offset": BYTES} for a result of this task, or {"earlier": REFERENCE, "offset": BYTES} for one of an earlier task`)
	}
	c.Read = &Read{Result: max(args.Result, 0), Earlier: args.Earlier, Offset: args.Offset}
	return c
}

// Bounds of an ask_person call, which people read in a chat.
const (
	maxQuestion = 2000 // bytes
	maxChoices  = 10
	maxChoice   = 200 // bytes
)

func askCall(c Call) Call {
	var q struct {
		Question string   `json:"question"`
		Choices  []string `json:"choices"`
	}
	if err := json.Unmarshal([]byte(c.Arguments), &q); err != nil || strings.TrimSpace(q.Question) == "" {
		return refuse(c, `ask_person needs {"question": TEXT, "choices": [TEXT, …]}`)
	}
	if len(q.Question) > maxQuestion {
		return refuse(c, fmt.Sprintf("the person was not asked: the question has %d bytes, at most %d are shown; ask shorter", len(q.Question), maxQuestion))
	}
	seen := map[string]bool{}
	for _, choice := range q.Choices {
		if strings.TrimSpace(choice) == "" || len(choice) > maxChoice || seen[choice] || len(q.Choices) > maxChoices {
			return refuse(c, fmt.Sprintf("the person was not asked: there can be at most %d choices, all different, each of 1 to %d bytes", maxChoices, maxChoice))
		}
		seen[choice] = true
	}
	c.Ask = &Question{Text: q.Question, Choices: q.Choices}
	return c
}

func delegateCall(c Call, groups []string, delegated bool) Call {
	var d Subtask
	if err := json.Unmarshal([]byte(c.Arguments), &d); err != nil || strings.TrimSpace(d.Description) == "" {
		return refuse(c, `delegate needs {"name": GROUP, "description": TEXT}`)
	}
	if delegated {
		return refuse(c, "a delegated sub-task cannot delegate: do the work yourself")
	}
	if d.Name != LLMTool && !slices.Contains(groups, d.Name) {
		return refuse(c, fmt.Sprintf("there is no group %q; the groups are %s", d.Name, strings.Join(append(slices.Clone(groups), LLMTool), ", ")))
	}
	c.Delegate = &Subtask{Name: d.Name, Description: d.Description}
	return c
}

func refuse(c Call, reason string) Call {
	c.Refusal = reason
	return c
}
