package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"legwork/internal/test/browser"
)

const talk = "01jdtestconversation000001"

// full fills a conversation with a post of each kind.
func full(f *fake) {
	f.say(talk, post{"kind": "text", "mine": true, "text": "Compare the three offers, and tell me which is best."})
	f.say(talk, post{
		"kind": "answer", "task": "01JD", "footer": "2 sub-tasks · 0:14 · 3,120 tokens · $0.0112", "text": "## The best offer is **B**\n\n| Offer | Price | Delivery |\n| --- | ---: | --- |\n| A | 1,200 € | 3 weeks |\n| **B** | 980 € | 2 weeks |\n| C | 950 € | 9 weeks |\n\nWhy:\n\n1. It is *cheap*.\n2. It comes soon; see [the terms](https://example.com/terms).\n   - no deposit\n   - `net 30`\n\n> Prices without tax.\n\n```python\nprint(min(offers, key=lambda o: o.price))\n```\n\n- [x] read\n- [ ] ordered\n",
		"file": post{"id": "p1", "name": "offers.xlsx", "type": "application/vnd.ms-excel", "bytes": 23456},
	})
	f.say(talk, post{"kind": "text", "mine": true, "text": "Order it, and write to the team."})
	f.say(talk, post{"kind": "board", "task": "01JE", "partial": true, "text": "Working", "buttons": []post{{"label": "Stop", "data": "stop:01JE"}}, "board": post{
		"title": "Order offer B and write to the team", "status": "Working: 1 of 4 done", "items": []post{
			{"id": "1/a", "title": "Find the address of supplier B", "group": "web", "state": "done", "elapsed_ms": 4200},
			{"id": "1/b", "title": "Place the order", "group": "shop", "state": "waiting", "elapsed_ms": 1800},
			{"id": "1/c", "title": "Write to the team", "group": "mail", "state": "working", "elapsed_ms": 9100, "doing": "mail.draft"},
			{"id": "1/d", "title": "Note the order in the sheet", "group": "files", "state": "todo"},
		},
	}})
	guide := f.say(talk, post{"kind": "text", "mine": true, "text": "Write to Bob, too."})
	f.say(talk, post{"kind": "notice", "adds": true, "reply_to": guide["id"], "text": "Added to the running task.", "buttons": []post{{"label": "Ask separately", "data": "x:1"}, {"label": "Undo", "data": "u:1"}}})
	f.say(talk, post{
		"kind": "question", "task": "01JE", "text": "**Allow this call?**\n\n`order` of the server `shop`\n\n```json\n{\n  \"offer\": \"B\",\n  \"amount\": 1\n}\n```\n\nThe text above is all of it.", "calls": []post{{"tool": "shop.order", "arguments": post{"offer": "B", "amount": 1}}},
		"buttons": []post{{"label": "Allow once", "data": "a:1", "style": "primary"}, {"label": "Allow for this task", "data": "a:2"}, {"label": "Deny", "data": "a:3", "style": "danger"}},
	})
	f.say(talk, post{"kind": "question", "task": "01JF", "text": "**The plan.** Change it, or run it.", "plan": post{"data": "run:1", "items": []post{
		{"id": "a", "description": "Look up the prices", "name": "web", "after": nil}, {"id": "b", "description": "Write the table", "name": "files", "after": []string{"a"}},
	}}, "buttons": []post{{"label": "Run", "data": "run:1", "style": "primary"}, {"label": "Cancel", "data": "cancel:1"}}})
	f.say(talk, post{"kind": "question", "text": "`booking` asks for something.", "form": post{"data": "f:1", "fields": []post{
		{"name": "name", "title": "Name", "description": "As in the passport.", "required": true, "schema": post{"type": "string"}},
		{"name": "seats", "title": "Seats", "default": 2, "schema": post{"type": "integer", "minimum": 1}},
		{"name": "class", "title": "Class", "choices": []post{{"value": "1", "label": "first"}, {"value": "2", "label": "second"}}},
		{"name": "meals", "title": "Meals", "many": true, "choices": []post{{"value": "v", "label": "vegetarian"}, {"value": "h", "label": "halal"}}},
		{"name": "news", "title": "Send me news", "schema": post{"type": "boolean"}},
	}}, "buttons": []post{{"label": "Leave out", "data": "f:3"}, {"label": "Decline", "data": "f:2", "style": "danger"}}})
	f.say(talk, post{"kind": "answer", "failed": true, "text": "The supplier's server did not answer.", "buttons": []post{{"label": "Retry", "data": "retry:1"}}})
	f.say(talk, post{"kind": "notice", "text": "The model is now `fast`."})
}

