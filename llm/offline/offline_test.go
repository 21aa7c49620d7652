package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/llm/offline"
)

const system = `You plan.
- Not a group: just a line.

# Agents
- math: Exact arithmetic on numbers. (only reads)
- clock: Tells the time in a place or time zone and does date arithmetic. (only reads)
- web: Reads public web pages and returns their text. （只读）
- files: Reads and lists files in the workspace. (can change things)
- llm_tool: The model alone.

# More
- format: JSON`

func planTool() []llm.Tool {
	return []llm.Tool{{Name: "plan", Description: "Hands over the plan.", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func ask(t *testing.T, r llm.Request) llm.Reply {
	t.Helper()
	reply, err := offline.New(offline.Options{}).Call(t.Context(), r, nil)
	if err != nil {
		t.Fatalf("Call(%+v): %v", r, err)
	}
	return reply
}

func planRequest(messages ...string) llm.Request {
	r := llm.Request{Role: llm.RolePlan, Tools: planTool(), Messages: []llm.Message{{Role: llm.System, Content: system}}}
	for _, m := range messages {
		r.Messages = append(r.Messages, llm.Message{Role: llm.User, Content: m})
	}
	return r
}

// planned writes a plan as "group: description" lines.
func planned(t *testing.T, reply llm.Reply) string {
	t.Helper()
	if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Name != "plan" || reply.Text != "" {
		return "no plan but " + reply.Text
	}
	var args struct {
		Plan []struct{ Name, Description string }
	}
	if err := json.Unmarshal([]byte(reply.ToolCalls[0].Arguments), &args); err != nil {
		t.Fatalf("arguments %q: %v", reply.ToolCalls[0].Arguments, err)
	}
	var lines []string
	for _, e := range args.Plan {
		lines = append(lines, e.Name+": "+e.Description)
	}
	return strings.Join(lines, "\n")
}

func TestRequestsAreSplitAndGivenToGroups(t *testing.T) {
	for goal, want := range map[string]string{
		"What is 17*23, and what time is it in Tokyo and in Paris?":  "math: What is 17*23\nclock: What time is it in Tokyo\nclock: What time is it in Paris",
		"What time is it in Tokyo, Paris and New York?":              "clock: What time is it in Tokyo\nclock: What time is it in Paris\nclock: What time is it in New York",
		"what time is it in tokyo?":                                  "clock: What time is it in tokyo",
		"Time in Europe/Berlin and UTC?":                             "clock: Time in Europe/Berlin\nclock: Time in UTC",
		"2+2 and 3*(4-1)":                                            "math: 2+2\nmath: 3*(4-1)",
		"Hello! Please calculate 15% of 80.":                         "math: Please calculate 15% of 80",
		"What is 6 times 7?":                                         "math: What is 6 times 7",
		"What is 1,000,000 / 7":                                      "math: What is 1,000,000 / 7",
		"Read https://go.dev/doc, then https://go.dev/blog?x=1,2.":   "web: Read https://go.dev/doc\nweb: Read https://go.dev/blog?x=1,2",
		"Read notes/today.md and count its words":                    "files: Read notes/today.md\nllm_tool: Count its words",
		"How many days are there between 2026-01-01 and 2026-03-01?": "clock: How many days are there between 2026-01-01 and 2026-03-01",
		"Write a poem about cats and dogs.":                          "llm_tool: Write a poem about cats and dogs",
		"Сколько будет 17*23 и который час в Токио и в Париже?": "math: Сколько будет 17*23\nclock: Который час в Токио\nclock: Который час в Париже",
		"17*23 等于多少？东京现在几点？":                                    "math: 17*23 等于多少\nclock: 东京现在几点",
		"东京和巴黎现在几点？":                                            "clock: 东京现在几点\nclock: 巴黎现在几点",
		"17*23 等于多少？东京和巴黎现在几点？":                                 "math: 17*23 等于多少\nclock: 东京现在几点\nclock: 巴黎现在几点",
		"Hello Anna, what time is it in Paris?":                 "clock: What time is it in Paris",
		"Find out which things can change":                      "llm_tool: Find out which things can change",
		"Compare Go and Rust":                                   "llm_tool: Compare Go and Rust",
		"What is the square root of 2?":                         "math: What is the square root of 2",
		"计算 6乘以7":                                               "math: 计算 6乘以7",
	} {
		t.Run(goal, func(t *testing.T) {
			if diff := cmp.Diff(want, planned(t, ask(t, planRequest("The person's time zone is UTC.\n\n<goal>\n"+goal+"\n</goal>")))); diff != "" {
				t.Errorf("plan for %q: want-, got+\n%s", goal, diff)
			}
		})
	}
}

// TestALongRequestIsOnePartAndReadQuickly: the work grows with the length of the request,
// and not with its square.
func TestALongRequestIsOnePartAndReadQuickly(t *testing.T) {
	for _, piece := range []string{"What is it, ", "Tokyo and ", "1+", "请问", "<goal>", "time in ", "a.b/"} {
		const limit = 64 // sixteen times as long; quadratic work would take 256 times as much
		if got := watch.Growth(limit, func() { askAtLength(t, piece, 6000) }, func() { askAtLength(t, piece, 96_000) }); got > limit {
			t.Errorf("96 KB of %q take %.0f times the work of 6 KB, want at most %d times", piece, got, limit)
		}
	}
}

func askAtLength(t *testing.T, piece string, length int) {
	t.Helper()
	goal := strings.Repeat(piece, length/len(piece))
	reply := ask(t, planRequest("<goal>"+goal+"</goal>"))
	if n := strings.Count(planned(t, reply), "\n"); n > 0 && len(reply.ToolCalls) > 0 {
		t.Errorf("%d bytes of %q make %d sub-tasks, want one", length, piece, n+1)
	}
	task := strings.Repeat(piece, 100)
	if got := ask(t, llm.Request{Role: llm.RoleWork, Messages: []llm.Message{{Role: llm.User, Content: "<task>" + task + "</task>"}}}); len(got.Text) > 1000 {
		t.Errorf("work on a long task says %d bytes, want a short text", len(got.Text))
	}
}

func TestPlainTalkIsAnsweredDirectly(t *testing.T) {
	for goal, notice := range map[string]string{
		"Hello there!":       "Offline stand-in",
		"thanks":             "Offline stand-in",
		"I had a lovely day": "Offline stand-in",
		"":                   "Offline stand-in",
		"你好！":                "离线替身",
		"Привет!":            "Офлайн-заместитель",
		"Сегодня хорошая погода.": "Офлайн-заместитель",
	} {
		reply := ask(t, planRequest("<goal>\n"+goal+"\n</goal>"))
		first, _, _ := strings.Cut(reply.Text, "\n")
		if len(reply.ToolCalls) > 0 || !strings.Contains(first, notice) {
			t.Errorf("reply to %q is %+v, want text whose first line has %q", goal, reply, notice)
		}
	}
}

func TestARefusedDirectAnswerBecomesAPlan(t *testing.T) {
	r := planRequest("<goal>Hello</goal>")
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Content: "Hi"}, llm.Message{Role: llm.User, Content: "A plan is wanted."})
	if got := planned(t, ask(t, r)); got != "llm_tool: Hello" {
		t.Errorf("after a refused answer the reply is %q, want a plan for llm_tool", got)
	}
}

func TestGuidanceIsPlannedToo(t *testing.T) {
	goal := "<goal>What time is it in Tokyo?</goal>"
	more := "<guidance>\nAnd what time is it in Berlin?\n</guidance>"
	results := `<result id="1/a" group="clock" state="done">09:00</result>`
	for name, c := range map[string]struct {
		messages []string
		want     string
	}{
		"before the plan": {[]string{goal, more}, "clock: What time is it in Tokyo\nclock: And what time is it in Berlin"},
		"after results":   {[]string{goal, results, more}, "clock: And what time is it in Berlin"},
	} {
		if diff := cmp.Diff(c.want, planned(t, ask(t, planRequest(c.messages...)))); diff != "" {
			t.Errorf("%s: want-, got+\n%s", name, diff)
		}
	}
	reply := ask(t, planRequest(goal, more, results))
	if len(reply.ToolCalls) > 0 || !strings.Contains(reply.Text, "- 09:00") {
		t.Errorf("with a later result the reply is %+v, want the answer", reply)
	}
}

func TestAnswersAreBuiltFromResults(t *testing.T) {
	goal := "<goal>What is 17*23?</goal>"
	results := "Results:\n<result id=\"1/a\" group=\"math\" state=\"done\">\nWhat is 17*23: 391\n</result>\n<result id=\"1/b\" group=\"clock\" state=\"failed\">no such place\ntry again</result>"
	want := "*Offline stand-in: rules, not a language model.*\n\nHere is what was found:\n\n- What is 17*23: 391\n- (not done) no such place\n  try again"
	review := planRequest(goal, results)
	review.Role = llm.RoleReview
	answer := review
	answer.Role, answer.Tools = llm.RoleAnswer, nil
	unnamed := answer
	unnamed.Role = ""
	for name, r := range map[string]llm.Request{"review": review, "answer": answer, "role from the prompt": unnamed} {
		if diff := cmp.Diff(want, ask(t, r).Text); diff != "" {
			t.Errorf("%s: want-, got+\n%s", name, diff)
		}
	}
	empty := ask(t, llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{{Role: llm.User, Content: goal}}})
	if !strings.Contains(empty.Text, "cannot do this: What is 17*23?") {
		t.Errorf("without results the answer is %q, want it to say so", empty.Text)
	}
}

