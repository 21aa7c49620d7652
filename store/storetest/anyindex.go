package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// testAnyIndex: after any changes, states, lists, counts and feed say what journals say.
func testAnyIndex(b *env) {
	round := 0
	rapid.Check(b.T, func(r *rapid.T) {
		round++
		w := &anyIndex{b: b, r: r, prefix: fmt.Sprintf("i%06d.", round), known: map[tasks.ID]*indexedTask{}}
		_, _, w.cursor = b.feed(0, 0)
		defer w.forget()
		w.open()
		r.Repeat(map[string]func(*rapid.T){
			"open":  func(*rapid.T) { w.open() },
			"event": func(*rapid.T) { w.event() },
			"more":  func(*rapid.T) { w.event() },
			"end":   func(*rapid.T) { w.end() },
			"drop":  func(*rapid.T) { w.drop() },
			"move":  func(*rapid.T) { w.move() },
			"forget": func(*rapid.T) {
				_, err := b.store.Forget(b.Context(), w.chat().Key())
				b.ok(err)
			},
			"reopen": func(r *rapid.T) {
				if rapid.IntRange(0, 9).Draw(r, "seldom") == 0 {
					b.store = b.reopen()
				}
			},
			"": func(*rapid.T) { w.check() },
		})
	})
}

// anyIndex is one run, with ids and rooms of its own, so that runs share a store.
type anyIndex struct {
	b      *env
	r      *rapid.T
	prefix string
	opened int
	known  map[tasks.ID]*indexedTask
	cursor uint64
}

// indexedTask is what the journal does not tell.
type indexedTask struct {
	chat    bot.Chat
	dropped time.Time
	fed     int // seq of its last event in the feed
	ended   int // how often the feed told that it was dropped
}

func (w *anyIndex) chat() bot.Chat {
	platform := w.prefix + rapid.SampledFrom([]string{"x", "y"}).Draw(w.r, "platform")
	return bot.Chat{Platform: platform, ID: rapid.SampledFrom([]string{"1", "2"}).Draw(w.r, "room"), Thread: rapid.SampledFrom([]string{"", "7"}).Draw(w.r, "thread")}
}

func (w *anyIndex) open() {
	w.opened++
	id := tasks.ID(fmt.Sprintf("%s%04d", w.prefix, w.opened))
	in := w.b.question(w.chat(), id, "goal")
	o := in.Open.Opening
	o.External, o.Preview = rapid.IntRange(0, 4).Draw(w.r, "external") == 0, rapid.Bool().Draw(w.r, "preview")
	w.known[id] = &indexedTask{chat: in.Chat}
	w.b.deliver(in)
}

// task draws one; empty when there is none.
func (w *anyIndex) task() tasks.ID {
	ids := slices.Sorted(maps.Keys(w.known))
	if len(ids) == 0 {
		return ""
	}
	return rapid.SampledFrom(ids).Draw(w.r, "task")
}

// event appends something that the task may take.
func (w *anyIndex) event() {
	w.b.clock.add(time.Duration(rapid.IntRange(0, 3).Draw(w.r, "seconds")) * time.Second)
	id := w.task()
	state, err := w.b.store.State(w.b.Context(), id)
	if errors.Is(err, tasks.ErrNoTask) {
		return
	}
	err = w.b.store.Append(w.b.Context(), id, -1, 0, anyEvents(w.r, state)...)
	if err != nil && !errors.Is(err, tasks.ErrRefused) {
		w.r.Fatalf("Append(%s): %v", id, err)
	}
}

// anyEvents draws events that a task may take.
func anyEvents(r *rapid.T, s planner.State) []planner.Event {
	values := func(value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(value)}
	}
	switch rapid.IntRange(0, 12).Draw(r, "kind") {
	case 0:
		return []planner.Event{{Type: planner.Stopped, By: "test:ann"}}
	case 1:
		return []planner.Event{said("hint"), {Type: planner.BudgetReached, Budget: "task_usd", Overdraft: &planner.Overdraft{Budget: "task_usd"}}}
	case 2:
		return []planner.Event{{Type: planner.BudgetRenewed}}
	case 3:
		return []planner.Event{{Type: planner.StateSet, By: "test:ann", Values: values(`"` + planner.NeedsHumanReview + `"`)}}
	case 4:
		return []planner.Event{{Type: planner.Answered, By: "agent:x", Text: "answer"}}
	}
	todo := planner.Todo(s)
	if len(todo) == 0 {
		return []planner.Event{said("hint")}
	}
	return anyOutcome(r, s, rapid.SampledFrom(todo).Draw(r, "action"))
}

