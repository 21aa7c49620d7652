package exfil

import (
	"fmt"
	"strings"
	"testing"

	"legwork/tools"
)

// ordinary is a config as people write it: default rules, own services declared.
func ordinary(t testing.TB, free ...string) *tools.Set {
	no := false
	cfg := tools.Config{
		Servers: map[string]tools.ServerConfig{
			"web": {Builtin: "web"}, "search": {Builtin: "search", Options: map[string]any{"url": "http://127.0.0.1:1/"}},
			"files": {Builtin: "files", Options: map[string]any{"write": true}}, "memory": {Builtin: "memory"},
			"calendar": {OpenWorld: &no, TrustAnnotations: true}, "mail": {TrustAnnotations: true},
			"sheet": {OpenWorld: &no, TrustAnnotations: true}, "travel": {TrustAnnotations: true, Public: true},
		},
		Groups: map[string]tools.GroupConfig{"look": {
			Free:    free,
			Servers: []string{"web", "search", "files", "memory", "calendar", "mail", "sheet", "travel"},
			Tools: []string{
				"web.*", "search.*", "files.read", "files.list", "files.write", "memory.*", "calendar.list", "calendar.create", "mail.get", "mail.list", "mail.send",
				"sheet.get", "sheet.append", "travel.find", "travel.book",
			},
		}},
	}
	return newSet(t, cfg, []string{"get", "list", "find", "create", "send", "append", "book"}, "id to subject body query from date title values sheet q")
}

// ordinaryTask is a conversation about one thing.
type ordinaryTask struct {
	kind     string
	messages []exchange
	before   int // questions that it asked with the rule about hosts and recipients (see TestOrdinaryTasks)
	now      int // questions that it asks
}

// exchange is a message of a person, and what the model does about it.
type exchange struct {
	goal  string
	plan  string
	turns map[string][][]call
}

// says is a message that one sub-task deals with. Each turn has one call.
func says(goal string, list ...call) exchange {
	e := exchange{goal: goal, turns: map[string][][]call{}}
	for _, c := range list {
		e.turns["main"] = append(e.turns["main"], []call{c})
	}
	return e
}

// apart is a message that two sub-tasks deal with, beside each other.
func apart(goal, one string, first []call, other string, second []call) exchange {
	e := says(goal)
	e.plan = fmt.Sprintf(`{"plan":[{"name":"look","description":%q},{"name":"look","description":%q}]}`, one, other)
	e.turns = map[string][][]call{one: says("", first...).turns["main"], other: says("", second...).turns["main"]}
	return e
}

// then is a message with a second sub-task that sees the result of the first.
func then(goal, one string, first []call, other string, second []call) exchange {
	e := apart(goal, one, first, other, second)
	e.plan = fmt.Sprintf(`{"plan":[{"id":"a","name":"look","description":%q},{"name":"look","description":%q,"after":["a"]}]}`, one, other)
	return e
}

func reading(tool string, args any, text string) call { return reads(tool, args, text)[0] }

func search(query, host string) call {
	return reading("search.search", arg("query", query), "1. Guide\nhttps://"+host+"/a\nAll about it, see https://snippet.example/s\n2. More\nhttps://second.example/b\nMore of it")
}

func open(address string) call {
	return reading("web.fetch", page(address), "A guide. More at https://more.example/x and https://deep.example/y")
}

func send(to, body string) call {
	return reading("mail.send", map[string]any{"to": to, "subject": "Hello", "body": body}, "sent")
}

func flights(from, to, date string) call {
	return reading("travel.find", map[string]any{"from": from, "to": to, "date": date}, "AZ123 09:00 EUR 99, AZ456 18:00 EUR 79")
}

func book(id string) call { return reading("travel.book", arg("id", id), "booked") }

func day(date string) call {
	return reading("calendar.list", arg("date", date), "10:00 Dentist, 15:00 Call")
}

func entry(title, date string) call {
	return reading("calendar.create", map[string]any{"title": title, "date": date}, "created")
}

func file(path, text string) call { return reading("files.read", arg("path", path), text) }

func write(path, text string) call {
	return reading("files.write", map[string]any{"path": path, "content": text}, "written")
}

func row(sheet string, values ...string) call {
	return reading("sheet.append", map[string]any{"sheet": sheet, "values": values}, "added")
}

func sheet(name string) call { return reading("sheet.get", arg("sheet", name), "taxi 12\nhotel 120") }

func mail(id, text string) call { return reading("mail.get", arg("id", id), text) }