func TestAConversationIsSummarised(t *testing.T) {
	turns := "The conversation since then:\n<question>\nWhat is 17*23?\n</question>\n<answer>\n391\n\nThat is all.\n</answer>\n<question>\nAnd now?\n</question>\n<answer>\nNothing.\n</answer>\n\nWrite the new summary now."
	got := ask(t, llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{
		{Role: llm.System, Content: "You keep the memory."},
		{Role: llm.User, Content: "The summary so far:\n<summary>\n- Ann wants metric units.\n</summary>\n\n" + turns},
	}}).Text
	if want := "- Ann wants metric units.\n- What is 17*23? → 391 That is all.\n- And now? → Nothing."; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

func tool(name, description, schema string) llm.Tool {
	return llm.Tool{Name: name, Description: description, Schema: json.RawMessage(schema)}
}

// tools are like those of the built-in servers, with those that legwork adds.
func tools() []llm.Tool {
	return []llm.Tool{
		tool("calculate", "Calculates an arithmetic expression.", `{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}`),
		tool("time_in", "Tells the present date and time in one place.", `{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}`),
		tool("date_add", "Adds weeks or days to a date.", `{"type":"object","properties":{"date":{"type":"string"},"weeks":{"type":"integer"},"days":{"type":"integer"},"place":{"type":"string"}}}`),
		tool("date_diff", "Tells how much time is between two dates.", `{"type":"object","properties":{"to":{"type":"string"},"from":{"type":"string"},"place":{"type":"string"}},"required":["to"]}`),
		tool("convert_time", "Tells what a time in one place is in another place.", `{"type":"object","properties":{"time":{"type":"string"},"from":{"type":"string","description":"The place it is meant in."},"to":{"type":"string","description":"The place to convert it to."}},"required":["time","from","to"]}`),
		tool("fetch", "Reads a page.", `{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`),
		tool("read_file", "Reads a file.", `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		tool("echo", "Echoes a message.", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`),
		tool("get-sum", "Returns the sum of two numbers.", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		tool("paint", "Paints in a colour.", `{"type":"object","properties":{"colour":{"enum":["red","blue"]}},"required":["colour"]}`),
		tool("get_state", "Reads the state that the task's agents share: all, or some keys.", `{"type":"object","properties":{"keys":{"type":"array","items":{"type":"string"}}},"required":[]}`),
		tool("read_result", "Reads on in a result that was cut.", `{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`),
		tool("ask_person", "Asks the person and waits.", `{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`),
		tool("broken", "Echoes.", `{"type":"object","properties":3}`),
	}
}

func workRequest(task string) llm.Request {
	return llm.Request{Role: llm.RoleWork, Tools: tools(), Messages: []llm.Message{
		{Role: llm.System, Content: "You work."},
		{Role: llm.User, Content: "The person's time zone is Europe/Vienna.\n\n<task>\n" + task + "\n</task>"},
	}}
}

func TestToolsAreChosenAndFilled(t *testing.T) {
	for task, want := range map[string]string{
		"What is 17*23":                                      `calculate {"expression":"17*23"}`,
		"Please calculate 15% of 80":                         `calculate {"expression":"15/100*80"}`,
		"What is 6 times 7":                                  `calculate {"expression":"6 * 7"}`,
		"What is 3 × (4 − 1)":                                `calculate {"expression":"3 * (4 - 1)"}`,
		"Compute sqrt(2)":                                    `calculate {"expression":"sqrt(2)"}`,
		"What time is it in Tokyo":                           `time_in {"place":"Tokyo"}`,
		"What time is it in New York":                        `time_in {"place":"New York"}`,
		"Time in Europe/Berlin":                              `time_in {"place":"Europe/Berlin"}`,
		"What time is it":                                    `time_in {"place":"Europe/Vienna"}`,
		"Который час в Москве":                               `time_in {"place":"Москва"}`,
		"Который час в Париже":                               `time_in {"place":"Париж"}`,
		"东京现在几点":                                             `time_in {"place":"东京"}`,
		"Which date is 3 weeks after 2026-11-20":             `date_add {"date":"2026-11-20","weeks":3}`,
		"How much time is between 2026-01-01 and 2026-03-01": `date_diff {"from":"2026-01-01","to":"2026-03-01"}`,
		"Convert 2026-11-20 15:30 from Berlin to Tokyo":      `convert_time {"from":"Berlin","time":"2026-11-20 15:30","to":"Tokyo"}`,
		"What is the square root of 2":                       `calculate {"expression":"sqrt(2)"}`,
		"Read https://go.dev/doc":                            `fetch {"url":"https://go.dev/doc"}`,
		"Read notes/today.md":                                `read_file {"path":"notes/today.md"}`,
		`Echo the message "good day"`:                        `echo {"message":"good day"}`,
		"Return the sum of 2.5 and 4":                        `get-sum {"a":2.5,"b":4}`,
		"Paint it blue":                                      `paint {"colour":"blue"}`,
	} {
		reply := ask(t, workRequest(task))
		got := "text " + reply.Text
		if len(reply.ToolCalls) == 1 {
			got = reply.ToolCalls[0].Name + " " + reply.ToolCalls[0].Arguments
		}
		if got != want {
			t.Errorf("work on %q: got %s, want %s", task, got, want)
		}
	}
}

func TestAResultOfAToolEndsTheWork(t *testing.T) {
	r := workRequest("What is 17*23")
	calls := ask(t, r).ToolCalls
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: calls},
		llm.Message{Role: llm.ToolRole, ToolCallID: calls[0].ID, Content: "<data>\n391\n</data>"})
	if got := ask(t, r); got.Text != "**What is 17*23**: 391" || len(got.ToolCalls) > 0 {
		t.Errorf("after the result: %+v, want its text", got)
	}
	r.Messages[1].Content = "<goal>What is 17*23?</goal>\n" + r.Messages[1].Content
	want := "*Offline stand-in: rules, not a language model.*\n\nHere is what was found:\n\n- **What is 17*23**: 391"
	if diff := cmp.Diff(want, ask(t, r).Text); diff != "" {
		t.Errorf("a last turn that answers: want-, got+\n%s", diff)
	}
}

