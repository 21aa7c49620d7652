package tasks_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"legwork/bot/markdown"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

var update = flag.Bool("update", false, "rewrite the golden files of cards")

// values is what one change gives to the shared state.
type values = map[string]any

// cardOf is the card of a review after these changes, the last of which wants it,
// in a language; files: the platform takes some.
func cardOf(t *testing.T, language string, files bool, changes ...values) enginetest.Post {
	t.Helper()
	s := newEngineEnv(t)
	s.stop()
	s.phone.files = files
	s.rules.Limits.StateKeys, s.rules.Limits.StateBytes = 0, 0
	s.model = &enginetest.Model{Answer: func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}}
	s.play()
	before := s.live(room("hall"))
	m := s.by("ann", room("hall"), "write about rooms")
	m.Language = language
	s.send(m)
	ids := slices.DeleteFunc(s.live(room("hall")), func(id tasks.ID) bool { return slices.Contains(before, id) })
	if len(ids) != 1 {
		t.Fatalf("%d tasks were opened", len(ids))
	}
	changes[len(changes)-1][planner.KeyStatus] = planner.NeedsHumanReview
	for _, c := range changes {
		set := map[string]json.RawMessage{}
		for key, value := range c {
			set[key] = json.RawMessage(object(t, value))
		}
		s.add(ids[0], planner.Event{Type: planner.StateSet, By: "agent:writer", Values: set})
	}
	if err := s.engine.Wake(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	return s.card(ids[0], "")
}

// rendered is a card as Telegram and Slack get it, with its file.
func rendered(card enginetest.Post) string {
	var b strings.Builder
	for _, p := range markdown.Telegram(card.Text) {
		fmt.Fprintf(&b, "--- Telegram\n%s\n", p.Text)
	}
	for _, p := range markdown.Slack(card.Text) {
		fmt.Fprintf(&b, "--- Slack\n%s\n", p.MarkdownText)
	}
	for _, button := range card.Buttons {
		fmt.Fprintf(&b, "[%s]\n", button.Label)
	}
	if card.File != nil {
		fmt.Fprintf(&b, "--- %s\n%s", card.File.Name, card.File.Content)
	}
	return regexp.MustCompile(`state-\d+`).ReplaceAllString(b.String(), "state-SEQ") // events of the engine come before it or not
}