// anyOutcome draws what comes of an action.
func anyOutcome(r *rapid.T, s planner.State, a planner.Action) []planner.Event {
	e := planner.Event{Action: a.ID, By: "test:ann"}
	yes := rapid.Bool().Draw(r, "yes")
	switch a.Kind {
	case planner.KindAsk:
		e.Type, e.Decision = planner.Decided, &planner.Decision{Approve: yes, Text: "words"}
		if a.ID.Subject == planner.SubjectReview {
			e.Values = planner.ReviewValues(yes)
		}
	case planner.KindTool:
		e.Type, e.Result = planner.Returned, &planner.Result{Text: "result"}
		if yes && !a.Allowed && !a.Started {
			e.Type, e.Result, e.Question = planner.Asked, nil, &planner.Question{Calls: []planner.Approval{{Call: a.Place.Call}}}
		}
	case planner.KindShow:
		return shown("m")
	default:
		e.Type, e.Reply = planner.Replied, &planner.Reply{Text: "text"}
		switch {
		case !yes:
		case a.Role == "work":
			e.Reply = &planner.Reply{Calls: []planner.Call{
				{ID: "1", Name: "x", Arguments: "{}", Tool: "server.x"}, {ID: "2", Name: "y", Arguments: "{}", Ask: &planner.Question{Text: "?"}},
			}}
		case a.Role != "answer":
			e.Reply = &planner.Reply{IsPlan: true}
			for _, name := range []string{"a", "b"} {
				e.Reply.Plan = append(e.Reply.Plan, planner.Subtask{ID: fmt.Sprintf("%d/%s", s.Round+1, name), Name: "web", Description: "look"})
			}
		}
	}
	return []planner.Event{e}
}

// end lets a task come to its end, if it may.
func (w *anyIndex) end() {
	id := w.task()
	for _, events := range [][]planner.Event{{{Type: planner.Stopped}}, shown("m")} {
		err := w.b.store.Append(w.b.Context(), id, -1, 0, events...)
		if err != nil && !errors.Is(err, tasks.ErrRefused) && !errors.Is(err, tasks.ErrNoTask) {
			w.r.Fatal(err)
		}
	}
}

func (w *anyIndex) drop() {
	id := w.task()
	s, err := w.b.store.State(w.b.Context(), id)
	if err != nil || s.Finished() || rapid.IntRange(0, 3).Draw(w.r, "seldom") > 0 {
		return
	}
	w.b.drop(id)
	if t := w.known[id]; t.dropped.IsZero() {
		t.dropped = w.b.clock.now()
	}
}

func (w *anyIndex) move() {
	from, to := w.chat(), w.chat()
	moved := w.b.live(from.Key())
	w.b.move(from, to)
	for _, id := range moved {
		w.known[id].chat = to
	}
}

// check holds the index against the journals.
func (w *anyIndex) check() {
	var want []tasks.Row
	for id, t := range w.known {
		events, err := w.b.store.Load(w.b.Context(), id, 0)
		if errors.Is(err, tasks.ErrNoTask) {
			w.b.missing(id)
			delete(w.known, id)
			continue
		}
		w.b.ok(err)
		w.b.same("state of "+string(id), w.b.state(id), planner.Fold(events))
		want = append(want, told(id, *t, events))
	}
	slices.SortFunc(want, func(a, b tasks.Row) int { return cmp.Compare(b.Task, a.Task) })
	for _, row := range want {
		got, err := w.b.store.Row(w.b.Context(), row.Task)
		w.b.ok(err)
		w.b.same("row of "+string(row.Task), got, row)
	}
	w.query(want)
	w.count(want)
	w.live(want)
	w.follow()
}

// told is a row in the plainest way: from the whole journal.
func told(id tasks.ID, t indexedTask, events []planner.Event) tasks.Row {
	o := events[0].Opening
	row := tasks.Row{Task: id, Chat: t.chat, From: o.From, Goal: o.Goal, Opened: events[0].At, External: o.External}
	for n := range events {
		s := planner.Fold(events[:n+1])
		if status := s.Status(); status != row.Status {
			row.Status, row.Changed = status, events[n].At
		}
		row.Round, row.Waits, row.Since = s.Round, false, time.Time{}
		for _, a := range planner.Todo(s) {
			if a.Kind != planner.KindAsk {
				continue
			}
			at := events[a.ID.Seq-1].At
			if !row.Waits || at.Before(row.Since) {
				row.Waits, row.Since = true, at
			}
		}
	}
	for _, w := range planner.Fold(events).Subtasks {
		if w.Name != planner.LLMTool && !row.Uses(w.Name) {
			row.Groups = append(row.Groups, w.Name)
			slices.Sort(row.Groups)
		}
	}
	if !t.dropped.IsZero() {
		if row.Status != "failed" {
			row.Status, row.Changed = "failed", t.dropped
		}
		row.Waits, row.Since = false, time.Time{}
	}
	return row
}

