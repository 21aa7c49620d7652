package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/internal/toolargs"
	"legwork/llm"
	"legwork/llm/lenient"
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

	ToolReadAttachment = "read_attachment"
	ToolMakeFile       = "make_file"
)

// MachineTools names the machine's own tools for sub-tasks.
func MachineTools() []string {
	return []string{ToolGetState, ToolUpdateState, ToolReadResult, ToolAskPerson, ToolDelegate, ToolReadAttachment, ToolMakeFile}
}

// property is one parameter of a machine tool.
type property struct {
	name, kind  string // kind: a JSON type, or "strings" for a list of them
	optional    bool
	description string
	enum        []string // the values that a text may have; none: any
}

// schema renders properties in the given order: prompts must be the same to
// the byte from call to call. Most properties have no description, and their
// names have to tell what they mean: every turn of every sub-task carries them.
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
		if p.description != "" {
			kind += `,"description":` + encoded(p.description)
		}
		if len(p.enum) > 0 {
			kind += `,"enum":` + encoded(p.enum)
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

// encoded is a text or a list of texts as JSON.
func encoded(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic("planner: " + err.Error()) // texts and lists of them always encode
	}
	return string(out)
}

// toolList makes the tools of a prompt.
type toolList struct{ *builder }

// plan is the tool that is offered to plan and review, with the same bytes. It says all that a
// model needs to know to use it.
func (b toolList) plan() llm.Tool {
	said := func(name string) string { return b.text("tool.plan_"+name, nil) }
	entry := schema([]property{
		{name: "id", kind: "string", optional: true, description: said("id")},
		{name: "name", kind: "string", description: said("name"), enum: b.groupNames()},
		{name: "description", kind: "string", description: said("description")},
		{name: "after", kind: "strings", optional: true, description: said("after")},
	})
	return llm.Tool{
		Name: ToolPlan, Description: b.text("tool.plan", nil),
		Schema: json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{"thought":{"type":"string","description":%s},"plan":{"type":"array","description":%s,"items":%s}%s},"required":["plan"]}`,
			encoded(said("thought")), encoded(said("list")), entry, b.wantsFile())),
	}
}

// wantsFile is the property of the tool plan that says that the person wants a file;
// empty where none can be made.
func (b toolList) wantsFile() string {
	if b.input.Makes == nil {
		return ""
	}
	return `,"wants_file":{"type":"boolean","description":` + encoded(b.text("tool.plan_wants_file", nil)) + `}`
}

// PlanWantsFile reports whether the plan that a text holds says that the person wants a
// file.
func PlanWantsFile(text string) (wants bool) {
	for _, v := range lenient.Objects(text) {
		var plan struct {
			Plan  json.RawMessage `json:"plan"`
			Wants bool            `json:"wants_file"`
		}
		if json.Unmarshal(v.Raw, &plan) == nil && plan.Plan != nil {
			wants = plan.Wants
		}
	}
	return wants
}

// PlanThought is the thought beside the plan that a text holds, such as the arguments
// of a call of the tool plan; empty for none.
func PlanThought(text string) string {
	thought := ""
	for _, v := range lenient.Objects(text) {
		var plan struct {
			Thought string          `json:"thought"`
			Plan    json.RawMessage `json:"plan"`
		}
		if json.Unmarshal(v.Raw, &plan) == nil && plan.Plan != nil {
			thought = strings.TrimSpace(plan.Thought)
		}
	}
	return clip.Marked(thought, maxThought)
}

// machine are the tools that are offered after the group's own, which hide those of the same
// name. A delegated sub-task cannot delegate. The tools of the shared state come with
// that state, and read_result with the first text that names something to read: so
// this is called when the messages are there. These are the last, since the caches of
// providers keep what stands before a change.
func (b toolList) machine(w Work) []llm.Tool {
	return slices.DeleteFunc(b.own(w), func(own llm.Tool) bool {
		return slices.ContainsFunc(b.input.Tools, func(t llm.Tool) bool { return t.Name == own.Name })
	})
}

func (b toolList) own(w Work) []llm.Tool {
	if w.Name == LLMTool {
		return b.files(w)
	}
	list := []llm.Tool{
		{Name: ToolAskPerson, Description: b.text("tool.ask_person", nil), Schema: schema([]property{
			{name: "question", kind: "string"},
			{name: "choices", kind: "strings", optional: true},
		})},
	}
	if b.input.Delegate && w.Parent == nil {
		list = append(list, llm.Tool{Name: ToolDelegate, Description: b.text("tool.delegate", nil), Schema: schema([]property{
			{name: "name", kind: "string", enum: b.groupNames()},
			{name: "description", kind: "string"},
		})})
	}
	if b.input.SharedState || b.s.Version > 0 {
		list = append(list, llm.Tool{Name: ToolGetState, Description: b.text("tool.get_state", nil), Schema: schema([]property{
			{name: "keys", kind: "strings", optional: true},
		})}, llm.Tool{Name: ToolUpdateState, Description: b.text("tool.update_state", nil), Schema: schema([]property{
			{name: "values", kind: "object"},
		})})
	}
	if b.namesMore {
		list = append(list, llm.Tool{Name: ToolReadResult, Description: b.text("tool.read_result", nil), Schema: schema([]property{
			{name: "result", kind: "integer", optional: true},
			{name: "earlier", kind: "string", optional: true},
			{name: "offset", kind: "integer", optional: true},
		})})
	}
	return append(list, b.files(w)...)
}

// groupNames are the agents that work can be given to.
func (b toolList) groupNames() []string {
	names := make([]string, 0, len(b.input.Groups)+1)
	for _, g := range b.input.Groups {
		names = append(names, g.Name)
	}
	return append(names, LLMTool)
}

// machineArguments are the types of all arguments of the machine's tools. The values
// of the shared state can be of any type.
const machineArguments = `{"properties":{"values":{"type":"object"},"keys":{"type":"array"},"result":{"type":"integer"},"earlier":{"type":"string"},"offset":{"type":"integer"},` +
	`"file":{"type":"string"},"parts":{"type":"string"},"find":{"type":"string"},"text":{"type":"string"},"sheets":{"type":"array"},"chart":{"type":"object"},"caption":{"type":"string"},"question":{"type":"string"},"choices":{"type":"array"},"name":{"type":"string"},"description":{"type":"string"}}}`

// MachineCall reads a call of one of the machine's own tools. ok is false for
// any other name. What cannot be used becomes a Refusal that a model can act
// on. groups are the names that delegate accepts.
func MachineCall(c Call, groups []string, delegated bool) (_ Call, ok bool) {
	c.Arguments = toolargs.Fit(json.RawMessage(machineArguments), c.Arguments)
	switch c.Name {
	case ToolGetState:
		return getCall(c), true
	case ToolUpdateState:
		return updateCall(c), true
	case ToolReadResult:
		return readCall(c), true
	case ToolAskPerson:
		return askCall(c), true
	case ToolReadAttachment:
		return lookCall(c), true
	case ToolMakeFile:
		return makeCall(c), true
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