// TestViews looks at each page in both themes and widths.
func TestViews(t *testing.T) {
	f := newFake(t)
	full(f)
	for _, v := range []browser.View{browser.Wide, browser.DarkWide, browser.Narrow, browser.DarkNarrow} {
		t.Run(v.String(), func(t *testing.T) {
			tab := chromium.Browser(t).Tab(t, v)
			tab.Go(f.url + "chat/" + talk)
			tab.Sees("The model is now")
			tab.Accessible("a conversation")
			tab.Keep("end")
			tab.Eval(`document.querySelector(".chat-scroll").scrollTop = 0`, nil)
			tab.Keep("beginning")
			tab.Eval(`document.querySelector(".post.adds").scrollIntoView({block: "center"})`, nil)
			tab.Keep("addition")
			tab.Go(f.url)
			tab.Sees("What can I do for you?")
			tab.Accessible("a new conversation")
			tab.Keep("new")
			tab.Go(f.url + "sessions")
			tab.Sees("Safari, iPhone")
			tab.Accessible("sessions")
			tab.Keep("sessions")
			tab.Go(f.url + "enter#CODE")
			tab.See(browser.Button("Sign in"))
			tab.Accessible("a link")
			tab.Keep("enter")
			tab.Go(f.url + "nothing")
			tab.Sees("There is no page at this address")
			tab.Accessible("no page")
		})
	}
}

