package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Code, in which no client shows links.
var (
	telegramCode = regexp.MustCompile(`(?s)<(code|pre)>.*?</(code|pre)>`)
	slackCode    = regexp.MustCompile("`[^`]*`")
)

// TestUnlinked: however a text writes an address that is not known, it is code in every
// chat, and the words of its link stay.
func TestUnlinked(t *testing.T) {
	known := func(a string) bool { return !strings.Contains(strings.ToLower(a), "evil") }
	const address = "https://evil.example/c?d=canary"
	for _, text := range []string{
		"See [the words](" + address + ").",
		"See [the words](<" + address + "> \"title\").",
		"See [the words](https&#58;//evil.example/c?d=canary)",
		"See ![the words](" + address + ")",
		"the words <" + address + ">",
		"the words " + address + ".",
		"the words (" + address + ")",
		"the words **https://**evil.ex*ample/c?d=canary*",
		"the words https\\://evil\\.example/c?d=canary",
		"the words https://evil.<b></b>example/c?d=canary",
		"the words ~~" + address + "~~",
		"the words ~~`" + address + "`~~",
		"the words `````````` " + address + " ``````````",
		"the words evil.example/c?d=canary",
		"the words www.evil.example/c?d=canary",
		"the words canary@evil.example",
		"the words tg://resolve?domain=evil&start=canary",
		"[the words](tg://resolve?domain=evil&start=canary)",
		"See [the words][1].\n\n[1]: " + address,
		"the words\n\n[1]: " + address,
		`See <a href="` + address + `">the words</a>`,
		`the words <img src="` + address + `">`,
		"# the words " + address,
		"> - the words " + address,
		"| a | b |\n|---|---|\n| the words | " + address + " |",
		"| a | b |\n|---|---|\n| the words | [x](" + address + ") |",
		"the words\n\n```see " + address + "\nx\n```",
		"the words $" + address + "$",
		"<details><summary>the words</summary>\n\n" + address + "\n\n</details>",
	} {
		got := Unlinked(text+"\n\n[good](https://good.example/a) https://good.example/b", known)
		var telegram, slack string
		for _, p := range Telegram(got) {
			telegram += p.Text
		}
		for _, p := range Slack(got) {
			slack += p.MarkdownText
		}
		for chat, out := range map[string]string{
			"telegram": telegramCode.ReplaceAllString(telegram, "‹›"), "rich": slackCode.ReplaceAllString(TelegramRich(got), "‹›"), "slack": slackCode.ReplaceAllString(slack, "‹›"),
		} {
			if strings.Contains(out, "evil") || strings.Contains(out, "canary") {
				t.Errorf("%q: %s shows %q", text, chat, out)
			}
		}
		for _, want := range []string{"the words", "evil", "canary"} {
			if !strings.Contains(Plain(got), want) {
				t.Errorf("%q lost %q: %q", text, want, Plain(got))
			}
		}
		for _, want := range []string{`<a href="https://good.example/a">good</a>`, `<a href="https://good.example/b">`} {
			if !strings.Contains(telegram, want) {
				t.Errorf("%q: %q holds no %s", text, telegram, want)
			}
		}
	}
}

// TestUnlinkedEndsAddresses: words right behind a known address are no part of a link.
func TestUnlinkedEndsAddresses(t *testing.T) {
	known := func(a string) bool { return a == "good.com/a" || a == "https://good.com/a" }
	for text, want := range map[string]string{
		"see good.com/a（canary":         "see `good.com/a`（canary",
		"see good.com/a。canary":         "see `good.com/a`。canary",
		"see good.com/a\u2060canary":    "see `good.com/a`\u2060canary",
		"见https://good.com/a。canary":    "见[https\\://good.com/a](https://good.com/a)。canary",
		"see https://good.com/a，canary": "see https://good.com/a，canary", // a link of its own
		"see good.com/a.":               "see good.com/a.",
		"see good.com/a（":               "see good.com/a（",
	} {
		if got := Unlinked(text, known); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"good.com/a（canary": "…（canary", "good.com/a and b": "good.com/a and b", "x good.com/b.": "x ….",
	} {
		if got := WithoutAddresses(text, known); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestUnlinkedKeepsTheRest: a text whose addresses are known stays as it is, and of
// others only the address changes.
func TestUnlinkedKeepsTheRest(t *testing.T) {
	for name, text := range corpus(t) {
		if got := Unlinked(text, func(string) bool { return true }); got != text {
			t.Fatalf("%s changed: %q", name, got)
		}
		if !strings.HasPrefix(name, "testdata/") || strings.Contains(text, `"Docs"`) || strings.Contains(text, "\x1b") { // titles move
			continue
		}
		got := Unlinked("x.evil.example/c\n\n"+text, func(a string) bool { return a != "x.evil.example/c" })
		if want := "`x.evil.example/c`\n\n" + text; fmt.Sprint(Telegram(got), Slack(got)) != fmt.Sprint(Telegram(want), Slack(want)) {
			t.Errorf("%s changed", name)
		}
	}
}

func FuzzUnlinked(f *testing.F) {
	f.Add("a [b](https://evil.example/c) ~~`d`~~")
	f.Add("`https://`evil.example **x.**evil.example")
	f.Fuzz(func(t *testing.T, text string) {
		got := Unlinked(text, func(string) bool { return false })
		for _, p := range Telegram(got) {
			if strings.Contains(p.Text, "<a href") {
				t.Errorf("%q: %q", text, p.Text)
			}
		}
	})
}
