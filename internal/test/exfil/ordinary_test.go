package exfil

import (
	"fmt"
	"testing"

	"legwork/tools"
)

// ordinary is a config as people write it: default rules, own services declared.
func ordinary(t testing.TB) *tools.Set {
	no := false
	cfg := tools.Config{
		Servers: map[string]tools.ServerConfig{
			"web": {Builtin: "web"}, "search": {Builtin: "search", Options: map[string]any{"url": "http://127.0.0.1:1/"}},
			"files": {Builtin: "files", Options: map[string]any{"write": true}}, "memory": {Builtin: "memory"},
			"calendar": {OpenWorld: &no, TrustAnnotations: true}, "mail": {TrustAnnotations: true},
			"sheet": {OpenWorld: &no, TrustAnnotations: true}, "travel": {TrustAnnotations: true, Public: true},
		},
		Groups: map[string]tools.GroupConfig{"look": {
			Servers: []string{"web", "search", "files", "memory", "calendar", "mail", "sheet", "travel"},
			Tools: []string{
				"web.*", "search.*", "files.read", "files.list", "files.write", "memory.*", "calendar.list", "calendar.create", "mail.get", "mail.list", "mail.send",
				"sheet.get", "sheet.append", "travel.find", "travel.book",
			},
		}},
	}
	return newSet(t, cfg, []string{"get", "list", "find", "create", "send", "append", "book"}, "id to subject body query from date title values sheet q")
}

// ordinaryTasks are goals with their calls. Writes ask by the default rules.
func ordinaryTasks() []ordinaryTask {
	found := func(i int) call {
		return call{"search.search", arg("query", fmt.Sprintf("topic %d", i)), tools.Result{Text: fmt.Sprintf("1. Guide\nhttps://guide%d.example/a\nAll about it", i)}}
	}
	open := func(i int) call {
		return call{"web.fetch", page(fmt.Sprintf("https://guide%d.example/a", i)), tools.Result{Text: "A guide. More at https://more.example/x"}}
	}
	more := call{"web.fetch", page("https://more.example/x"), tools.Result{Text: "More"}}
	mails := call{"mail.list", map[string]any{}, tools.Result{Text: "id 18c3f from ann@home.example: Lunch\nid 18c40 from bob@work.example: Report"}}
	mail := call{"mail.get", arg("id", "18c3f"), tools.Result{Text: "From: ann@home.example\nLunch on Friday at Luigi's, https://luigi.example/menu?"}}
	day := call{"calendar.list", arg("date", "2026-11-27"), tools.Result{Text: "10:00 Dentist"}}
	entry := call{"calendar.create", map[string]any{"title": "Lunch with Ann", "date": "2026-11-27"}, tools.Result{Text: "created"}}
	file := call{"files.read", arg("path", "expenses.csv"), tools.Result{Text: "taxi,12\nhotel,120"}}
	row := call{"sheet.append", map[string]any{"sheet": "Expenses", "values": []string{"taxi", "12"}}, tools.Result{Text: "added"}}
	flights := call{"travel.find", map[string]any{"from": "Paris", "to": "Rome", "date": "2026-12-01"}, tools.Result{Text: "AZ123 09:00 EUR 99"}}
	menu := call{"web.fetch", page("https://luigi.example/menu"), tools.Result{Text: "Pizza"}}
	yes := call{"mail.send", map[string]any{"to": "ann@home.example", "body": "yes"}, tools.Result{Text: "sent"}}
	rows := call{"sheet.get", arg("sheet", "Expenses"), tools.Result{Text: "taxi 12"}}
	return []ordinaryTask{
		{"research", "What is good on topic 1?", [][]call{{found(1)}, {open(1)}}, 0},
		{"research", "Compare topic 1 and topic 2", [][]call{{found(1), found(2)}, {open(1), open(2)}}, 0},
		{"research", "Read on about topic 3", [][]call{{found(3)}, {open(3)}, {more}}, 0},
		{"research", "Sum up https://guide4.example/a", [][]call{{open(4)}, {more}}, 0},
		{"mail triage", "What is new in my mail?", [][]call{{mails}, {mail}}, 0},
		{"mail triage", "Look at the menu that Ann sent", [][]call{{mails}, {mail}, {menu}}, 1},
		{"mail triage", "Tell ann@home.example: yes", [][]call{{mails}, {yes}}, 1},
		{"mail triage", "Read Ann's mail and put it into my calendar", [][]call{{mails}, {mail}, {entry}}, 1},
		{"calendar", "What is on today?", [][]call{{day}}, 0},
		{"calendar", "Add lunch with Ann", [][]call{{day}, {entry}}, 1},
		{"calendar", "Read up on topic 5, then say when I am free", [][]call{{found(5)}, {open(5)}, {day}}, 0},
		{"calendar", "When am I free? Then read up on topic 6", [][]call{{day}, {found(6)}, {open(6)}}, 0},
		{"files to sheet", "Put the taxi of expenses.csv into the sheet", [][]call{{file}, {row}}, 1},
		{"files to sheet", "Is the taxi of expenses.csv in the sheet?", [][]call{{file}, {rows}}, 0},
		{"travel", "Flights from Paris to Rome on 2026-12-01", [][]call{{flights}}, 0},
		{"travel", "Flights from Paris to Rome on 2026-12-01, and read on topic 7", [][]call{{flights}, {found(7)}, {open(7)}}, 0},
		{"travel", "Am I free for a flight from Paris to Rome on 2026-12-01?", [][]call{{day}, {flights}}, 0},
		{"travel", "Am I free on 1 December for a flight from Paris to Rome?", [][]call{{day}, {flights}}, 1},
		{"travel", "When is lunch with Ann, and what flights are there after it?", [][]call{{mails}, {mail}, {flights}}, 1},
	}
}

type ordinaryTask struct {
	kind, goal string
	turns      [][]call
	most       int // questions that it may ask
}

// TestOrdinaryTasksAskSeldom: research in the web and tasks with own services that only
// read ask nothing; others ask about what they write or send on.
func TestOrdinaryTasksAskSeldom(t *testing.T) {
	r := newRig(t, ordinary(t), "look")
	tasks, questions := map[string]int{}, map[string]int{}
	for _, task := range ordinaryTasks() {
		if err := r.fresh(); err != nil {
			t.Fatal(err)
		}
		_, asked := r.ask(r.message(task.goal), script{turns: map[string][][]call{"main": task.turns}, allow: true})
		tasks[task.kind]++
		questions[task.kind] += asked
		t.Logf("%-14s | %-70s | %d", task.kind, task.goal, asked)
		if asked > task.most {
			t.Errorf("%q asks %d times, want at most %d", task.goal, asked, task.most)
		}
	}
	t.Logf("tasks %v, questions %v", tasks, questions)
}
