package planner_test

import (
	stdcmp "cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestTranscripts plays the scripts in testdata/transcripts. A line that
// starts with ">" is an event; the lines below it are what the machine makes
// of it. "#" starts a comment.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" && !*update {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// play runs a script and writes it anew with what the machine does.
func play(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	var s planner.State
	at := t0
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || line == "" {
			out.WriteString(line + "\n")
		}
		if !strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line + "\n")
		at = at.Add(time.Second)
		e := scripted(t, s, strings.TrimSpace(line[1:]), at)
		if !planner.Takes(s, e) {
			out.WriteString("  refused\n")
			continue
		}
		e.Seq = s.Seq + 1
		s = planner.Apply(s, e)
		describe(&out, s)
	}
	return out.String()
}

// scriptedQuestion reads "72h", "calls:1,2", "form:3" and "live".
func scriptedQuestion(t *testing.T, words []string, at time.Time) *planner.Question {
	t.Helper()
	q := &planner.Question{}
	for _, w := range words {
		kind, rest, _ := strings.Cut(w, ":")
		switch kind {
		case "calls":
			for n := range strings.SplitSeq(rest, ",") {
				call, err := strconv.Atoi(n)
				if err != nil {
					t.Fatal(err)
				}
				q.Calls = append(q.Calls, planner.Approval{Call: call - 1, Tool: "book.it", Definition: "d1"})
			}
		case "form":
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatal(err)
			}
			q.Form = &form.Question{Message: "which?", Fields: make([]form.Field, n)}
		case "live":
			q.Live = true
		default:
			d, err := time.ParseDuration(w)
			if err != nil {
				t.Fatal(err)
			}
			q.Expires = at.Add(d)
		}
	}
	return q
}

func describe(out *strings.Builder, s planner.State) {
	fmt.Fprintf(out, "  %d %s", s.Seq, s.Status())
	if s.Outcome != planner.Pending {
		fmt.Fprintf(out, " outcome=%s", s.Outcome)
	}
	if s.Reason != "" {
		fmt.Fprintf(out, " why=%s", s.Reason)
	}
	if len(s.Extended) > 0 {
		fmt.Fprintf(out, " extended=%v", s.Extended)
	}
	if d := planner.Deadline(s); !d.IsZero() {
		fmt.Fprintf(out, " deadline=+%s", d.Sub(t0))
	}
	if s.Version > 0 {
		fmt.Fprintf(out, " state=%d:%s", s.Version, strings.Join(slices.Sorted(maps.Keys(s.Shared)), ","))
	}
	if s.Tainted > 0 {
		fmt.Fprintf(out, " tainted=%d", s.Tainted)
	}
	if len(s.Notes) > 0 {
		fmt.Fprintf(out, " noted=%d", len(s.Notes))
	}
	out.WriteByte('\n')
	for _, w := range s.Subtasks {
		fmt.Fprintf(out, "    %s %s %s", w.ID, w.Name, w.State)
		if w.Reason != "" {
			fmt.Fprintf(out, " (%s)", w.Reason)
		}
		out.WriteByte('\n')
		describeCalls(out, w)
	}
	for _, a := range planner.Todo(s) {
		fmt.Fprintf(out, "  -> %s", a.ID)
		if a.Final && a.Role == llm.RoleWork {
			out.WriteString(" final")
		}
		if a.LastTurn {
			out.WriteString(" last")
		}
		if a.Started {
			out.WriteString(" started")
		}
		if a.Task > 0 {
			fmt.Fprintf(out, " task=%d", a.Task)
		}
		if a.Allowed {
			out.WriteString(" allowed")
		}
		if a.Hold {
			out.WriteString(" hold")
		}
		out.WriteByte('\n')
	}
}

