package planner_test

import (
	"testing"

	"legwork/i18n"
	"legwork/planner"
)

func announcement(goal string) *planner.Announcement {
	return planner.NewAnnouncement(goal, []i18n.Group{
		{Name: "web", Description: "Searches the web and reads pages."},
		{Name: "math", Description: "Calculates exactly."},
		{Name: "mail", Description: "Reads and sends mail."},
	})
}

const released = "When was Go 1.26 released, and how does it compare with Python?"

func TestAnnouncementsAreRecognised(t *testing.T) {
	for _, c := range []struct{ goal, text string }{
		{released, "I'll search the web for the release date of Go 1.26 and then compare it with Python."},
		{released, "I will search the web for Go 1.26."},
		{released, "Let me use the `web` agent to find out when Go 1.26 was released."},
		{released, "First I ask **web** for the date of Go 1.26, then llm_tool compares both."},
		{released, "1. web: Find the release date of Go 1.26\n2. llm_tool: Compare it with Python"},
		{released, "Here is my plan:\n\n- **web**: Find the release date of Go 1.26.\n- **llm_tool**: Compare Go and Python."},
		{released, "Step 1: web - find the date of Go 1.26\nStep 2: llm_tool - compare it with Python"},
		{released, "1. Agent: web\n   Task: Find when Go 1.26 was released\n2. Agent: llm_tool\n   Task: Compare it"},
		{released, "web: Find the release date of Go 1.26"},
		{released, "| Agent | Task |\n|---|---|\n| web | Find the release date of Go 1.26 |\n| llm_tool | Compare it with Python |"},
		{released, "Plan:\n\n| # | Agent | Task |\n| - | :-: | --- |\n| 1 | `web` | Find the release date of Go 1.26 |"},
		{released, "**Plan**\n\n1. **web** – Find the release date of Go 1.26\n2. **llm_tool** – Compare it with Python"},
		{released, "### Step 1: web\nFind the release date of Go 1.26.\n\n### Step 2: llm_tool\nCompare it with Python."},
		{released, "@web Find the release date of Go 1.26"},
		{released, "plan: web -> Find the release date of Go 1.26"},
		{released, "Thought: I have to look it up\nAction: web\nAction Input: release date of Go 1.26"},
		{"What is 17 % of 2,340 and of 8,120?", "- math: 17 % of 2,340\n- math: 17 % of 8,120"},
		{"Compare the populations of Lyon and Turin", "I'll search the web for the populations of Lyon and Turin."},
		{"Wann erschien Go 1.26?", "Ich suche mit `web` nach dem Erscheinungsdatum von Go 1.26."},
		{"Wann erschien Go 1.26?", "Plan:\n- web: Erscheinungsdatum von Go 1.26 suchen\n- llm_tool: zusammenfassen"},
		{"Когда вышел Go 1.26?", "Сначала я с помощью `web` найду дату выхода Go 1.26."},
		{"Когда вышел Go 1.26?", "1. web — найти дату выхода Go 1.26\n2. llm_tool — сравнить"},
		{"Go 1.26是什么时候发布的？", "我将使用 `web` 搜索 Go 1.26 的发布日期。"},
		{"里昂和都灵的人口是多少？", "- web：查找里昂的人口\n- web：查找都灵的人口"},
	} {
		a := announcement(c.goal)
		if !a.Is(c.text) {
			t.Errorf("%q: %q is not recognised", c.goal, c.text)
		}
	}
}

