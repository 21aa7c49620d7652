package planner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"legwork/planner"
)

// TestMachineCalls: what cannot be used is refused with words that a model can
// act on.
func TestMachineCalls(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		tool, arguments string
		refusal         string // part of it; empty: taken
	}{
		{planner.ToolGetState, ``, ""},
		{planner.ToolGetState, `{}`, ""},
		{planner.ToolGetState, `{"keys": ["a", "b"]}`, ""},
		{planner.ToolGetState, `{"keys": "a"}`, "get_state needs"},
		{planner.ToolUpdateState, `{"values": {"a": {"b": [1]}, "c": null}}`, ""},
		{planner.ToolUpdateState, `{"values": {}}`, "update_state needs"},
		{planner.ToolUpdateState, `{"a": 1}`, "update_state needs"},
		{planner.ToolUpdateState, `{"values": {" ": 1}}`, "a key has 1 to 100 bytes"},
		{planner.ToolUpdateState, `{"values": {"` + long(101) + `": 1}}`, "a key has 1 to 100 bytes"},
		{planner.ToolUpdateState, `{"values": {"a": 1, "b": "` + long(8200) + `"}}`, `the value of "b" has 8202 bytes`},
		{planner.ToolReadResult, `{"result": 3}`, ""},
		{planner.ToolReadResult, `{"earlier": "ABC/1/a", "offset": 5}`, ""},
		{planner.ToolReadResult, `{"result": "3", "earlier": null, "offset": "0"}`, ""},
		{planner.ToolUpdateState, `{"values": "{\"a\": null}"}`, ""},
		{planner.ToolAskPerson, `{"question": 7, "choices": "[\"a\"]"}`, ""},
		{planner.ToolReadResult, `{}`, "read_result needs"},
		{planner.ToolReadResult, `{"result": 0}`, "read_result needs"},
		{planner.ToolReadResult, `{"result": 3, "earlier": "ABC/1/a"}`, "read_result needs"},
		{planner.ToolReadResult, `{"result": 3, "offset": -1}`, "read_result needs"},
		{planner.ToolAskPerson, `{"question": "which?", "choices": ["a", "b"]}`, ""},
		{planner.ToolAskPerson, `{"question": " "}`, "ask_person needs"},
		{planner.ToolAskPerson, `{"question": "` + long(2001) + `"}`, "ask shorter"},
		{planner.ToolAskPerson, `{"question": "which?", "choices": ["a", "a"]}`, "at most 10 choices"},
		{planner.ToolAskPerson, `{"question": "which?", "choices": [""]}`, "at most 10 choices"},
		{planner.ToolAskPerson, `{"question": "which?", "choices": ["` + long(201) + `"]}`, "at most 10 choices"},
		{planner.ToolAskPerson, `{"question": "which?", "choices": ["0","1","2","3","4","5","6","7","8","9","10"]}`, "at most 10 choices"},
		{planner.ToolDelegate, `{"name": "web", "description": "look"}`, ""},
		{planner.ToolDelegate, `{"name": "web"}`, "delegate needs"},
		{planner.ToolDelegate, `{"name": "mail", "description": "look"}`, `no group "mail"; the groups are web, llm_tool`},
	} {
		call, own := planner.MachineCall(planner.Call{Name: c.tool, Arguments: c.arguments}, []string{"web"}, false)
		if !own || (call.Refusal == "") != (c.refusal == "") || !strings.Contains(call.Refusal, c.refusal) {
			t.Errorf("%s %.60s: refusal %q, want %q", c.tool, c.arguments, call.Refusal, c.refusal)
		}
	}
	if call, _ := planner.MachineCall(planner.Call{Name: planner.ToolDelegate, Arguments: `{"name": "web", "description": "look"}`}, []string{"web"}, true); call.Refusal == "" {
		t.Error("a delegated sub-task may delegate")
	}
	if _, own := planner.MachineCall(planner.Call{Name: "lookup"}, nil, false); own {
		t.Error("lookup is taken for one of the machine's own tools")
	}
}