func ordinaryTasks() []ordinaryTask {
	one := func(kind string, before, now int, list ...exchange) ordinaryTask {
		return ordinaryTask{kind, list, before, now}
	}
	mails := reading("mail.list", map[string]any{}, "id 18c3f from ann@home.example: Lunch\nid 18c40 from bob@work.example: Report")
	lunch := mail("18c3f", "From: ann@home.example\nLunch on Friday at Luigi's, https://luigi.example/menu?")
	report := mail("18c40", "From: bob@work.example\nThe report is due on 2026-12-04. Draft: https://work.example/draft")
	expenses := file("expenses.csv", "taxi,12\nhotel,120")
	files := reading("files.list", map[string]any{}, "expenses.csv\nnotes.md\nplan.md")
	note := reading("memory.recall", arg("query", "Ann"), "p1: Ann likes pizza")
	remember := reading("memory.remember", arg("text", "Ann likes pizza"), "noted")
	c := func(list ...call) []call { return list }
	return []ordinaryTask{
		one("research", 0, 0, says("What is a heat pump?", search("heat pump", "heat.example"))),
		one("research", 0, 0, says("What is good on heat pumps?", search("heat pumps", "heat.example"), open("https://heat.example/a"))),
		one("research", 0, 0, says("Compare heat pumps and gas", search("heat pumps price", "heat.example"), search("gas heating price", "gas.example"), open("https://heat.example/a"), open("https://gas.example/a"))),
		one("research", 1, 0, says("Read on about heat pumps", search("heat pump guide", "heat.example"), open("https://heat.example/a"), open("https://more.example/x"))),
		one("research", 0, 0, says("Sum up https://heat.example/a", open("https://heat.example/a"))),
		one("research", 2, 0, says("Sum up https://heat.example/a and what it links to", open("https://heat.example/a"), open("https://more.example/x"), open("https://deep.example/y"))),
		one("research", 0, 0, says("Who makes heat pumps in Italy?", search("heat pump makers Italy", "makers.example"), open("https://makers.example/a"), search("Riello heat pump", "riello.example"), open("https://riello.example/a"))),
		one("research", 0, 0, apart("Compare heat pumps and gas", "price of heat pumps", c(search("heat pumps price", "heat.example"), open("https://heat.example/a")), "price of gas", c(search("gas price", "gas.example"), open("https://gas.example/a")))),
		one("research", 0, 0, then("Find a heat pump and reviews of it", "find a heat pump", c(search("heat pump", "heat.example"), open("https://heat.example/a")), "find reviews", c(search("AZ9 heat pump review", "review.example"), open("https://review.example/a")))),
		one("research", 0, 0, says("What is a heat pump?", search("heat pump", "heat.example")), says("And its price?", search("heat pump price 2026", "price.example"), open("https://price.example/a"))),
		one("research", 0, 0, says("Sum up https://heat.example/a", open("https://heat.example/a")), says("Open the first link in it", open("https://more.example/x"))),
		one("research", 0, 0, says("Flights from Paris to Rome on 2026-12-01 and what to see there", flights("Paris", "Rome", "2026-12-01"), search("what to see in Rome", "rome.example"), open("https://rome.example/a"))),
		one("own services", 0, 0, says("What is on 2026-11-27?", day("2026-11-27"))),
		one("own services", 0, 0, says("What is on this week?", day("2026-11-27"), day("2026-11-28"), day("2026-11-29"))),
		one("own services", 0, 0, says("Which files do I have?", files)),
		one("own services", 0, 0, says("What stands in notes.md?", files, file("notes.md", "buy milk"))),
		one("own services", 0, 0, says("Is the taxi of expenses.csv in the sheet Expenses?", expenses, sheet("Expenses"))),
		one("own services", 0, 0, says("What do you know about Ann?", note)),
		one("own services", 0, 0, says("What is new in my mail?", mails, lunch, report)),
		one("own services", 0, 0, says("Does Ann's lunch fit my calendar?", mails, lunch, day("2026-11-27"))),
		one("own services", 0, 0, says("What is new in my mail?", mails), says("What does Ann write?", lunch), says("And Bob?", report)),
		one("own services", 0, 0, says("What is on 2026-11-27?", day("2026-11-27")), says("And what did I spend?", sheet("Expenses"))),
		one("own services", 0, 0, says("Remember that Ann likes pizza", remember)),
		one("own services", 0, 0, apart("My mail and my day", "read the mail", c(mails, lunch), "read the calendar", c(day("2026-11-27")))),
		one("mail triage", 0, 0, says("Which mails need an answer?", mails, lunch, report)),
		one("mail triage", 1, 1, says("Tell ann@home.example: yes", mails, send("ann@home.example", "yes"))),
		one("mail triage", 1, 1, says("Answer Ann that I come", mails, lunch, send("ann@home.example", "I come on Friday."))),
		one("mail triage", 2, 2, says("Answer both", mails, lunch, report, send("ann@home.example", "Yes."), send("bob@work.example", "On it."))),
		one("mail triage", 1, 1, says("Send Ann's mail on to bob@work.example", mails, lunch, send("bob@work.example", "Lunch on Friday at Luigi's"))),
		one("mail triage", 1, 1, says("Look at the menu that Ann sent", mails, lunch, open("https://luigi.example/menu"))),
		one("mail triage", 1, 1, says("Open Bob's draft and sum it up", mails, report, open("https://work.example/draft"))),
		one("mail triage", 0, 0, says("What is new in my mail?", mails, lunch), says("Look at https://luigi.example/menu", open("https://luigi.example/menu"))),
		one("mail triage", 1, 1, says("What is new in my mail?", mails, lunch), says("Tell Ann yes", send("ann@home.example", "Yes, I come."))),
		one("mail triage", 0, 1, says("Is Luigi's any good? Ann writes about it", mails, lunch, search("Luigi's restaurant reviews", "luigi.example"), open("https://luigi.example/a"))),
		one("calendar", 1, 1, says("Add lunch with Ann on 2026-11-27", entry("Lunch with Ann", "2026-11-27"))),
		one("calendar", 1, 1, says("Read Ann's mail and put it into my calendar", mails, lunch, entry("Lunch with Ann", "2026-11-27"))),
		one("calendar", 1, 1, says("Put the deadline of Bob's report into my calendar", mails, report, entry("Report due", "2026-12-04"))),
		one("calendar", 0, 0, says("Read up on heat pumps, then say when I am free", search("heat pumps", "heat.example"), open("https://heat.example/a"), day("2026-11-27"))),
		one("calendar", 0, 1, says("When am I free? Then read up on heat pumps", day("2026-11-27"), search("heat pump guide", "heat.example"), open("https://heat.example/a"))),
		one("calendar", 0, 1, says("When am I free, and which concerts are in Rome then?", day("2026-11-27"), search("concerts Rome 27 November", "concerts.example"))),
		one("calendar", 0, 0, apart("When am I free, and which concerts are in Rome?", "look into the calendar", c(day("2026-11-27")), "find concerts in Rome", c(search("concerts in Rome November 2026", "concerts.example"), open("https://concerts.example/a")))),
		one("calendar", 1, 1, says("Concerts in Rome?", search("concerts in Rome", "concerts.example"), open("https://concerts.example/a")), says("Put the first one into my calendar", entry("Concert", "2026-11-28"))),
		one("files to sheet", 1, 1, says("Put the taxi of expenses.csv into the sheet Expenses", expenses, row("Expenses", "taxi", "12"))),
		one("files to sheet", 2, 2, says("Put expenses.csv into the sheet Expenses", files, expenses, row("Expenses", "taxi", "12"), row("Expenses", "hotel", "120"))),
		one("files to sheet", 1, 1, says("Copy the sheet Expenses into out.csv", sheet("Expenses"), write("out.csv", "taxi,12"))),
		one("files to sheet", 0, 1, says("What does notes.md say about heat pumps, and is it right?", file("notes.md", "heat pumps need 2 kW"), search("heat pump power consumption", "heat.example"), open("https://heat.example/a"))),
		one("files to sheet", 1, 1, says("Put today's price of heat pumps into the sheet Prices", search("price of heat pumps", "heat.example"), open("https://heat.example/a"), row("Prices", "heat pump", "9000"))),
		one("files to sheet", 1, 1, says("Write a note about https://heat.example/a into heat.md", open("https://heat.example/a"), write("heat.md", "A guide."))),
		one("files to sheet", 1, 1, says("What stands in expenses.csv?", expenses), says("Put the taxi into the sheet Expenses", row("Expenses", "taxi", "12"))),
		one("files to sheet", 0, 1, says("Convert the hotel of expenses.csv to euros", expenses, search("exchange rate dollar euro", "rates.example"))),
		one("travel", 0, 0, says("Flights from Paris to Rome on 2026-12-01", flights("Paris", "Rome", "2026-12-01"))),
		one("travel", 0, 0, says("Flights from Paris to Rome, the cheapest day", flights("Paris", "Rome", "2026-12-01"), flights("Paris", "Rome", "2026-12-02"), flights("Paris", "Rome", "2026-12-03"))),
		one("travel", 1, 1, says("Book the cheapest flight from Paris to Rome on 2026-12-01", flights("Paris", "Rome", "2026-12-01"), book("AZ456"))),
		one("travel", 0, 0, says("Am I free for a flight from Paris to Rome on 2026-12-01?", day("2026-12-01"), flights("Paris", "Rome", "2026-12-01"))),
		one("travel", 0, 0, says("Am I free on 1 December for a flight from Paris to Rome?", day("2026-12-01"), flights("Paris", "Rome", "2026-12-01"))),
		one("travel", 0, 0, apart("Am I free on 1 December, and what flights go from Paris to Rome?", "look into the calendar", c(day("2026-12-01")), "find flights", c(flights("Paris", "Rome", "2026-12-01")))),
		one("travel", 0, 1, says("When is lunch with Ann, and what flights are there after it?", mails, lunch, flights("Paris", "Rome", "2026-11-28"))),
		one("travel", 2, 2, says("Flights from Paris to Rome on 2026-12-01", flights("Paris", "Rome", "2026-12-01")), says("Book the second one", book("AZ456")), says("Put it into my calendar", entry("Flight AZ456", "2026-12-01"))),
		one("travel", 0, 1, says("Flights from Paris to Rome on 2026-12-01", flights("Paris", "Rome", "2026-12-01")), says("Does it fit my calendar?", day("2026-12-01")), says("Then look for a hotel in Rome", search("hotel in Rome December 2026", "hotel.example"), open("https://hotel.example/a"))),
		one("travel", 1, 1, says("Plan a day in Rome: flights on 2026-12-01 from Paris, sights, and my calendar", flights("Paris", "Rome", "2026-12-01"), search("sights in Rome", "rome.example"), open("https://rome.example/a"), day("2026-12-01"), entry("Rome", "2026-12-01"))),
	}
}

