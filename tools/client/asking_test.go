package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/internal/form"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// ways are the transports with the eras that questions come in: in place of a
// result in the modern one, in the midst of the call in the other. make check
// tries all of them, go test ./... one of each era.
func ways() []struct{ by, era string } {
	all := []struct{ by, era string }{{stdio, "modern"}, {http, "legacy"}, {http, "modern"}, {stdio, "legacy"}, {sse, "legacy"}}
	return all[:need.Times(2, len(all))]
}

// person answers questions and remembers them.
type person struct {
	answers []form.Answer
	asked   []form.Question
}

func (p *person) ask(_ context.Context, q form.Question) (form.Answer, error) {
	p.asked = append(p.asked, q)
	if len(p.asked) > len(p.answers) {
		return form.Answer{}, errors.New("asked too often")
	}
	return p.answers[len(p.asked)-1], nil
}

// converse calls a tool and has the person answer in whichever way is asked.
func converse(t *testing.T, s *client.Server, tool string, p *person) client.Result {
	t.Helper()
	r := call(t, s, tool, "{}", func(c *client.Call) { c.Ask = p.ask })
	for r.Question != nil {
		if len(r.State) == 0 || r.Text != "" || r.Failed {
			t.Fatalf("%s: got a question with state %q, text %q and failed %v; want a state alone", tool, r.State, r.Text, r.Failed)
		}
		a, err := p.ask(t.Context(), *r.Question)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		r = call(t, s, tool, "{}", func(c *client.Call) { c.Ask, c.Resume = p.ask, &client.Resume{State: r.State, Answer: a} })
	}
	return r
}

func accept(values string) form.Answer {
	a := form.Answer{Action: form.Accept}
	if err := json.Unmarshal([]byte(values), &a.Values); err != nil {
		panic(err)
	}
	return a
}

const seat = `{"class":"first","bags":2,"email":"a@example.com"}`

func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool    string
		answers []form.Answer
		asked   []string // of each question: its message, fields and address
		want    []string
	}{
		{
			"ask_form",
			[]form.Answer{accept(seat)},
			[]string{"Which seat would you like? class!:economy,business,first window=true bags! email! note"},
			[]string{`"class":"first"`, `"bags":2`, `"window":true`, `"action":"accept"`},
		},
		{"ask_form", []form.Answer{{Action: form.Decline}}, nil, []string{`"action":"decline"`}},
		{"ask_form", []form.Answer{{Action: form.Cancel}}, nil, []string{`"action":"cancel"`}},
		{
			"ask_url",
			[]form.Answer{{Action: form.Accept}},
			[]string{"Please sign in to the shop. https://shop.example.com/login?next=%2Fpay&id=7#top"},
			[]string{`[{"action":"accept"}]`},
		},
		{"ask_twice", []form.Answer{accept(seat), accept(`{"sure":true}`)}, []string{"", "Shall I book it? sure!"}, []string{`"sure":true`}},
		{"ask_twice", []form.Answer{accept(seat), {Action: form.Decline}}, nil, []string{`"decline"`}},
		{
			"ask_choices",
			[]form.Answer{accept(`{"seat":"a","meals":["lunch","dinner"],"day":"2026-12-01"}`)},
			[]string{"How would you like to travel? seat!:w,a meals=[\"lunch\"]:breakfast,lunch,dinner extras:p,b price=99.5 day at site code=\"none\""},
			[]string{`"meals":["lunch","dinner"]`, `"seat":"a"`, `"price":99.5`},
		},
	} {
		for _, w := range ways() {
			t.Run(strings.Join([]string{c.tool, c.answers[len(c.answers)-1].Action, w.by, w.era}, " "), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "log")
				s := ready(t, fake(t, w.by, "-full", "-era", w.era, "-log", path))
				p := &person{answers: c.answers}
				wantText(t, c.tool, converse(t, s, c.tool, p), false, c.want...)
				if len(p.asked) != len(c.answers) {
					t.Errorf("asked %d times, want %d", len(p.asked), len(c.answers))
				}
				for i, want := range c.asked {
					if got := questionText(p.asked[i]); want != "" && got != want {
						t.Errorf("question %d: got %q, want %q", i, got, want)
					}
				}
				if strings.Contains(read(path), `"violation"`) {
					t.Errorf("the server complained: %s", read(path))
				}
			})
		}
	}
}