// FuzzMachineCall: whatever a model writes, the call is either refused or of
// exactly one kind, and survives its journal.
func FuzzMachineCall(f *testing.F) {
	for _, arguments := range []string{`{}`, `{"keys":["a"]}`, `{"values":{"a":null}}`, `{"result":1}`, `{"earlier":"x"}`, `{"question":"?","choices":["a"]}`, `{"name":"web","description":"d"}`} {
		for i := range 5 {
			f.Add(i, arguments)
		}
	}
	names := []string{planner.ToolGetState, planner.ToolUpdateState, planner.ToolReadResult, planner.ToolAskPerson, planner.ToolDelegate}
	f.Fuzz(func(t *testing.T, tool int, arguments string) {
		name := names[uint(tool)%uint(len(names))]
		c, own := planner.MachineCall(planner.Call{ID: "c", Name: name, Arguments: arguments}, []string{"web"}, false)
		kinds := 0
		for _, set := range []bool{c.Refusal != "", c.Get != nil, c.Update != nil, c.Read != nil, c.Ask != nil, c.Delegate != nil} {
			if set {
				kinds++
			}
		}
		if !own || kinds != 1 {
			t.Fatalf("%s %q is of %d kinds: %+v", name, arguments, kinds, c)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatalf("%s %q cannot be written into a journal: %v", name, arguments, err)
		}
	})
}

// TestStateIsReadAsItWas: a later change does not rewrite what a get_state
// returned, and what is too much for one read is named.
func TestStateIsReadAsItWas(t *testing.T) {
	st := begin(t)
	st.plan(planner.Subtask{ID: "1/a", Name: "look", Description: "one"}, planner.Subtask{ID: "1/b", Name: "look", Description: "two"})
	update := func(id, key, value string) planner.Call {
		return planner.Call{ID: id, Name: planner.ToolUpdateState, Arguments: "{}", Update: &planner.Update{Values: map[string]json.RawMessage{key: json.RawMessage(value)}}}
	}
	get := func(id string, keys ...string) planner.Call {
		return planner.Call{ID: id, Name: planner.ToolGetState, Arguments: "{}", Get: &planner.Get{Keys: keys}}
	}
	big := `"` + strings.Repeat("b", 7000) + `"`
	st.calls("work 1/a turn 1.0", update("u1", "price", "1"), get("g1"), update("u2", "price", "2"), get("g2", "price", "none"))
	st.calls("work 1/b turn 1.0", update("u3", "b1", big), update("u4", "b2", big), update("u5", "b3", big), update("u6", "price", "3"))
	r, all := st.prompt("work 1/a turn 2.0", planner.PromptInput{})
	var results []string
	for _, m := range r.Messages {
		if m.Role == "tool" {
			results = append(results, m.Content)
		}
	}
	if len(results) != 4 || !strings.Contains(results[1], `{"price":1}`) || !strings.Contains(results[1], "version 1") || !strings.Contains(results[3], `{"price":2}`) || !strings.Contains(results[3], "none") {
		t.Errorf("results = %q, want the price as it was at each read", results)
	}
	last := all[strings.LastIndex(all, "<state>\n{"):]
	if !strings.Contains(last, `"price":3`) || strings.Contains(last, "bbbb") || !strings.Contains(last, "b1 (7004)") {
		t.Errorf("the shared state in the prompt is %.300q, want the price, and the others by name", last)
	}
	st.calls("work 1/a turn 2.0", get("g3"))
	r, _ = st.prompt("work 1/a turn 3.0", planner.PromptInput{})
	if whole := r.Messages[len(r.Messages)-2].Content; len(whole) > 17<<10 || !strings.Contains(whole, "b3 (7004)") || strings.Count(whole, "bbbbbbb") == 0 {
		t.Errorf("get_state of 21 KB returns %d bytes: %.100q … %q", len(whole), whole, whole[len(whole)-200:])
	}
}