// TestConversation writes, sees an answer grow, steps in, and decides.
func TestConversation(t *testing.T) {
	f := newFake(t)
	tab := chromium.Browser(t).Tab(t, browser.Wide)
	tab.Go(f.url)
	tab.Fill(browser.Box("Ask something"), "What is 17*23?")
	tab.Press(kb.Enter)
	tab.AddressIs("/console/chat/")
	tab.Sees("What is 17*23?")
	address := tab.Address()
	id := address[strings.LastIndex(address, "/")+1:]
	other := tab.Another()
	other.Go(address)
	other.Sees("What is 17*23?")

	p := f.say(id, post{"kind": "answer", "task": "01JD", "partial": true, "text": "It is "})
	tab.Sees("It is")
	other.Sees("It is")
	f.set(func() { f.send("piece", 0, post{"conversation": id, "post": p["id"], "at": 6, "text": "**391**"}) })
	tab.Until(`document.querySelector(".post.is-answer strong")?.textContent === "391"`)
	other.Until(`document.querySelector(".post.is-answer strong")?.textContent === "391"`)
	f.say(id, post{"id": p["id"], "kind": "answer", "task": "01JD", "text": "It is **391**.", "footer": "1 call"})
	tab.Sees("1 call")

	q := f.say(id, post{"kind": "question", "text": "Allow?", "calls": []post{{"tool": "a.b", "arguments": post{"x": 1}}}, "buttons": []post{{"label": "Allow once", "data": "a:1"}}})
	tab.Click(browser.Button("Add a comment"))
	tab.Fill(browser.Box("Comment"), "only today")
	tab.Click(browser.Button("Allow once"))
	tab.Sees("Allowed")
	f.set(func() {
		if len(f.pressed) != 1 || f.pressed[0]["post"] != q["id"] || f.pressed[0]["data"] != "a:1" || f.pressed[0]["text"] != "only today" {
			t.Errorf("the page pressed %v, want the button of post %v with the comment", f.pressed, q["id"])
		}
	})

	f.say(id, post{"id": q["id"], "kind": "notice", "text": "Allowed by Ann."})
	f.say(id, post{
		"kind": "question", "text": "The plan.", "plan": post{"data": "run:1", "items": []post{{"id": "a", "description": "Look", "name": "web", "after": nil}, {"id": "b", "description": "Write", "name": "files", "after": []string{"a"}}}},
		"buttons": []post{{"label": "Run", "data": "run:1", "style": "primary"}},
	})
	tab.Fill(browser.Box("Step 2"), "Write a table")
	tab.Click(browser.Button("Remove step 1"))
	tab.Click(browser.Button("Run"))
	f.await(func() bool { return len(f.pressed) == 2 })
	if got, want := fmt.Sprint(f.pressed[1]["plan"]), "[map[after:[] description:Write a table id:b name:files]]"; got != want {
		t.Errorf("the page changed the plan to %s, want %s", got, want)
	}

	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	tab.Choose(`input[type="file"]`, file)
	tab.See(browser.Button("Remove notes.txt"))
	tab.Until(`!document.querySelector(".composer progress") && !document.querySelector(".composer [type=submit]").disabled`)
	tab.Click(browser.Button("Send"))
	tab.Until(`document.querySelector(".post.is-mine .file")`)

	tab.Allow("ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION|ERR_FAILED")
	other.Allow("ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION|ERR_FAILED")
	f.set(func() { f.down = true })
	f.cut()
	tab.Sees("The connection is lost")
	tab.Fill(browser.Box("/^A/"), "Are you there?")
	tab.Press(kb.Enter)
	tab.Sees("Not sent.")
	f.set(func() { f.down = false })
	tab.SeesNot("The connection is lost")
	tab.SeesNot("Not sent.")
	f.set(func() {
		if n := len(f.sent); n != 3 || f.sent[2]["text"] != "Are you there?" {
			t.Errorf("after the loss of the network, the messages are %v, want the third once", f.sent)
		}
	})

	tab.Allow("401")
	other.Allow("401")
	f.set(func() { f.signedIn = false })
	tab.Fill(browser.Box("/^A/"), "Not to be lost")
	tab.Press(kb.Enter)
	tab.Sees("Your session has ended")
	tab.Fill(browser.Box("Token"), "good")
	tab.Press(kb.Enter)
	tab.SeesNot("Your session has ended")
	if got := tab.Value(browser.Box("/^A/")); got != "Not to be lost" {
		t.Errorf("after signing in again, the draft is %q", got)
	}
}

// TestReaderStays: texts that arrive do not pull down a reader who scrolled up.
func TestReaderStays(t *testing.T) {
	f := newFake(t)
	for i := range 120 {
		f.say(talk, post{"kind": "answer", "text": fmt.Sprintf("Answer %d.\n\nIt has two paragraphs.", i)})
	}
	tab := chromium.Browser(t).Tab(t, browser.Narrow)
	tab.Go(f.url + "chat/" + talk)
	tab.Sees("Answer 119.")
	const scroll = `document.querySelector(".chat-scroll")`
	tab.Until(scroll + `.scrollHeight - ` + scroll + `.scrollTop - ` + scroll + `.clientHeight < 4`)
	tab.Eval(scroll+`.scrollTop = 0`, nil)
	tab.Sees("Answer 20.")
	tab.Until(scroll + `.scrollTop > 100`) // the place is kept when older posts come in
	tab.Eval(scroll+`.scrollTop = 900`, nil)
	tab.See(browser.Button("Go to the newest message"))
	f.say(talk, post{"kind": "answer", "text": "The newest."})
	tab.Sees("The newest.")
	tab.Until(scroll + `.scrollTop < 2000`)
	tab.Click(browser.Button("Go to the newest message"))
	tab.Until(scroll + `.scrollHeight - ` + scroll + `.scrollTop - ` + scroll + `.clientHeight < 4`)
}

