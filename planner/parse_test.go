package planner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/planner"
)

// TestReplies reads the tables in testdata/replies; forms.txtar explains them.
func TestReplies(t *testing.T) {
	files, err := filepath.Glob("testdata/replies/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for tables: %v, %v", files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		options := planner.ParseOptions{}
		var reply, kind string
		reset := func() { options.Groups, options.Known, options.Max = []string{"web", "clock", "math", "mail"}, nil, 0 }
		reset()
		for _, f := range archive.Files {
			dot := strings.LastIndexByte(f.Name, '.')
			name, text := f.Name[:dot], strings.TrimSuffix(strings.TrimRight(string(f.Data), "\n"), "\n")
			switch f.Name[dot+1:] {
			case "options":
				options = planner.ParseOptions{}
				if err := json.Unmarshal(f.Data, &options); err != nil {
					t.Fatalf("%s: %s: %v", file, f.Name, err)
				}
			case "reply", "args", "calls":
				reply, kind = text, f.Name[dot+1:]
			case "want":
				o, parse := options, planner.ParseReply
				switch kind {
				case "args":
					parse = readArguments
				case "calls":
					parse = readCalls
				}
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
					p, err := parse(reply, o)
					compareReply(t, reply, p, err, text)
				})
				reset()
			}
		}
	}
}

// readCalls reads one call per line: the name of a tool, a space, its arguments.
func readCalls(text string, o planner.ParseOptions) (planner.Parsed, error) {
	var calls []llm.ToolCall
	for line := range strings.Lines(text) {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		calls = append(calls, llm.ToolCall{Name: name, Arguments: args})
	}
	return planner.ParseCalls(calls, o)
}

// readArguments reads the arguments of a single call of the tool "plan".
func readArguments(args string, o planner.ParseOptions) (planner.Parsed, error) {
	return planner.ParseCalls([]llm.ToolCall{{Name: planner.ToolPlan, Arguments: args}}, o)
}

func compareReply(t *testing.T, reply string, p planner.Parsed, err error, want string) {
	t.Helper()
	if strings.HasPrefix(want, "{") {
		if got := planner.PlanOutput(p, err); got != want {
			t.Errorf("got  %s\nwant %s\nfor  %s", got, want, reply)
		}
		return
	}
	code, pieces, _ := strings.Cut(want, "\n")
	var refused *planner.PlanError
	if !errors.As(err, &refused) || refused.Code != code {
		t.Fatalf("got  %s, error %#v\nwant a refusal with code %s\nfor  %s", planner.PlanOutput(p, err), err, code, reply)
	}
	for piece := range strings.SplitSeq(pieces, "\n") {
		if !strings.Contains(refused.Reason, piece) {
			t.Errorf("got  %s\nwant %s in it\nfor  %s", refused.Reason, piece, reply)
		}
	}
}

func TestAByteOrderMarkIsIgnored(t *testing.T) {
	p, err := planner.ParseReply("\ufeff{\"plan\": [{\"name\": \"web\", \"description\": \"x\"}]}\n", planner.ParseOptions{})
	compareReply(t, "BOM", p, err, `{"plan":[{"id":"a","name":"web","description":"x","after":null}]}`)
}

func TestAPlanNeverRunsTruncated(t *testing.T) {
	whole := `{"plan": [{"id": "a", "name": "web", "description": "x", "after": []}, {"name": "math", "description": "y"}]}`
	for end := len(`{`); end < len(whole); end++ {
		for _, before := range []string{"", "```json\n", "<think>hm</think>"} {
			text := before + whole[:end]
			if p, err := planner.ParseReply(text, planner.ParseOptions{}); err == nil {
				t.Errorf("ParseReply(%q) = %+v, want an error", text, p)
			}
		}
		if p, err := readArguments(whole[:end], planner.ParseOptions{}); err == nil {
			t.Errorf("readArguments(%q) = %+v, want an error", whole[:end], p)
		}
	}
}