// questionText is a question in short.
func questionText(q form.Question) string {
	parts := []string{q.Message}
	if q.URL != "" {
		parts = append(parts, q.URL)
	}
	for _, f := range q.Fields {
		s := f.Name
		if f.Required {
			s += "!"
		}
		if len(f.Default) > 0 {
			s += "=" + string(f.Default)
		}
		for i, c := range f.Choices {
			s += []string{":", ","}[min(i, 1)] + strings.Trim(string(c.Value), `"`)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// TestTwoQuestionsAtOnce: forms that come together are one question, whose
// fields are told apart by the names of the forms.
func TestTwoQuestionsAtOnce(t *testing.T) {
	for _, by := range []string{stdio, http} {
		path := filepath.Join(t.TempDir(), "log")
		s := ready(t, fake(t, by, "-full", "-era", "modern", "-log", path))
		p := &person{answers: []form.Answer{accept(`{"seat.class":"economy","seat.bags":0,"seat.email":"a@example.com","sure.sure":true}`)}}
		wantText(t, by, converse(t, s, "ask_both", p), false, `"class":"economy"`, `"sure":true`)
		if got := questionText(p.asked[0]); !strings.Contains(got, "Which seat would you like?\n\nShall I book it?") || !strings.Contains(got, "seat.class!") || !strings.Contains(got, "sure.sure!") {
			t.Errorf("%s: got %q, want both questions", by, got)
		}
		if strings.Contains(read(path), `"violation"`) {
			t.Errorf("%s: the server complained: %s", by, read(path))
		}
	}
}

// TestAnswerAfterRestart: in the modern way the answer may reach another process
// of the server, from another process of legwork.
func TestAnswerAfterRestart(t *testing.T) {
	for _, by := range []string{stdio, http} {
		t.Run(by, func(t *testing.T) {
			first := call(t, ready(t, fake(t, by, "-full", "-era", "modern")), "ask_form", "{}")
			if first.Question == nil {
				t.Fatalf("got %+v, want a question", first)
			}
			path := filepath.Join(t.TempDir(), "log")
			s := ready(t, fake(t, by, "-full", "-era", "modern", "-log", path))
			r := call(t, s, "ask_form", "{}", func(c *client.Call) { c.Resume = &client.Resume{State: first.State, Answer: accept(seat)} })
			wantText(t, "the answer", r, false, `"class":"first"`)
			if strings.Contains(read(path), `"violation"`) {
				t.Errorf("the server complained: %s", read(path))
			}
		})
	}
}

// TestSignInFirst is about the error by which a server says that a person has to
// visit an address before the call.
func TestSignInFirst(t *testing.T) {
	for _, by := range transports() {
		t.Run(by, func(t *testing.T) {
			s := ready(t, fake(t, by, "-full", "-era", "legacy"))
			r := call(t, s, "ask_first", "{}")
			if r.Question == nil || r.Question.URL != "https://shop.example.com/login?first=1" {
				t.Fatalf("got %+v, want the question to sign in", r)
			}
			resume := func(action string) func(*client.Call) {
				return func(c *client.Call) {
					c.Resume = &client.Resume{State: r.State, Answer: form.Answer{Action: action}}
				}
			}
			wantText(t, "declined", call(t, s, "ask_first", "{}", resume(form.Decline)), true, "did not open the address")
			wantText(t, "accepted", call(t, s, "ask_first", "{}", resume(form.Accept)), false, "signed in")
		})
	}
}

// TestBadAnswers: an answer that does not fit never reaches the server.
func TestBadAnswers(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			s := ready(t, fake(t, w.by, "-full", "-era", w.era, "-log", path))
			p := &person{answers: []form.Answer{accept(`{"class":"roof","bags":2,"email":"a@example.com"}`)}}
			r := call(t, s, "ask_form", "{}", func(c *client.Call) { c.Ask = p.ask })
			if r.Question != nil {
				r = call(t, s, "ask_form", "{}", func(c *client.Call) { c.Resume = &client.Resume{State: r.State, Answer: p.answers[0]} })
				wantText(t, "bad answer", r, true, `"class" does not fit`)
			} else {
				wantText(t, "bad answer", r, false, `"action":"cancel"`)
			}
			if strings.Contains(read(path), "roof") {
				t.Errorf("the server was told: %s", read(path))
			}
		})
	}
}