// describeCalls tells what became of the calls of the last turn that need no
// server, where that is not plain.
func describeCalls(out *strings.Builder, w planner.Work) {
	if len(w.Turns) == 0 {
		return
	}
	for i, c := range w.Turns[len(w.Turns)-1].Calls {
		switch {
		case c.Kind == planner.CallTooMany:
			fmt.Fprintf(out, "      call %d: one too many\n", i+1)
		case c.Kind == planner.CallGuarded:
			fmt.Fprintf(out, "      call %d: a person reviews\n", i+1)
		case c.Reviewed > 0:
			fmt.Fprintf(out, "      call %d: reviewed by %d\n", i+1, c.Reviewed)
		case c.Kind == planner.CallInstant && c.Shared != nil:
			fmt.Fprintf(out, "      call %d: reads state %d: %s\n", i+1, c.Version, strings.Join(slices.Sorted(maps.Keys(c.Shared)), ","))
		}
	}
}

// scripted reads one line: TYPE [ACTION in brackets] [WORD…]; the word "by=KEY" says who.
func scripted(t *testing.T, s planner.State, line string, at time.Time) planner.Event {
	t.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	e := planner.Event{Type: planner.EventType(kind), At: at}
	if strings.HasPrefix(rest, "[") {
		var action string
		action, rest, _ = strings.Cut(rest[1:], "]")
		e.Action = actionID(t, action)
	}
	words := slices.DeleteFunc(strings.Fields(rest), func(w string) bool {
		by, ok := strings.CutPrefix(w, "by=")
		if ok {
			e.By = by
		}
		return ok
	})
	switch e.Type {
	case planner.Started:
		if slices.Contains(words, "task") {
			e.State = json.RawMessage(`{"task":"1"}`)
		}
	case planner.Opened:
		e.Opening = &planner.Opening{Goal: "goal", Language: "en", Timezone: "UTC", Limits: planner.DefaultLimits()}
		for _, w := range words {
			key, value, _ := strings.Cut(w, "=")
			n := 0
			_, _ = fmt.Sscan(value, &n)
			switch key {
			case "queued":
				e.Opening.Queued = true
			case "prompt":
				e.Opening.Prompt = &planner.PromptRef{Name: "s/p"}
			case "preview":
				e.Opening.Preview = true
			case "asks":
				e.Opening.Limits.Asks = n
			case "reads":
				e.Opening.Limits.Reads = n
			case "keys":
				e.Opening.Limits.StateKeys = n
			case "bytes":
				e.Opening.Limits.StateBytes = n
			case "rounds":
				e.Opening.Limits.Rounds = n
			case "parallel":
				e.Opening.Limits.Parallel = n
			case "turns":
				e.Opening.Limits.Turns = n
			case "notes":
				e.Opening.Limits.Notes = n
			case "reviews":
				e.Opening.Limits.Reviews = n
			case "reviewtime":
				e.Opening.Limits.ReviewTime = time.Duration(n) * time.Second
			case "external":
				e.Opening.External = true
			default:
				t.Fatalf("unknown word %q in %q", w, line)
			}
		}
	case planner.Replied:
		e.Reply = scriptedReply(t, s, words, line)
	case planner.Malformed, planner.CallFailed:
		e.Problem = &planner.Problem{Code: strings.Join(words, " "), Reason: "because"}
	case planner.Returned:
		e.Result = &planner.Result{Text: strings.Join(words, " ")}
	case planner.Asked:
		e.Question = scriptedQuestion(t, words, at)
	case planner.Decided:
		e.By = stdcmp.Or(e.By, "ann")
		if e.Action.Subject == planner.SubjectReview {
			e.Values = planner.ReviewValues(words[0] == "yes")
		}
		e.Decision = &planner.Decision{
			Approve: strings.HasSuffix(words[0], "yes"), Text: strings.Join(words[1:], " "), Queued: words[0] == "queuedyes",
		}
		if len(words) > 1 && words[1] == "plan" { // as the person has changed it
			before := s
			before.Round--
			e.Decision.Text, e.Reply = "", scriptedReply(t, before, words[1:], line)
		}
		if words[0] == "taskyes" {
			e.Decision.Scope, e.Decision.Grants = planner.ScopeTask, []planner.Grant{{Tool: "book.it", Definition: "d1"}}
		}
	case planner.PromptExpanded:
		e.Text = strings.Join(words, " ")
	case planner.GrantRevoked:
		e.Of, _ = strconv.Atoi(words[0])
	case planner.GuidanceAdded:
		e.Text = strings.Join(words, " ")
	case planner.GuidanceRemoved:
		_, _ = fmt.Sscan(words[0], &e.Of)
	case planner.NoteAdded:
		e.Note = &planner.Note{Type: words[0], Content: json.RawMessage(`"found"`)}
	case planner.Answered:
		e.Text = strings.Join(words, " ")
	case planner.StateSet:
		e.Values = scriptedValues(words[0])
	case planner.Expired:
		e = planner.Expiry(s, planner.Deadline(s))
	case planner.BudgetReached:
		e.Budget = words[0]
		if len(words) > 1 { // "day" for a day's budget, and by how much it can be extended
			e.Overdraft = &planner.Overdraft{Budget: words[0], Limit: 100, Extend: 50}
			if words[1] == "day" {
				e.Overdraft.Day = "2026-11-20"
			}
		}
	case planner.Sent:
		e.Slot, e.Message, e.Last = words[0], "m1", len(words) > 1 && words[1] == "last"
		if len(words) > 2 && words[1] == "instead" {
			e.Message, e.Instead = "m2", words[2]
		}
	case planner.SendStarted:
		if e.Action == (planner.ActionID{}) {
			e.Slot = words[0]
		}
	}
	return e
}