// TestADeniedCallIsToldToPeople: what legwork asks of the model is nothing for people.
func TestADeniedCallIsToldToPeople(t *testing.T) {
	for said, want := range map[string]string{
		"A person declined this call: not now. Do not try it again; go on without it.": "**What is 17*23**: A person declined this call: not now.",
		"有人拒绝了这次调用。不要再试，请在没有它的情况下继续。":                                                  "**What is 17*23**: 有人拒绝了这次调用。",
	} {
		r := workRequest("What is 17*23")
		calls := ask(t, r).ToolCalls
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: calls}, llm.Message{Role: llm.ToolRole, ToolCallID: calls[0].ID, Content: said})
		if got := ask(t, r).Text; got != want {
			t.Errorf("after %q: %q, want %q", said, got, want)
		}
	}
}

func TestWhatTheRulesCannotDoIsSaid(t *testing.T) {
	for task, want := range map[string]string{
		"Write a poem":    "The offline stand-in works by rules and cannot do this: Write a poem",
		"写一首诗":            "离线替身只按规则工作，做不了这件事：写一首诗",
		"Напиши стихи":    "Офлайн-заместитель работает по правилам и этого не умеет: Напиши стихи",
		"Who are they":    "The offline stand-in works by rules and cannot do this: Who are they",
		"Compare 1 and 2": "The offline stand-in works by rules and cannot do this: Compare 1 and 2",
	} {
		r := workRequest(task)
		r.Tools = nil
		if got := ask(t, r).Text; got != want {
			t.Errorf("work on %q without tools: got %q, want %q", task, got, want)
		}
		r.Role = ""
		if got := ask(t, r).Text; got != want {
			t.Errorf("work on %q, role from the prompt: got %q, want %q", task, got, want)
		}
	}
}