// TestReviewCard: a person reads a state as texts, numbers and lists under
// their keys: the newest changes first, values that programs keep for
// themselves last.
func TestReviewCard(t *testing.T) {
	long := strings.Repeat("Rooms with a view are dear. ", 100)
	for _, language := range []string{"en", "zh", "ru"} {
		changes := func(draft string) []values {
			return []values{
				{"outline": []string{"Intro", "Rooms & prices <2027>"}, "_cursor": "page 4", "count": 12, "final": false, "rates": []float64{1.5, 2}},
				{"sources": []any{map[string]any{"title": "Boats <&>", "year": 2019}}, "none": []any{}, "blank": " "},
				{"draft": draft},
			}
		}
		got := rendered(cardOf(t, language, true, changes("# Rooms\n\nTwo *rooms* for <20 €.\r\n\tWith a garden.\n\n- a\n- b\n")...))
		got += "=== long\n" + rendered(cardOf(t, language, true, changes("# Rooms\n\n"+long)...))
		name := "testdata/review." + language + ".golden"
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs (-update rewrites it); got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestReviewCardIsWhole: without a file all of the state stands in the chat; with
// one, the message is short and the file has it all.
func TestReviewCardIsWhole(t *testing.T) {
	many := values{}
	for i := range 2000 {
		many[fmt.Sprintf("key %04d", i)] = fmt.Sprintf("value-%04d", i)
	}
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "value-%04d\n", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		state values
		n     int
	}{
		"a long text":        {values{"draft": lines(6000)}, 6000},
		"two long texts":     {values{"a": lines(3000), "b": lines(3000)}, 3000},
		"many keys":          {many, 2000},
		"a long list":        {values{"draft": strings.Fields(lines(3000))}, 3000},
		"something nested":   {values{"draft": values{"text": strings.Fields(lines(3000))}}, 3000},
		"a long member":      {values{"draft": values{"number": 1, "text": lines(6000)}}, 6000},
		"one very long word": {values{"draft": strings.ReplaceAll(lines(6000), "\n", "")}, 6000},
	} {
		for _, files := range []bool{false, true} {
			card := cardOf(t, "en", files, c.state)
			all := plainOf(card.Text)
			if files {
				all = string(card.File.Content)
				if n := len(utf16.Encode([]rune(card.Text))); n > 8000 || len(markdown.Telegram(card.Text)) != 1 || len(markdown.Slack(card.Text)) != 1 {
					t.Errorf("%s: the card has %d units", name, n)
				}
				if !strings.Contains(card.Text, "Not shown in full: ") || !strings.Contains(card.Text, card.File.Name) {
					t.Errorf("%s: the card does not say that there is more:\n%s", name, card.Text)
				}
			} else if card.File != nil || strings.Contains(card.Text, "Not shown in full") {
				t.Errorf("%s: the card leaves something out: %+v", name, card.Draft)
			}
			for i := range c.n {
				if value := fmt.Sprintf("value-%04d", i); !strings.Contains(all, value) {
					t.Errorf("%s, files %v: %s is not to be seen", name, files, value)
					break
				}
			}
		}
	}
}

// plainOf is what people read of a Markdown on Telegram, without line breaks.
func plainOf(text string) string {
	var b strings.Builder
	for _, p := range markdown.TelegramPlain(text) {
		b.WriteString(p.Text)
	}
	return strings.ReplaceAll(b.String(), "\n", "")
}

// TestReviewOfAnObject: texts of an object are read as texts, each under its name;
// an object of short things stays one.
func TestReviewOfAnObject(t *testing.T) {
	card := cardOf(t, "en", false, values{"draft": values{"text": "# Rooms\n\nTwo.", "number": 2}, "size": values{"width": 3, "unit": "m"}})
	want := "**`draft › number`**: 2\n\n**`draft › text`**\n\n> \\# Rooms\n>\n> Two.\n\n**`size`**\n\n```json\n{\n  \"unit\": \"m\",\n  \"width\": 3\n}\n```"
	if !strings.Contains(card.Text, want) {
		t.Errorf("the card is\n%s\nwant in it\n%s", card.Text, want)
	}
}

// TestReviewCardIsInert: whatever a state holds is shown as it is written, within
// a quotation or as code.
func TestReviewCardIsInert(t *testing.T) {
	for _, hostile := range []string{
		"*bold* _slanted_ ~~gone~~ `code` **Please review this before the task continues.**",
		"[a bank](https://evil.example) ![picture](https://evil.example/p.png) <https://evil.example>",
		"# Heading\n## Another", "heading\n===", "heading\n---", "***", "- a\n- [x] b\n1. c\n2) d", "| a | b |\n| - | - |\n| c | d |",
		"> out\n\nof it", "a\n\n    code\n\n\tcode", "```\nfence\n```\nout", "~~~\nfence", "````` ` `` ```", "\\*not\\* \\", "a\\\nb",
		"<b>x</b><script>alert(1)</script><!channel> <@U1> <#C1> &lt; &amp; &#42;", "one\n\n\n\n\nfar", "a  b   c", "x = y\n= z\n+ 1\n=",
		"[x]: https://evil.example\n[x]", "Only Ann can decide. Approved by BOSS.", "$a$ ^b^ :smile: www.evil.example mail@evil.example",
	} {
		for _, text := range []string{hostile, "first\n" + hostile} {
			inert(t, cardOf(t, "en", false, values{"draft": text}), hostile)
		}
		inert(t, cardOf(t, "en", false, values{"draft": values{"number": 1, "text": "first\n" + hostile}}), hostile)
		if item := strings.ReplaceAll(hostile, "\n", " "); len(item) < 80 {
			inert(t, cardOf(t, "en", false, values{"draft": []string{item, "another"}}), item)
		}
		if len(hostile) < 79 && !strings.Contains(hostile, "`") { // a longer key has its value below it
			card := cardOf(t, "en", false, values{hostile: 1})
			if got, want := unescapedHTML(foreign(card, "code")), strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(hostile); !strings.Contains(squeezed(got), squeezed(want)) {
				t.Errorf("a key %q is shown as %q", hostile, got)
			}
			if got := strings.Count(card.Text, "\n\n"); got != 3 {
				t.Errorf("the card of a key %q has %d gaps:\n%s", hostile, got, card.Text)
			}
		}
	}
}

// inert reports what of a hostile text is not shown as it is written, in a
// quotation of each platform.
func inert(t *testing.T, card enginetest.Post, hostile string) {
	t.Helper()
	parts := markdown.Telegram(card.Text)
	if len(parts) != 1 {
		t.Fatalf("%d messages", len(parts))
	}
	within := foreign(card, "blockquote")
	if strings.ContainsAny(within, "<>") {
		t.Errorf("%q: markup in the quotation: %s", hostile, within)
	}
	if got := unescapedHTML(within); !strings.Contains(squeezed(got), squeezed(hostile)) {
		t.Errorf("%q is shown as %q", hostile, got)
	}
	if n := strings.Count(parts[0].Text, "<blockquote>"); n != 1 {
		t.Errorf("%q: %d quotations:\n%s", hostile, n, parts[0].Text)
	}
	slack := markdown.Slack(card.Text)[0]
	for _, l := range strings.Split(strings.TrimSpace(hostile), "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.Contains(squeezed(slack.Text), ">"+squeezed(l)) && !strings.Contains(squeezed(slack.Text), ">•"+squeezed(l)) {
			t.Errorf("%q: %q is not in Slack's text:\n%s", hostile, l, slack.Text)
		}
	}
	if live := regexp.MustCompile(`(^|[^\\])\]\(|<[@!#]`).FindString(slack.MarkdownText); live != "" {
		t.Errorf("%q: Slack gets %s live: %s", hostile, live, slack.MarkdownText)
	}
}

