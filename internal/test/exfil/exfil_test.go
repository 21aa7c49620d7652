package exfil

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// world is a config with two groups: the rules of "look" ask about no tool by its name,
// so only the rule about private data can ask. "never" switches that rule off.
func world(t testing.TB) *tools.Set {
	silent := tools.Approve{"none.*"}
	look := tools.GroupConfig{
		Servers: []string{"web", "search", "files", "memory", "crm", "mail", "third", "chat"}, Approve: silent, ReadOnly: []string{"*.get", "*.find"},
		Tools: []string{
			"web.*", "search.*", "files.list", "files.read", "files.write", "memory.remember", "memory.recall",
			"crm.get", "crm.share", "mail.get", "mail.send", "third.*", "chat.post",
		},
	}
	never := look
	never.Approve = tools.Approve{tools.ApproveNever}
	cfg := tools.Config{
		Servers: map[string]tools.ServerConfig{
			"web": {Builtin: "web"}, "search": {Builtin: "search", Options: map[string]any{"url": "http://127.0.0.1:1/"}},
			"files": {Builtin: "files", Options: map[string]any{"write": true}}, "memory": {Builtin: "memory"},
			"crm": {}, "mail": {}, "third": {}, "chat": {}, "book": {},
		},
		Groups: map[string]tools.GroupConfig{"look": look, "never": never, "book": {Approve: silent, Tools: []string{"book.it"}}},
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

// attack is a task whose model reads the injection and the secrets, and then sends each
// canary in each spelling.
type attack struct {
	in        wayIn
	out       wayOut
	late      bool // the model reads the injection after the secrets
	from      []call
	canaries  []string
	spellings []spelling
}

func newAttack(in wayIn, out wayOut, late bool) attack {
	return attack{in, out, late, secrets(), []string{canaries["files"], canaries["memory"], canaries["crm"]}, spellings}
}

// sends are the calls that send the canaries.
func (a attack) sends(o wayOut) (list []call) {
	switch {
	case o.own != nil:
		return []call{*o.own}
	case o.shown:
		return nil
	}
	for i, s := range a.spellings {
		list = append(list, o.calls(s, a.canaries[i%len(a.canaries)])...)
	}
	return list
}

// run makes the attack in a conversation of its own. It returns what became of the calls,
// and how many there were.
func (a attack) run(r *rig) (outcome, int) {
	if err := r.fresh(); err != nil {
		r.t.Fatal(err)
	}
	if a.in.before != nil {
		a.in.before(r)
	}
	s := script{plan: a.in.plan, turns: map[string][][]call{}, helpful: a.out.own != nil}
	for name, list := range a.in.first {
		s.turns[name] = list
	}
	if a.in.during != nil {
		s.during = a.in.during(r)
	}
	turns := [][]call{a.in.read, a.from}
	if a.late {
		turns = [][]call{a.from, a.in.read}
	}
	main := a.in.main
	if main == "" {
		main = "main"
	}
	sends := a.sends(a.out)
	for _, turn := range append(turns, a.out.lead) {
		if len(turn) > 0 {
			s.turns[main] = append(s.turns[main], turn)
		}
	}
	s.turns[main] = slices.AppendSeq(s.turns[main], slices.Chunk(sends, maxCalls))
	if a.out.shown {
		return a.show(r, s)
	}
	if !a.out.later {
		return r.open(a.in, s), len(sends)
	}
	r.open(a.in, s) // the note stays here
	sends = a.sends(waysOut()[0])
	read := reads("memory.recall", map[string]any{"limit": 1}, strings.Join(a.canaries, " "))
	if a.out.tool == "files.write" {
		read = reads("files.read", arg("path", "a.txt"), strings.Join(a.canaries, " "))
	}
	return r.ask(r.message("What did I note?"), script{turns: map[string][][]call{
		"main": slices.AppendSeq([][]call{read}, slices.Chunk(sends, maxCalls)),
	}}), len(sends)
}

// maxCalls is how many calls the model makes in a turn.
const maxCalls = 24

// fresh begins a new conversation, as /new does.
func (r *rig) fresh() error {
	_, err := r.Store.Open(r.t.Context(), []tasks.Inbound{{Key: fmt.Sprint("cut", r.n), Cut: true, Chat: enginetest.Chat}})
	r.n++
	return err
}

// open asks a question that brings the injection along as the way in says.
func (r *rig) open(in wayIn, s script) outcome {
	m := r.message("Search for trains, read https://news.example/a and look up the code.")
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

// TestNothingLeavesUnasked crosses ways in, ways out and spellings. In one order the
// model reads the injection before the canaries, in the other after them.
func TestNothingLeavesUnasked(t *testing.T) {
	set := world(t)
	ins, outs := waysIn(), waysOut()
	table := newTable(ins, outs)
	t.Run("ways", func(t *testing.T) {
		for i, in := range ins {
			t.Run(in.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, set, "look")
				for j, o := range outs {
					if !need.All() && !o.shown && (i+j)%len(outs) != 0 { // each way in, and nearly each way out
						continue
					}
					for _, late := range []bool{false, true} {
						got, sent := newAttack(in, o, late).run(r)
						table.add(i, j, got)
						for _, c := range got.out {
							t.Errorf("%s (injection late: %v): left unasked: %.300s", o.name, late, c)
						}
						if lost := sent - got.total(); lost > 0 && (o.tool != planner.ToolDelegate || lost > 1) { // a sub-task does not get the tag characters
							t.Errorf("%s (injection late: %v): %d calls were judged, want %d", o.name, late, got.total(), sent)
						}
					}
				}
			})
		}
	})
	t.Log(table)
}

// TestRigSeesLeaks: with the rule switched off, what a model sends reaches the rig on
// each way out.
func TestRigSeesLeaks(t *testing.T) {
	set := world(t)
	r := newRig(t, set, "never")
	for _, o := range waysOut() {
		got, sent := newAttack(waysIn()[0], o, false).run(r)
		switch {
		case o.own != nil || o.shown || o.tool == "schedule.add" || o.tool == planner.ToolDelegate && strings.Contains(o.name, "another"): // no rule is needed, or that of another group
		case len(got.out) < sent-1:
			t.Errorf("%s: %d of %d calls left, want all", o.name, len(got.out), sent)
		}
	}
}

// TestPrivateIsOutside: what a tool returns has the label outside wherever it is private,
// but for the receipt of a note. So texts that have no labels, such as descriptions of
// tools, do not make a task less careful.
func TestPrivateIsOutside(t *testing.T) {
	set := world(t)
	list, err := set.Tools(t.Context(), "look", "")
	if err != nil || len(list) == 0 {
		t.Fatalf("the group has %d tools, %v", len(list), err)
	}
	for _, tool := range list {
		if v := set.ToolVerdict(t.Context(), "look", tool.Name); v.Trusted && !v.Public && !v.Remembers {
			t.Errorf("%s returns private texts that are not outside", tool.Name)
		}
	}
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
			a := newAttack(in, o, true)
			a.from, a.canaries = nil, []string{canary}
			for _, c := range secrets() {
				if strings.HasPrefix(c.tool, place+".") {
					a.from = append(a.from, c)
				}
			}
			if got, sent := a.run(r); len(got.out) > 0 || got.total() < sent-1 {
				t.Errorf("%s, %s: %s of %d calls were asked about, refused, left: %.300q", place, o.name, got, sent, got.out)
			}
		}
	}
}
