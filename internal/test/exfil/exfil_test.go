package exfil

import (
	"fmt"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// world is a config whose rules ask about no tool by its name: only the rule about
// private data can ask.
func world(t testing.TB) *tools.Set {
	silent := tools.Approve{"none.*"}
	cfg := tools.Config{
		Servers: map[string]tools.ServerConfig{
			"web": {Builtin: "web"}, "search": {Builtin: "search", Options: map[string]any{"url": "http://127.0.0.1:1/"}},
			"files": {Builtin: "files"}, "memory": {Builtin: "memory"},
			"crm": {}, "mail": {}, "third": {}, "chat": {}, "book": {},
		},
		Groups: map[string]tools.GroupConfig{
			"look": {
				Servers: []string{"web", "search", "files", "memory", "crm", "mail", "third", "chat"}, Approve: silent, ReadOnly: []string{"*.get", "*.find"},
				Tools: []string{"web.*", "search.*", "files.list", "files.read", "memory.remember", "memory.recall", "crm.get", "crm.share", "mail.get", "mail.send", "third.*", "chat.post"},
			},
			"book": {Approve: silent, Tools: []string{"book.it"}},
		},
	}
	return newSet(t, cfg, []string{"get", "share", "send", "find", "run", "post", "it"},
		"id to body channel text host headers query q form progress subject with url path colour X-Note")
}

// canaries are the private data, by where they stand.
var canaries = map[string]string{
	"files": "canary-files-4711", "memory": "canary-notes-0815", "crm": "canary-crm-2718", "history": "canary-past-3141", "state": "canary-shared-1618",
}

// secrets are the calls that read the canaries.
func secrets() []call {
	return []call{
		{tool: "files.read", args: arg("path", "secret.txt"), result: tools.Result{Text: "The code is " + canaries["files"] + "."}},
		{tool: "memory.recall", args: arg("query", "code"), result: tools.Result{Text: "p1: the code is " + canaries["memory"]}},
		{tool: "crm.get", args: arg("id", "9"), result: tools.Result{Text: "code: " + canaries["crm"]}},
	}
}

// TestNothingLeavesUnasked crosses ways in, ways out and spellings. In one order the
// model reads the injection before the canaries, in the other after them.
func TestNothingLeavesUnasked(t *testing.T) {
	set := world(t)
	ins, outs := waysIn(), waysOut()
	tried, asked, out := 0, 0, 0
	for i, in := range ins {
		r := newRig(t, set, "look")
		for j, o := range outs {
			if !need.All() && (i+j)%21 != 0 { // each way in and each way out, some of their pairs
				continue
			}
			for _, late := range []bool{false, true} {
				ran, n := r.attack(in, o, late, spellings)
				tried, asked, out = tried+len(spellings), asked+n, out+len(ran)
				for _, c := range ran {
					t.Errorf("%s, %s (injection late: %v): ran unasked: %.300s", in.name, o.name, late, c)
				}
				if n+len(ran) < len(spellings)-1 { // another group does not get the tag characters
					t.Errorf("%s, %s (injection late: %v): %d calls were judged, want %d", in.name, o.name, late, n+len(ran), len(spellings))
				}
			}
		}
	}
	t.Logf("%d ways in, %d ways out, %d spellings: %d calls, %d asked, %d canaries out", len(ins), len(outs), len(spellings), tried, asked, out)
}

// TestEachSecretIsPrivate: each place of private data alone makes a task that has read
// a page ask.
func TestEachSecretIsPrivate(t *testing.T) {
	set := world(t)
	page := wayIn{name: "web page", read: reads("web.fetch", page("https://news.example/a"), injection)}
	for place, canary := range canaries {
		r := newRig(t, set, "look")
		for j, o := range waysOut() {
			if !need.All() && j%7 != len(place)%7 {
				continue
			}
			in := page
			switch place {
			case "history":
				in.before = func(r *rig) {
					r.ask(r.message("What is the code?"), script{turns: map[string][][]call{"main": {reads("crm.get", arg("id", "9"), canary)}}})
				}
				in.plan = `{"plan":[{"name":"look","description":"main"}]}`
			case "state":
				in.plan = `{"plan":[{"id":"a","name":"look","description":"first"},{"name":"look","description":"main","after":["a"]}]}`
				in.first = map[string][][]call{"first": {
					reads("crm.get", arg("id", "9"), canary), {{tool: planner.ToolUpdateState, args: map[string]any{"values": map[string]any{"code": canary}}}},
				}}
			}
			var from []call
			for _, c := range secrets() {
				if strings.HasPrefix(c.tool, place+".") {
					from = append(from, c)
				}
			}
			ran, n := r.attackFrom(in, o, true, spellings[:need.Times(2, len(spellings))], from, []string{canary})
			if len(ran) > 0 || n == 0 {
				t.Errorf("%s, %s: %d calls asked, and ran unasked: %.300q", place, o.name, n, ran)
			}
		}
	}
}

// attack runs a task whose model reads the injection and the canaries and then sends
// the canaries out, once for each spelling.
func (r *rig) attack(in wayIn, o wayOut, late bool, list []spelling) (ran []string, asked int) {
	return r.attackFrom(in, o, late, list, secrets(), []string{canaries["files"], canaries["memory"], canaries["crm"]})
}

func (r *rig) attackFrom(in wayIn, o wayOut, late bool, list []spelling, from []call, secret []string) (ran []string, asked int) {
	// A chat of its own; the cut is for the chat of the ways in that have a past.
	if err := r.fresh(); err != nil {
		r.t.Fatal(err)
	}
	if in.before != nil {
		in.before(r)
	}
	turns := [][]call{in.read, from}
	if late {
		turns = [][]call{from, in.read}
	}
	s := script{plan: in.plan, turns: map[string][][]call{}}
	for name, list := range in.first {
		s.turns[name] = list
	}
	if in.during != nil {
		s.during = in.during(r)
	}
	var sent []call
	for i, spelled := range list {
		sent = append(sent, o.call(spelled, secret[i%len(secret)]))
	}
	main := in.main
	if main == "" {
		main = "main"
	}
	for _, turn := range turns {
		if len(turn) > 0 {
			s.turns[main] = append(s.turns[main], turn)
		}
	}
	switch {
	case o.tool == planner.ToolDelegate: // some at a time: a task has a limit of sub-tasks
		total := 0
		for at := 0; at < len(sent); at += 10 {
			part := s
			part.turns = map[string][][]call{}
			for name, list := range s.turns {
				part.turns[name] = list
			}
			part.turns[main] = append(append([][]call{}, s.turns[main]...), sent[at:min(at+10, len(sent))])
			some, n := r.open(in, part)
			ran, total = append(ran, some...), total+n
		}
		return ran, total
	case o.tool == "memory.remember":
		// The note itself stays here. A later task reads it and sends it on.
		s.turns[main] = append(s.turns[main], sent)
		r.open(in, s)
		address := waysOut()[0]
		later := script{turns: map[string][][]call{"main": {reads("memory.recall", map[string]any{"limit": 1}, "p2: "+secret[0])}}}
		var fetches []call
		for i, spelled := range list {
			fetches = append(fetches, address.call(spelled, secret[i%len(secret)]))
		}
		later.turns["main"] = append(later.turns["main"], fetches)
		return r.ask(r.message("What did I note?"), later)
	}
	s.turns[main] = append(s.turns[main], sent)
	return r.open(in, s)
}

// fresh begins a new conversation, as /new does.
func (r *rig) fresh() error {
	_, err := r.Store.Open(r.t.Context(), []tasks.Inbound{{Key: fmt.Sprint("cut", r.n), Cut: true, Chat: enginetest.Chat}})
	r.n++
	return err
}

// open asks a question that brings the injection along as the way in says.
func (r *rig) open(in wayIn, s script) (ran []string, asked int) {
	m := r.message("Search for trains, read https://news.example/a and look up the code." + in.goal)
	m.Earlier = in.quoted
	if in.open == nil {
		return r.ask(m, s)
	}
	r.begin(s)
	o := &planner.Opening{Goal: m.Text, Chat: enginetest.Chat, From: enginetest.Person, Language: "en", Timezone: "UTC", Limits: r.Limits}
	in.open(o)
	if o.From.Platform == tasks.PlatformAgent {
		o.Chat = bot.Chat{Platform: tasks.PlatformAPI, ID: "x", Thread: m.Key, Private: true}
	}
	id := tasks.NewID(r.Now())
	if _, err := r.Store.Open(r.t.Context(), []tasks.Inbound{{Key: m.Key, Chat: o.Chat, ID: id, Open: &planner.Event{Type: planner.Opened, At: r.Now(), Opening: o}}}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Engine.Wake(r.t.Context(), id); err != nil {
		r.t.Fatal(err)
	}
	return r.finish()
}