// TestNobodyToAsk: without anybody to ask, questions in the midst of a call are
// declined, and the call goes on.
func TestNobodyToAsk(t *testing.T) {
	for _, by := range transports() {
		s := ready(t, fake(t, by, "-full", "-era", "legacy"))
		wantText(t, by, call(t, s, "ask_form", "{}"), false, `"action":"decline"`)
	}
}

// TestSlowPerson: a person may take longer than the call has, in which the
// clock stands still; an error of asking ends the call.
func TestSlowPerson(t *testing.T) {
	t.Parallel()
	for _, by := range transports() {
		t.Run(by, func(t *testing.T) {
			s := ready(t, fake(t, by, "-full", "-era", "legacy"))
			slow := func(ctx context.Context, _ form.Question) (form.Answer, error) {
				select {
				case <-time.After(3 * time.Second):
				case <-ctx.Done():
					t.Errorf("the question was withdrawn: %v", context.Cause(ctx))
				}
				return accept(seat), nil
			}
			r := call(t, s, "ask_form", "{}", within(2*time.Second), func(c *client.Call) { c.Ask = slow })
			wantText(t, "slow", r, false, `"class":"first"`)

			broken := func(context.Context, form.Question) (form.Answer, error) { return form.Answer{}, errors.New("no chat") }
			r, err := try(t, s, "ask_form", "{}", func(c *client.Call) { c.Ask = broken })
			wantText(t, "broken", r, true, "no chat")
			if err == nil {
				t.Error("an error of asking: got no error of the call")
			}
			wantText(t, "afterwards", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
		})
	}
}

// TestAskedAside is about servers that ask on a stream that belongs to no single call.
func TestAskedAside(t *testing.T) {
	s := ready(t, fake(t, http, "-full", "-era", "legacy", "-aside"))
	p := &person{answers: []form.Answer{accept(seat)}}
	wantText(t, "ask_form", converse(t, s, "ask_form", p), false, `"class":"first"`)
}

// TestManyAsk: with several calls on one stream each gets an answer.
func TestManyAsk(t *testing.T) {
	for _, by := range transports() {
		s := ready(t, fake(t, by, "-full", "-era", "legacy"))
		texts := make(chan client.Result, 4)
		for range 4 {
			go func() {
				r, _ := s.Call(context.Background(), client.Call{Tool: "ask_form", Timeout: 10 * time.Second, Keep: 1 << 20, Ask: func(context.Context, form.Question) (form.Answer, error) {
					return accept(seat), nil
				}})
				texts <- r
			}()
		}
		for range 4 {
			wantText(t, by, <-texts, false, `"class":"first"`)
		}
	}
}

// TestModelCalls are made only where the config and the call allow them.
func TestModelCalls(t *testing.T) {
	t.Parallel()
	sample := func(_ context.Context, s client.Sampling) (client.Sampled, error) {
		if s.Server != "s" || s.System != "You are a poet." || s.MaxTokens != 100 || len(s.Messages) != 1 || s.Messages[0].Role != "user" || s.Messages[0].Content != "A poem about bread." {
			t.Errorf("got %+v, want the call for a poem", s)
		}
		return client.Sampled{Model: "m-1", Text: "Crust."}, nil
	}
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			cfg := fake(t, w.by, "-full", "-era", w.era)
			wantText(t, "off", call(t, ready(t, cfg), "sample", "{}", func(c *client.Call) { c.Sample = sample }), true, "no model to offer")
			cfg.Sampling = true
			s := ready(t, cfg)
			wantText(t, "on", call(t, s, "sample", "{}", func(c *client.Call) { c.Sample = sample }), false, "Crust.", "m-1")
			slowly := func(ctx context.Context, q client.Sampling) (client.Sampled, error) {
				select {
				case <-time.After(time.Second):
					return sample(ctx, q)
				case <-ctx.Done():
					return client.Sampled{}, ctx.Err()
				}
			}
			wantText(t, "somebody thinks it over", call(t, s, "sample", "{}", func(c *client.Call) { c.Sample, c.Timeout = slowly, 500*time.Millisecond }), false, "Crust.")
			refusals := 0
			refuse := func(context.Context, client.Sampling) (client.Sampled, error) {
				refusals++
				return client.Sampled{}, errors.New("no")
			}
			if r := call(t, s, "sample", "{}", func(c *client.Call) { c.Sample = refuse }); !r.Failed || refusals != 1 {
				t.Errorf("after a no: got %q, failed %v, asked %d times; want a failure and one question", r.Text, r.Failed, refusals)
			}
			if r := call(t, s, "sample", "{}"); !r.Failed {
				t.Errorf("without Sample: got %q, want a failure", r.Text)
			}
		})
	}
}