// bigPlan is a plan of n sub-tasks, each after the one before.
func bigPlan(n, description int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id": %d, "name": "web", "description": %q, "after": [%s]},`, i, strings.Repeat("words ", description/6), strings.TrimPrefix(fmt.Sprint(i-1), "-1"))
	}
	return "Here is the plan:\n```json\n{\"plan\": [" + b.String() + "]}\n```"
}

func TestTenThousandSubtasksAreRefusedOrReadInLinearTime(t *testing.T) {
	const limit = 64
	few, many := bigPlan(625, 60), bigPlan(10_000, 60)
	if got := watch.Growth(limit, func() { readBig(t, few, 625) }, func() { readBig(t, many, 10_000) }); got > limit {
		t.Errorf("10,000 sub-tasks take %.0f times the work of 625, want at most %d times", got, limit)
	}
}

func readBig(t *testing.T, text string, n int) {
	t.Helper()
	_, err := planner.ParseReply(text, planner.ParseOptions{Groups: []string{"web"}, Max: 12})
	var refused *planner.PlanError
	if !errors.As(err, &refused) || refused.Code != planner.TooManySubtasks {
		t.Errorf("with a limit of 12: error %v, want %s", err, planner.TooManySubtasks)
	}
	p, err := planner.ParseReply(text, planner.ParseOptions{Groups: []string{"web"}})
	if err != nil || len(p.Plan) != n {
		t.Errorf("without a limit: %d sub-tasks, error %v, want %d", len(p.Plan), err, n)
	}
	_, err = planner.ParseReply(text, planner.ParseOptions{Groups: []string{"clock"}})
	if !errors.As(err, &refused) || refused.Code != planner.UnknownGroup || len(refused.Reason) > 4000 {
		t.Errorf("with other groups: error of %d bytes %.300v, want a short %s", len(refused.Reason), err, planner.UnknownGroup)
	}
}

func TestHostileRepliesTakeLinearTime(t *testing.T) {
	for _, piece := range []string{"[", "{", `{"plan":`, `{"plan":[{"name":"web" `, `[{"name":`, `"`, `{'`, "<think>", `{"plan": []}`} {
		const limit = 64
		read := func(size int) func() {
			text := strings.Repeat(piece, size/len(piece))
			return func() { _, _ = planner.ParseReply(text, planner.ParseOptions{}) }
		}
		if got := watch.Growth(limit, read(8<<10), read(128<<10)); got > limit {
			t.Errorf("128 KB of %q take %.0f times the work of 8 KB, want at most %d times", piece, got, limit)
		}
	}
}