// actionID reads the id of an action.
func actionID(t *testing.T, text string) planner.ActionID {
	t.Helper()
	id, err := planner.ParseActionID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// scriptedValues reads "KEY=JSON,KEY=JSON"; a value that is left out is 1, and no
// words at all are k=2.
func scriptedValues(words string) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for w := range strings.SplitSeq(stdcmp.Or(words, "k=2"), ",") {
		key, value, _ := strings.Cut(w, "=")
		values[key] = json.RawMessage(stdcmp.Or(value, "1"))
	}
	return values
}

// scriptedReply reads "text WORDS", "plan ID:GROUP<DEP,DEP …" (largeplan: one
// that a person is to confirm) or
// "calls TOOL …", where TOOL is a name, or get, update:KEY=JSON, read,
// earlier:untrusted, ask:DURATION, delegate:GROUP or refused.
func scriptedReply(t *testing.T, s planner.State, words []string, line string) *planner.Reply {
	t.Helper()
	r := &planner.Reply{}
	switch words[0] {
	case "text":
		r.Text = strings.Join(words[1:], " ")
	case "queuedplan", "plan", "largeplan":
		r.IsPlan, r.Queued, r.Confirm = true, words[0] == "queuedplan", words[0] == "largeplan"
		for _, w := range words[1:] {
			head, deps, _ := strings.Cut(w, "<")
			id, group, _ := strings.Cut(head, ":")
			p := planner.Subtask{ID: fmt.Sprintf("%d/%s", s.Round+1, id), Name: group, Description: "do " + id}
			for _, d := range strings.Split(deps, ",") {
				if d != "" {
					if !strings.Contains(d, "/") {
						d = fmt.Sprintf("%d/%s", s.Round+1, d)
					}
					p.After = append(p.After, d)
				}
			}
			r.Plan = append(r.Plan, p)
		}
	case "calls":
		for i, w := range words[1:] {
			c := planner.Call{ID: fmt.Sprintf("c%d", i), Name: w, Arguments: "{}"}
			name, group, _ := strings.Cut(w, ":")
			switch name {
			case "update":
				c.Update = &planner.Update{Values: scriptedValues(group)}
			case "get":
				c.Get = &planner.Get{}
			case "read":
				c.Read = &planner.Read{Result: 1}
			case "earlier":
				c.Read = &planner.Read{Earlier: "ABC/1/a", Text: "found", Bytes: 5, Untrusted: group == "untrusted"}
			case "ask":
				c.Ask = &planner.Question{Text: "which?"}
				if d, err := time.ParseDuration(group); err == nil {
					c.Ask.Expires = s.Last.Add(d)
				}
			case "delegate":
				c.Delegate = &planner.Subtask{Name: group, Description: "sub"}
			case "refused":
				c.Refusal = "no such tool"
			default:
				c.Tool = "server." + w
			}
			r.Calls = append(r.Calls, c)
		}
	default:
		t.Fatalf("unknown reply %q in %q", words[0], line)
	}
	return r
}