// TestRoots: a server learns the folders of the config that exist.
func TestRoots(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			cfg := fake(t, w.by, "-full", "-era", w.era)
			wantText(t, "none", call(t, ready(t, cfg), "roots", "{}"), true, "no folders to offer")
			dir := t.TempDir()
			cfg.Roots = []string{dir, filepath.Join(dir, "missing")}
			r := call(t, ready(t, cfg), "roots", "{}")
			wantText(t, "one", r, false, `"uri":"file://`+dir+`"`)
			if strings.Contains(r.Text, "missing") {
				t.Errorf("got %q, want no folder that is missing", r.Text)
			}
		})
	}
}

// TestOneAfterAnother: what a server asks in the midst of a call is put to the
// person of that call, however short a while ago that of another one ended.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	s := ready(t, fake(t, stdio, "-full", "-era", "legacy"))
	for n := range 400 {
		whom, asked := []string{"ann", "bob"}[n%2], 0
		r := call(t, s, "ask_form", "{}", func(c *client.Call) {
			c.AskTarget = whom
			c.Ask = func(context.Context, form.Question) (form.Answer, error) {
				asked++
				return form.Answer{Action: form.Decline}, nil
			}
		})
		if asked != 1 {
			t.Fatalf("call %d: %s was asked %d times, want once; got %q", n, whom, asked, r.Text)
		}
	}
}

// TestWrongPerson: a question that may be part of the calls of two people is put
// to neither.
func TestWrongPerson(t *testing.T) {
	for _, by := range []string{stdio, sse} {
		t.Run(by, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			s := ready(t, fake(t, by, "-full", "-era", "legacy", "-log", path))
			never := func(context.Context, form.Question) (form.Answer, error) {
				t.Error("somebody was asked")
				return form.Answer{Action: form.Cancel}, nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			slow := make(chan error, 1)
			go func() {
				_, err := s.Call(ctx, client.Call{Tool: "slow", Arguments: json.RawMessage(`{"ms":60000}`), Timeout: time.Minute, Keep: 1 << 20, Ask: never, AskTarget: "ann"})
				slow <- err
			}()
			watch.Until(t, "the call arrived", func() bool { return strings.Contains(read(path), `"slow"`) })
			r := call(t, s, "ask_form", "{}", func(c *client.Call) { c.Ask, c.AskTarget = never, "bob" })
			wantText(t, "ask_form", r, false, `"action":"decline"`)
			cancel()
			if err := <-slow; !errors.Is(err, context.Canceled) {
				t.Errorf("slow: got %v, want %v", err, context.Canceled)
			}
		})
	}
}