// foreign is what Telegram shows within the first element of that name.
func foreign(card enginetest.Post, element string) string {
	_, rest, _ := strings.Cut(markdown.Telegram(card.Text)[0].Text, "<"+element+">")
	within, _, _ := strings.Cut(rest, "</"+element+">")
	return within
}

func unescapedHTML(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// squeezed is a text without what spaces it.
func squeezed(s string) string {
	return strings.Join(strings.Fields(s), "")
}

// TestReviewCardShowsWhatHides: what cannot be seen, and what turns the direction
// of its neighbours, is written out, in keys, texts, lists and objects, and in the
// file.
func TestReviewCardShowsWhatHides(t *testing.T) {
	const hidden = "a\u202eb\u200bc\x1bd\u2066e"
	for _, shape := range []any{hidden, []string{hidden}, values{"x": hidden}, values{hidden: "one\n" + hidden}, hidden + strings.Repeat(" and more", 500)} {
		card := cardOf(t, "en", true, values{"key" + hidden: shape})
		for _, text := range []string{card.Text, rendered(card)} {
			if strings.ContainsAny(text, "\u202e\u200b\x1b\u2066") {
				t.Errorf("%q: something hidden is in %q", shape, text)
			}
		}
		if got := markdown.TelegramPlain(card.Text)[0].Text; strings.Count(got, `\u202eb`) < 2 {
			t.Errorf("%q: hidden values are not written out in %q", shape, got)
		}
	}
}

// TestReviewCardOrder: the newest change first, what was added while the review
// was open behind it, and what programs keep for themselves in the end.
func TestReviewCardOrder(t *testing.T) {
	card := cardOf(t, "en", false, values{"b": 1, "old": 1, "_a": 1, ".c": 1}, values{"c": 2}, values{"b": 3, "_z": 3})
	var got []string
	for _, l := range strings.Split(card.Text, "\n") {
		if key, ok := strings.CutPrefix(l, "**`"); ok {
			got = append(got, strings.Split(key, "`")[0])
		}
	}
	if want := []string{"b", "c", "old", "_z", ".c", "_a"}; !slices.Equal(got, want) {
		t.Errorf("the keys are %q, want %q", got, want)
	}
}

// TestReviewCardKeepsSpaces: a text keeps its lines and what they begin with.
func TestReviewCardKeepsSpaces(t *testing.T) {
	card := cardOf(t, "en", false, values{"draft": "\n\n    if x:\n\treturn  1\n"})
	if got, want := foreign(card, "blockquote"), "\u00a0\u00a0\u00a0\u00a0if x:\n\u00a0\u00a0\u00a0\u00a0return  1"; got != want {
		t.Errorf("the text is shown as %q, want %q", got, want)
	}
}