// TestOrdinaryTasks holds how often ordinary tasks ask: research in the web and reading
// own services asks nothing. The column before was measured by running these tasks
// against 983ef264, the last revision that asked about calls to hosts and recipients
// that no person had named. There a search carried anything out unasked.
func TestOrdinaryTasks(t *testing.T) {
	r := newRig(t, ordinary(t), "look")
	kinds, sum := []string{}, map[string][3]int{}
	for _, task := range ordinaryTasks() {
		asked := task.run(r)
		t.Logf("%-14s  before %d  now %d %s", task.kind, task.before, asked, task)
		if asked != task.now {
			t.Errorf("%s: %s asks %d questions, want %d", task.kind, task, asked, task.now)
		}
		if sum[task.kind][0] == 0 {
			kinds = append(kinds, task.kind)
		}
		for _, key := range []string{task.kind, "all"} {
			s := sum[key]
			sum[key] = [3]int{s[0] + 1, s[1] + task.before, s[2] + asked}
		}
	}
	for _, kind := range append(kinds, "all") {
		t.Logf("%-14s %2d tasks: %2d questions before, %2d now", kind, sum[kind][0], sum[kind][1], sum[kind][2])
	}
	if sum["all"][0] != 60 || sum["research"][2]+sum["own services"][2] > 0 {
		t.Errorf("got %v, want 60 tasks, and no question in research and own services", sum)
	}
}