// TestUnread: a post that was read in one browser is read in all browsers of the person,
// also in one that opens later.
func TestUnread(t *testing.T) {
	f := newFake(t)
	f.say(talk, post{"kind": "answer", "text": "The first answer."})
	board := f.say(talk, post{"kind": "board", "task": "01JE", "text": "Working", "board": post{"title": "Work", "status": "Working", "items": []post{}}})
	const dot = `document.querySelector(".chat-unread")`
	reader, other := chromium.Browser(t).Tab(t, browser.Wide), chromium.Browser(t).Tab(t, browser.Wide)
	other.Go(f.url)
	other.Until(dot)
	reader.Go(f.url + "chat/" + talk)
	reader.Sees("The first answer.")
	other.Until("!" + dot)
	f.say(talk, post{"id": board["id"], "kind": "board", "task": "01JE", "text": "Done", "board": post{"title": "The work is done", "status": "Done", "items": []post{}}})
	reader.Sees("The work is done")
	reader.Go(f.url)
	f.say(talk, post{"kind": "answer", "text": "The second answer."})
	other.Until(dot)
	reader.Go(f.url + "chat/" + talk)
	reader.Sees("The second answer.")
	other.Until("!" + dot)
	later := chromium.Browser(t).Tab(t, browser.Wide)
	later.Go(f.url)
	later.Sees("The first answer.") // the title
	later.Until("!" + dot)
}

// TestToasts: a note covers neither the newest message nor the field, in a short
// conversation and in a long one.
func TestToasts(t *testing.T) {
	f := newFake(t)
	f.refused = "Not in this test."
	for _, text := range []string{"Short.", strings.Repeat("A paragraph.\n\n", 100)} {
		f.say(talk, post{"kind": "answer", "text": text + "The end."})
		for _, v := range []browser.View{browser.Wide, browser.DarkNarrow} {
			tab := chromium.Browser(t).Tab(t, v)
			tab.Allow("status of 422")
			tab.Go(f.url + "chat/" + talk)
			tab.Sees("The end.")
			tab.Fill(browser.Box("Ask something"), "Hello")
			tab.Click(browser.Button("Send"))
			tab.Until(`[...document.querySelectorAll("[role=status] .toast")].some((e) => e.innerText.includes("Not in this test."))`)
			tab.Until(`(() => {
				const box = (name) => [...document.querySelectorAll(name)].at(-1).getBoundingClientRect();
				const apart = (a, b) => a.bottom <= b.top || b.bottom <= a.top;
				return [".post", ".composer-box"].every((name) => apart(box(name), box(".toast"))) && box(".post").bottom <= box(".chat-scroll").bottom;
			})()`)
			tab.Keep("toast")
		}
	}
}

// TestPreferences: the page has the language and the clock of the person, and says whose
// clock it is when the browser has another one.
func TestPreferences(t *testing.T) {
	f := newFake(t)
	f.language, f.timezone = "ru", "Asia/Tokyo"
	f.say(talk, post{"kind": "answer", "text": "Yes.", "at": "2024-06-30T22:05:00Z"})
	tab := chromium.Browser(t).Tab(t, browser.Narrow)
	tab.In("Asia/Dubai")
	tab.Go(f.url + "chat/" + talk)
	tab.Sees("Время показано по часам Asia/Tokyo")
	tab.Sees("1 июл. 2024 г., 07:05")
	tab.Accessible("a conversation with the clock of another place")
	tab.Keep("zone")
	tab.Click(browser.Button("По часам Asia/Dubai"))
	tab.Sees("1 июл. 2024 г., 02:05")
	tab.SeesNot("Время показано")

	tab.Look(browser.Wide)
	tab.Click(browser.Button("/Ann/"))
	tab.Click(browser.Element{Role: "menuitemradio", Name: "English"})
	tab.Sees("Jul 1, 2024, 02:05")
	f.set(func() {
		if f.language != "en" || f.timezone != "Asia/Dubai" {
			t.Errorf("the page has set %q and %q", f.language, f.timezone)
		}
	})
}