func TestNoToolIsCalledThatDoesNotFit(t *testing.T) {
	r := workRequest("Who are they")
	r.Tools = r.Tools[:3]
	if got := ask(t, r); len(got.ToolCalls) > 0 || !strings.Contains(got.Text, "cannot do this: Who are they") {
		t.Errorf("with tools for other things: got %+v, want the admission", got)
	}
}

func TestTextIsStreamedWordByWordAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := offline.New(offline.Options{Delay: 300 * time.Millisecond, WordDelay: 5 * time.Millisecond})
		start, text, words := time.Now(), "", 0
		r := planRequest("<goal>你好 there</goal>")
		reply, err := m.Call(t.Context(), r, func(d llm.Delta) { text += d.Text; words++ })
		want := 300*time.Millisecond + time.Duration(words-1)*5*time.Millisecond
		if err != nil || text != reply.Text || words < 20 || time.Since(start) != want || reply.Elapsed != want {
			t.Errorf("streamed %q in %d words within %v, reply %+v, error %v, want it whole within %v", text, words, time.Since(start), reply, err, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 310*time.Millisecond)
		defer cancel()
		if _, err := m.Call(ctx, r, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != want+310*time.Millisecond {
			t.Errorf("cancelled call ended with %v, want the context's error at once", err)
		}
	})
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	r := planRequest("<goal>x</goal>")
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "plan", Arguments: "{}"}}})
	_, err := offline.New(offline.Options{}).Call(t.Context(), r, nil)
	var fault *llm.Error
	if !errors.As(err, &fault) || fault.Problem != llm.Invalid {
		t.Errorf("a call without its result: error %v, want %s", err, llm.Invalid)
	}
}