func TestQualify(t *testing.T) {
	readOnly := func(group string) bool { return group == "web" || group == "math" }
	known := []string{"1/a", "2/a", "1/b"}
	for _, c := range []struct {
		name    string
		entries []planner.Entry
		want    string // id<after,after
	}{
		{"readers start at once", []planner.Entry{{ID: "a", Name: "web"}, {ID: "b", Name: "math"}}, "3/a 3/b"},
		{"the model alone waits for all before it", []planner.Entry{{ID: "a", Name: "web"}, {ID: "b", Name: "llm_tool"}, {ID: "c", Name: "web"}}, "3/a 3/b<3/a 3/c"},
		{"what changes things waits for all before it", []planner.Entry{{ID: "a", Name: "web"}, {ID: "b", Name: "mail"}, {ID: "c", Name: "mail"}}, "3/a 3/b<3/a 3/c<3/a,3/b"},
		{"an empty after starts at once", []planner.Entry{{ID: "a", Name: "web"}, {ID: "b", Name: "mail", After: []string{}}}, "3/a 3/b"},
		{"ids of this and earlier rounds", []planner.Entry{{ID: "x", Name: "web"}, {ID: "y", Name: "web", After: []string{"x", "1/a", "a", "b"}}}, "3/x 3/y<3/x,1/a,2/a,1/b"},
		{"this round first", []planner.Entry{{ID: "a", Name: "web"}, {ID: "y", Name: "web", After: []string{"a", "2/a"}}}, "3/a 3/y<3/a,2/a"},
		{"the number of the round is not doubled", []planner.Entry{{ID: "3/c", Name: "web"}, {ID: "d", Name: "web", After: []string{"3/c"}}}, "3/c 3/d<3/c"},
		{"no circle through what is listed before", []planner.Entry{{ID: "a", Name: "web", After: []string{"b"}}, {ID: "b", Name: "mail"}, {ID: "c", Name: "web"}, {ID: "d", Name: "llm_tool"}}, "3/a<3/b 3/b 3/c 3/d<3/a,3/b,3/c"},
		{"no circle through others: the first to wait does", []planner.Entry{{ID: "a", Name: "web", After: []string{"c"}}, {ID: "b", Name: "mail"}, {ID: "c", Name: "mail"}}, "3/a<3/c 3/b<3/a 3/c"},
		{"ids are made plain", []planner.Entry{{ID: "step \"1\"/x", Name: "web"}, {ID: "step '1'/x", Name: "web", After: []string{"step \"1\"/x"}}}, "3/step--1--x 3/step--1--x-2<3/step--1--x"},
		{"an unknown id is left out", []planner.Entry{{ID: "a", Name: "web", After: []string{"gone"}}}, "3/a"},
		{"empty", nil, ""},
	} {
		var got []string
		for _, s := range planner.Qualify(c.entries, 3, known, readOnly) {
			line := s.ID
			if len(s.After) > 0 {
				line += "<" + strings.Join(s.After, ",")
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: Qualify(%+v): want-, got+\n%s", c.name, c.entries, diff)
		}
	}
}

func BenchmarkParse64Subtasks(b *testing.B) {
	text := bigPlan(64, 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if p, err := planner.ParseReply(text, planner.ParseOptions{Groups: []string{"web"}}); err != nil || len(p.Plan) != 64 {
			b.Fatalf("%d sub-tasks, error %v", len(p.Plan), err)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add(bigPlan(3, 6), "1/a")
	f.Add(`{'plan': [{'name': 'web', 'description': 'x', 'after': [1, None]}]}`, "2/b")
	f.Add(`[{"name": "llm_tool", "description": "x", "id": "1/a", "after": "a"}]`, "1/a")
	f.Fuzz(func(t *testing.T, text, known string) {
		o := planner.ParseOptions{Known: []string{known}, Max: 40}
		for _, parse := range []func(string, planner.ParseOptions) (planner.Parsed, error){planner.ParseReply, readArguments} {
			p, err := parse(text, o)
			var refused *planner.PlanError
			if err != nil && (!errors.As(err, &refused) || refused.Reason == "" || refused.Code == "") {
				t.Fatalf("error %#v for %q, want a PlanError with reason and code", err, text)
			}
			if out := planner.PlanOutput(p, err); !json.Valid([]byte(out)) || strings.Contains(out, "\n") {
				t.Fatalf("output %q for %q, want one line of JSON", out, text)
			}
			if err == nil {
				checkPlan(t, text, p, o)
			}
		}
	})
}

// checkPlan checks what the machine relies on: unique ids, references that
// exist, an order in which everything can run.
func checkPlan(t *testing.T, text string, p planner.Parsed, o planner.ParseOptions) {
	t.Helper()
	list := planner.Qualify(p.Plan, 7, o.Known, func(g string) bool { return len(g)%2 == 0 })
	done := map[string]bool{}
	for _, id := range o.Known {
		done[id] = true
	}
	for ran := true; ran; {
		ran = false
		for _, s := range list {
			waits := false
			for _, id := range s.After {
				waits = waits || !done[id]
			}
			if !done[s.ID] && !waits {
				done[s.ID], ran = true, true
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range list {
		if !done[s.ID] || seen[s.ID] || s.Name == "" || s.Description == "" {
			t.Fatalf("sub-task %+v of %q can never run, is repeated or incomplete; plan %+v", s, text, list)
		}
		seen[s.ID] = true
	}
}