// TestAnswersAreNoAnnouncements: short answers, those that come close to an announcement
// above all.
func TestAnswersAreNoAnnouncements(t *testing.T) {
	for _, c := range []struct{ goal, text string }{
		{"Hello", "Hello! How can I help you?"},
		{"Hi", "Hi!"},
		{"Thanks!", "You're welcome."},
		{"Good night", "Good night, sleep well!"},
		{"What is 17*23?", "391"},
		{"What is 17*23?", "17*23 is 391."},
		{"Is 17 prime?", "Yes, 17 is prime."},
		{"Say web", "web"},
		{"What is HTML?", "HTML is the markup language of the web."},
		{"What is HTML?", "HTML describes web pages."},
		{"What is HTML?", "It is the language in which web pages are written."},
		{"Who invented HTML?", "Tim Berners-Lee invented HTML, the language of the web."},
		{"Who invented the web?", "Tim Berners-Lee invented the web in 1989."},
		{"What is DNS?", "DNS maps names to addresses on the web."},
		{"Explain math to a child", "Math is a game with numbers."},
		{"What can you do?", "I can search the web, calculate and send mail."},
		{"What can you do?", "I have these agents:\n- **web**: searches the web and reads pages\n- **math**: calculates exactly\n- **mail**: reads and sends mail"},
		{"What can you do?", "| Agent | Use |\n| --- | --- |\n| web | searches the web and reads pages |\n| math | calculates exactly |"},
		{"When were Go 1.26 and Python 3.14 released?", "| Language | Released |\n| --- | --- |\n| Go 1.26 | February 2026 |\n| Python 3.14 | October 2025 |"},
		{"Which agents do you have?", "I have `web`, `math` and `mail`."},
		{"Please list the agents that are available here", "The available agents are `web`, `math` and `mail`."},
		{"Please list the agents that are available here", "- web: searches the web and reads pages\n- math: calculates exactly\n- mail: reads and sends mail"},
		{"Welche Agenten sind verfügbar?", "Verfügbare Agenten: `web`, `math`, `mail`."},
		{"What is the difference between web and mail here?", "- web: searches pages\n- mail: sends messages"},
		{"Can you search the web for recipes?", "Yes, I can search the web for recipes. Which dish would you like?"},
		{"Can you send mail?", "Yes, I can send mail for you."},
		{"Send Ann the report of 2026", "To which address shall I mail the report of 2026?"},
		{"Is the mail server down?", "No, the mail server is not down."},
		{"When was Go 1.26 released?", "Go 1.26 was released in February 2026."},
		{"When was Go 1.26 released?", "In February 2026, as the web site go.dev says about Go 1.26."},
		{"When was Go 1.26 released?", "I don't know when Go 1.26 was released."},
		{"When was Go 1.26 released?", "The web says that Go 1.26 was released on 10 February 2026."},
		{"What is the capital of France?", "Paris."},
		{"What is the capital of France?", "The capital of France is Paris."},
		{"Name three programming languages of Google", "- Go: for servers\n- Dart: for apps\n- Carbon: an experiment"},
		{"Translate 'web page' to German", "Webseite"},
		{"Rewrite: we will search the web for answers", "We'll look for answers on the web."},
		{"Write a haiku about math and rain", "Rain counts on the roof,\nmath of drops I cannot solve,\nsums that never end."},
		{"How do I call a function in Go?", "Write its name and the arguments in parentheses: `f(1, 2)`."},
		{"How do I set up search in legwork?", "Add the `web` group and set the option `provider`."},
		{"Who are you?", "I am legwork, an assistant that plans work for agents."},
		{"What is 2+2? Use math.", "4"},
		{"Steps to learn math?", "1. Numbers\n2. Algebra\n3. Geometry"},
		{"What is a web crawler?", "A web crawler is a program that visits pages and follows their links."},
		{"Was ist HTML?", "HTML ist die Sprache des Web."},
		{"Wer hat HTML erfunden?", "Tim Berners-Lee, der Erfinder des Web, hat HTML erfunden."},
		{"Что такое HTML?", "HTML — это язык разметки страниц."},
		{"Кто придумал HTML?", "HTML придумал Тим Бернерс-Ли, создатель web."},
		{"HTML是谁发明的？", "HTML由蒂姆·伯纳斯-李发明，用于web。"},
		{"你能做什么？", "我可以搜索网页、精确计算和收发邮件。"},
		{"你能做什么？", "我有这些代理：\n- web：搜索网页\n- math：精确计算\n- mail：收发邮件"},
		{"It is Tuesday in Rome, right?", "Yes, it is Tuesday in Rome."},
		{"Remind me to buy milk", "I cannot set reminders by myself: use /schedule."},
		{"Which is larger, 7/8 or 6/7?", "7/8"},
		{"What's in math class today?", "I don't know your timetable. Send it to me and I can tell."},
	} {
		if announcement(c.goal).Is(c.text) {
			t.Errorf("%q: the answer %q is taken for an announcement", c.goal, c.text)
		}
	}
}

// TestPromises: texts of an agent whose task is to find the release date of Go 1.26.
func TestPromises(t *testing.T) {
	for text, want := range map[string]bool{
		"I will now search for the release date of Go 1.26.":                                  true,
		"I'll use the web tool to find the release date of Go 1.26. One moment, please.":      true,
		"Let me look up when Go 1.26 was released. The release date will follow in a moment.": true,
		"Ich suche jetzt nach dem release date von Go 1.26.":                                  true,
		"Сейчас найду, когда вышел Go 1.26.":                                                  true,
		"Go 1.26 was released on 10 February 2026.":                                           false,
		"Go 1.26 was released in February.":                                                   false,
		"The release notes of Go 1.26 are at go.dev/doc/go1.26.":                              false,
		"Which release of Go 1.26 is meant?":                                                  false,
		"I will now look for it. Please wait: release.":                                       true,
		"Done.":             false,
		"No page names it.": false,
	} {
		if got := planner.Promises("Find the release date of Go 1.26. Return day, month and year.", text); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}

func FuzzAnnouncement(f *testing.F) {
	f.Add(released, "- **web**: Find `x` 1.26\n  go on\n- llm_tool → 比较")
	f.Fuzz(func(t *testing.T, goal, text string) {
		if announcement(goal).Is(text) && len(planner.VisibleText(text)) > 600 {
			t.Fatalf("%q is too long for an announcement", text)
		}
	})
}