// query holds random queries, page by page, against all rows.
func (w *anyIndex) query(all []tasks.Row) {
	some := func(what string, of ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 4, rapid.ID).Draw(w.r, what)
	}
	x, y := w.prefix+"x", w.prefix+"y"
	q := tasks.TaskQuery{
		Statuses: some("status", "queued", "planning", "working", "waiting", "answering", "done", "failed", "stopped", "shared"),
		Rooms:    append([]string{}, some("room", x+":*", y+":*", x+":1", y+":2", y+":1", "other:*")...),
		Waits:    rapid.IntRange(0, 3).Draw(w.r, "waits") == 0,
		Limit:    rapid.IntRange(1, 4).Draw(w.r, "limit"),
	}
	var want []tasks.Row
	for _, row := range all {
		status := len(q.Statuses) == 0 || slices.Contains(q.Statuses, row.Status)
		room := slices.Contains(q.Rooms, row.Chat.Room()) || slices.Contains(q.Rooms, row.Chat.Platform+":*")
		if status && room && (row.Waits || !q.Waits) {
			want = append(want, row)
		}
	}
	var got []tasks.Row
	for more := true; more; {
		rows, further, err := w.b.store.Tasks(w.b.Context(), q)
		if more = further; err != nil || len(rows) > q.Limit || more && len(rows) < q.Limit {
			w.r.Fatalf("Tasks(%+v): %d rows, more %v, %v", q, len(rows), more, err)
		}
		if got = append(got, rows...); len(rows) > 0 {
			q.Before = rows[len(rows)-1].Task
		}
	}
	w.b.same(fmt.Sprintf("rows of %+v", q), got, want)
}

// count holds the counts against all rows.
func (w *anyIndex) count(all []tasks.Row) {
	want := map[string]int{}
	for _, row := range all {
		want[row.Status]++
	}
	w.b.counts(want)
}

// live holds the tasks that have not ended against all rows, the oldest first.
func (w *anyIndex) live(all []tasks.Row) {
	want := map[string][]tasks.Live{"": nil}
	for _, row := range slices.Backward(all) {
		state := w.b.state(row.Task)
		if !state.Finished() && w.known[row.Task].dropped.IsZero() {
			l := tasks.Live{Task: row.Task, Chat: row.Chat, From: row.From}
			want[""] = append(want[""], l)
			want[row.Chat.Key()] = append(want[row.Chat.Key()], l)
		}
	}
	for c, want := range want {
		got, err := w.b.store.Live(w.b.Context(), c)
		w.b.ok(err)
		for i := range got {
			got[i].Ahead = 0 // TestAhead of package tasks checks it
		}
		w.b.same("live of "+c, got, want)
	}
}

// follow reads what is new in the feed: each event of each task once, in order.
func (w *anyIndex) follow() {
	for {
		entries, _, newest := w.b.feed(w.cursor, 3)
		for _, e := range entries {
			w.cursor++
			if e.Cursor != w.cursor {
				w.r.Fatalf("entry %+v comes after %d", e, w.cursor-1)
			}
			switch t := w.known[e.Task]; {
			case t == nil:
			case e.Seq == 0:
				t.ended++
			default:
				w.b.same("next event of "+string(e.Task), e.Seq, t.fed+1)
				t.fed = e.Seq
			}
		}
		if len(entries) == 0 {
			w.b.same("end of the feed", newest, w.cursor)
			break
		}
	}
	for id, t := range w.known {
		w.b.same("events of "+string(id)+" in the feed", t.fed, w.b.state(id).Seq)
		w.b.same("drops of "+string(id)+" in the feed", t.ended == 1, !t.dropped.IsZero())
	}
}

// forget ends and deletes what the run made.
func (w *anyIndex) forget() {
	for id := range w.known {
		_ = w.b.store.Drop(w.b.Context(), id)
	}
	for _, room := range []string{"x:1", "x:2", "y:1", "y:2"} {
		w.b.erase(w.prefix + room)
	}
}