func TestFilesAreTold(t *testing.T) {
	file := "Files:\n<data file=\"f1\" name=\"notes.txt\" kind=\"text\">\nWater boils\nat 100 degrees.\n</data>"
	empty := "<data file=\"f1\" name=\"empty.pdf\" kind=\"\">\n[From legwork: The file empty.pdf is empty. Say so.]\n</data>"
	if reply := ask(t, planRequest(empty, "<goal>\nWhat does it say?\n</goal>")); !strings.HasSuffix(reply.Text, "\n\nThe file empty.pdf is empty.") {
		t.Errorf("an empty file is told as %q", reply.Text)
	}
	want := "**notes.txt** (lines: 2, words: 5) begins:\n\n```\nWater boils\nat 100 degrees.\n```"
	if reply := ask(t, planRequest(file, "<goal>\nWhat does it say?\n</goal>")); !strings.HasSuffix(reply.Text, want) {
		t.Errorf("the file is told as %q, want %q", reply.Text, want)
	}
	if got := planned(t, ask(t, planRequest(file, "<goal>\nWhat is 17*23?\n</goal>"))); got != "math: What is 17*23" {
		t.Errorf("a sum beside a file gave %q", got)
	}
}

func TestTheLanguageIsThatOfMostLetters(t *testing.T) {
	for goal, want := range map[string]string{
		"What time is it in 东京?":                "Offline stand-in",
		"What does Привет mean?":                "Offline stand-in",
		"东京现在几点？":                               "离线替身",
		"東京現在幾點":                                "离线替身",
		"请用 Go 写一个程序":                           "离线替身",
		"读一下 https://go.dev/doc/effective_go":   "离线替身",
		"Прочитай https://go.dev/doc/tutorials": "Офлайн-заместитель",
		"17*23": "Offline stand-in",
	} {
		r := planRequest("<goal>"+goal+"</goal>", `<result id="1/a" group="clock" state="done">x</result>`)
		if first, _, _ := strings.Cut(ask(t, r).Text, "\n"); !strings.Contains(first, want) {
			t.Errorf("the answer to %q begins with %q, want %q", goal, first, want)
		}
	}
}

