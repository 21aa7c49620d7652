package slack_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
	"legwork/bot/slack"
)

func names(id string) string { return map[string]string{"U2": "ben"}[id] }

func TestPlain(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"},
		{"<@UBOT> hi", "hi"},
		{"<@UBOT>: hi", "hi"},
		{"<@UBOT|legwork>, hi", "hi"},
		{"hi <@UBOT>", "hi"},
		{"ask <@U2> and <@U3> and <@U4|dan>", "ask @ben and @U3 and @dan"},
		{"in <#C1|general> or <#C2>", "in #general or #C2"},
		{"<!here> <!channel> <!subteam^S1|@ops> <!subteam^S2>", "@here @channel @ops @subteam"},
		{"<!date^1392734382^{date_num}|2014-02-18>", "2014-02-18"},
		{"<https://a.example|label>", "label (https://a.example)"},
		{"<https://a.example/|a.example>", "https://a.example/"},
		{"<https://a.example>", "https://a.example"},
		{"<https://evil.example|https://good.example>", "https://good.example (https://evil.example)"},
		{"<mailto:a@b.example|a@b.example>", "mailto:a@b.example"},
		{"a < b and <", "a < b and <"},
		{"<<@U2>>", "<@ben>"},
		{"<>", "<>"},
		{"line one\nline two", "line one\nline two"},
		{"  \n ", ""},
	}
	for _, test := range tests {
		if got := slack.Plain(test.text, "UBOT", names); got != test.want {
			t.Errorf("Plain(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text            string
		private, thread bool
		want            string
	}{
		{"stop", true, false, "/stop"},
		{"Stop", false, true, "/stop"},
		{"!stop", false, true, "/stop"},
		{"!help", true, true, "/help"},
		{"!retry", false, true, "/retry"},
		{"!History", false, true, "/history"},
		{"!forget", true, false, "/forget"},
		{"!forget yes", false, true, "/forget yes"},
		{"!Lang  ru", false, true, "/lang ru"},
		{"!approvals", false, true, "/approvals"},
		{"!approvals revoke SQSJX", false, true, "/approvals revoke SQSJX"},
		{"!pause", false, true, "/pause"},
		{"!schedule every day 9:00 look", false, true, "/schedule every day 9:00 look"},
		{"!prompt trips/plan city=Rome", true, false, "/prompt trips/plan city=Rome"},
		{"!plan compare *both*", false, true, "/plan compare *both*"},
		{"!new idea: look again", false, true, "!new idea: look again"},
		{"!plans", false, true, "!plans"},
		{"!task x", false, false, "!task x"},
		{"stop", false, false, "stop"},
		{"stop it", true, true, "stop it"},
		{"status", true, true, "status"},
		{"claim ABC", true, false, "/start ABC"},
		{"claim ABC", false, true, "claim ABC"},
		{"claim the prize now", true, false, "claim the prize now"},
	}
	for _, test := range tests {
		if got := slack.Command(test.text, test.private, test.thread); got != test.want {
			t.Errorf("Command(%q, %v, %v) = %q, want %q", test.text, test.private, test.thread, got, test.want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{{"short", 5, "short"}, {"longer", 5, "long…"}, {"ééé", 2, "é…"}, {"éé", 2, "éé"}} {
		if got := slack.Cut(test.text, test.limit); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{{"a<b", 10, "a&lt;b"}, {"&&&&", 12, "&amp;&amp;…"}} {
		if got := slack.Fit(test.text, test.limit); got != test.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

// TestSteady: streamed parts of a growing text are never taken back.
func TestSteady(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Plain words, many of them, one after the other, until the end of it all.\n\nAnd more.",
		"# Head\n\nIt was **on\nFriday** and *not* later.\n\n- one\n- two\n  - three\n\n1. a\n2. b\n\nEnd of it.",
		"Look:\n\n```go\nif a < b {\n\treturn `x`\n}\n```\n\nThen <b>that</b> & more [here](https://a.example/x_y).\n\nDone.",
		"A table:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nAfter the table there is text.\n",
		"> quoted\n> more\n\nNot quoted any more. 🎉 שלום\n",
		"See [the docs](https://a.example/x?q=1) or https://b.example/y_z, then <https://c.example>.\n\n- [one](https://a.example) and two\n\nThe end of it.\n",
	} {
		said := ""
		for end := range text {
			now := slack.Steady(bot.Draft{Text: text[:end]})
			if now != "" && !strings.HasPrefix(now, said) && !strings.HasPrefix(said, now) {
				t.Errorf("after %q was streamed, %q turned it into %q", said, text[:end], now)
			}
			if len(now) > len(said) {
				said = now
			}
		}
		if bare := regexp.MustCompile("(?s)```.*?```|`[^`]*`").ReplaceAllString(said, ""); strings.Contains(bare, "://") {
			t.Errorf("%q was streamed with a link, which Slack may fetch", said)
		}
		if len(said) < len(text)/2 {
			t.Errorf("of %q only %q was streamed", text, said)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"<@U1|x> &lt;", "<<<<", "<a|b|c>", "<!date^1^{x}|y>", "&amp;lt;", "<\xff>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := slack.Plain(text, "UBOT", names)
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("Plain(%q) = %q, which is no UTF-8", text, got)
		}
		if len(got) > 2*len(text)+16 {
			t.Errorf("Plain(%q) grew to %d bytes", text, len(got))
		}
	})
}

// FuzzDecode: no delivery makes the adapter fail, and what it makes of one can
// be stored.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"team_id":"T1","event_id":"Ev1","event":{"type":"message","channel":"D1","channel_type":"im","user":"U1","text":"hi","ts":"1.000001"}}`,
		`{"event":{"type":"message","subtype":"message_changed","channel":"C1","message":{"user":"U1","text":"<@UBOT> b","ts":"1.1","edited":{"ts":"2.0"}},"previous_message":{"text":"a"}}}`,
		`{"event":{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1.1","previous_message":{"user":"U1","text":"<@UBOT> b","ts":"1.1"}}}`,
		`{"event":{"type":"agent_session_stopped","channel":"C1","thread_ts":"1.1","user":"U1","streaming_message_ts":["1.2"]}}`,
		`{"command":"/task","text":"do it","user_id":"U1","channel_id":"C1","trigger_id":"1.2.3","response_url":"https://hooks.example/1"}`,
		`{"type":"block_actions","user":{"id":"U1"},"channel":{"id":"C1"},"actions":[{"action_id":"legwork.0","value":"s:1","action_ts":"x"}]}`,
		`{"event":{"type":"message","channel":[]}}`, `{}`, `null`, `[]`, `{"event":{"type":"message","message":{"message":{}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, m := range slack.Decode(payload) {
			if m.Key == "" || m.Chat.ID == "" || m.From.ID == "" || m.At.IsZero() || m.Chat.Platform != "slack" {
				t.Errorf("%s gave %+v, which lacks something", payload, m)
			}
			if _, err := json.Marshal(m); err != nil {
				t.Errorf("%s gave %+v: %v", payload, m, err)
			}
		}
	})
}