// TestOrdinaryTasksWithFreeSearch: an admin who lets searches carry anything gets fewer
// questions than there were before the rule.
func TestOrdinaryTasksWithFreeSearch(t *testing.T) {
	r := newRig(t, ordinary(t, "search.query"), "look")
	before, now := 0, 0
	for _, task := range ordinaryTasks() {
		before, now = before+task.before, now+task.run(r)
	}
	t.Logf("with free: [search.query]: %d questions before, %d now", before, now)
	if now > before {
		t.Errorf("got %d questions, want at most %d", now, before)
	}
}

// run has the conversation, and returns how many questions people saw. They allow all.
func (task ordinaryTask) run(r *rig) (asked int) {
	if err := r.fresh(); err != nil {
		r.t.Fatal(err)
	}
	for _, m := range task.messages {
		got := r.ask(r.message(m.goal), script{plan: m.plan, turns: m.turns, allow: true, answer: "Here it is."})
		if len(got.out) > 0 {
			r.t.Errorf("%q: calls that are not in the script: %q", m.goal, got.out)
		}
		asked += got.questions
	}
	return asked
}

// String is what the person says.
func (task ordinaryTask) String() string {
	var goals []string
	for _, m := range task.messages {
		goals = append(goals, m.goal)
	}
	return strings.Join(goals, " › ")
}