// TestFilesAreMadeOfResults: a goal that asks for a CSV and a Markdown file is planned
// without these words, and the answer makes both of what was found.
func TestFilesAreMadeOfResults(t *testing.T) {
	tool := llm.Tool{Name: "plan", Schema: json.RawMessage(`{"type":"object","properties":{"plan":{},"wants_file":{}}}`)}
	for goal, want := range map[string]string{
		"What is 17*23, and what time is it in Tokyo? Make a CSV file.":       "math: What is 17*23\nclock: What time is it in Tokyo",
		"What is 17*23 and what time is it in Tokyo, as a CSV file":           "math: What is 17*23\nclock: What time is it in Tokyo",
		"What is 17*23 as Markdown and as CSV?":                               "math: What is 17*23",
		"Сколько будет 17*23 и который час в Токио? Сохрани результаты в CSV": "math: Сколько будет 17*23\nclock: Который час в Токио",
		"17*23 等于多少？东京现在几点？把结果做成CSV文件":                                        "math: 17*23 等于多少\nclock: 东京现在几点",
	} {
		r := planRequest("<goal>\n" + goal + "\n</goal>")
		r.Tools = []llm.Tool{tool}
		reply := ask(t, r)
		if got := planned(t, reply); got != want || !strings.Contains(reply.ToolCalls[0].Arguments, `"wants_file":true`) {
			t.Errorf("%s: planned %q with %s, want %q and a file", goal, got, reply.ToolCalls, want)
		}
	}
	r := llm.Request{Role: llm.RoleAnswer, Tools: []llm.Tool{{Name: "make_file", Schema: json.RawMessage(`{"type":"object"}`)}}, Messages: []llm.Message{
		{Role: llm.System, Content: "You write."},
		{Role: llm.User, Content: "<goal>\nWhat is 17*23 as Markdown and as CSV?\n</goal>"},
		{Role: llm.User, Content: `<result id="1/a" state="done">**What is 17*23**: 391</result>`},
	}}
	reply := ask(t, r)
	if len(reply.ToolCalls) != 2 || !strings.Contains(reply.ToolCalls[0].Arguments, `"results.md"`) || !strings.Contains(reply.ToolCalls[1].Arguments, `Question,Result\nWhat is 17*23,391\n`) {
		t.Errorf("the answer calls %v, want results.md and results.csv", reply.ToolCalls)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: reply.ToolCalls})
	for _, c := range reply.ToolCalls {
		r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: "<data>made</data>"})
	}
	if reply = ask(t, r); len(reply.ToolCalls) > 0 || !strings.Contains(reply.Text, "The file holds the results. Their number: 1.") {
		t.Errorf("then it says %q and calls %v, want the answer", reply.Text, reply.ToolCalls)
	}
}

// TestFilesOfFiles: a question about a file that asks for another one gets it.
func TestFilesOfFiles(t *testing.T) {
	r := llm.Request{Role: llm.RoleAnswer, Tools: []llm.Tool{{Name: "make_file", Schema: json.RawMessage(`{"type":"object"}`)}}, Messages: []llm.Message{
		{Role: llm.System, Content: "You write."},
		{Role: llm.User, Content: "<goal>\nWhat is in it? Make a CSV file.\n</goal>"},
		{Role: llm.User, Content: "Files\n<data file=\"f1\" name=\"offers.txt\" kind=\"text\">\nA,12\n</data>"},
	}}
	reply := ask(t, r)
	if len(reply.ToolCalls) != 1 || !strings.Contains(reply.ToolCalls[0].Arguments, `offers.txt,\"A,12\"`) {
		t.Errorf("the answer calls %v, want a CSV with what is in the file", reply.ToolCalls)
	}
	r.Role, r.Tools = llm.RolePlan, []llm.Tool{{Name: "plan", Schema: json.RawMessage(`{"properties":{"plan":{},"wants_file":{}}}`)}}
	if reply = ask(t, r); len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Arguments != `{"plan":[],"wants_file":true}` {
		t.Errorf("the plan is %v, want a file without sub-tasks", reply.ToolCalls)
	}
}
