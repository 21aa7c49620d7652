package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// maxQuestions is how often a server may ask during one call.
const maxQuestions = 10

// serverQuestions brings the questions of one call's server to people. A live
// question keeps the call waiting. When a call is repeated after a restart, the same
// questions get the answers that people gave before the restart.
type serverQuestions struct {
	x    *Executor
	v    *tasks.View
	a    planner.Action
	call planner.Call
	all  bool // the server may ask for secrets, too

	mu       sync.Mutex
	answered []answeredQuestion // answers from before this run
	asked    int
	secret   string // the last field that declines has found

	usageMu sync.Mutex // guards usage and samples; mu is held while a person answers
	usage   llm.Usage  // of the model calls that the server asked for
	samples int
}

// answeredQuestion is an answered question.
type answeredQuestion struct {
	seq      int
	question form.Question
	answer   form.Answer
	live     bool
	state    json.RawMessage
}

func (x *Executor) serverQuestions(v *tasks.View, a planner.Action, j judgement) *serverQuestions {
	s := &serverQuestions{x: x, v: v, a: a, call: j.call, all: j.verdict.AskSecrets}
	for _, e := range v.Events {
		if e.Type == planner.Asked && e.Question.Form != nil && e.Question.SignIn == nil && e.Action.SameCall(a.ID) {
			q := e.Question
			s.answered = append(s.answered, answeredQuestion{e.Seq, *q.Form, answerOf(*q.Form, e.Seq, v.Events[e.Seq:]), q.Live, q.State})
		}
	}
	s.asked = len(s.answered)
	return s
}

// answerOf returns the answer to the question with that seq, from the decisions in
// later events.
func answerOf(q form.Question, seq int, later []planner.Event) form.Answer {
	answer := form.Answer{Action: form.Cancel}
	for _, e := range later {
		if e.Type != planner.Decided || e.Action.Subject != planner.SubjectForm || e.Action.Seq != seq {
			continue
		}
		if !e.Decision.Approve {
			return form.Answer{Action: form.Decline}
		}
		answer.Action = form.Accept
		v := e.Decision.Value
		if field := e.Action.Field; field < len(q.Fields) && len(v) > 0 && string(v) != "null" {
			if answer.Values == nil {
				answer.Values = map[string]json.RawMessage{}
			}
			answer.Values[q.Fields[field].Name] = v
		}
	}
	return answer
}

// resume returns the state with which a call continues: with the answer when its last
// result was a question, and without one when its server does it as a task since then.
// It is nil for a new call.
func (s *serverQuestions) resume() *tools.Resume {
	var last answeredQuestion
	if n := len(s.answered); n > 0 {
		last = s.answered[n-1]
	}
	switch {
	case last.seq > s.a.Task && !last.live:
		return &tools.Resume{State: last.state, Answer: last.answer}
	case s.a.Task > 0:
		return &tools.Resume{State: s.v.Events[s.a.Task-1].State}
	}
	return nil
}

// askThenRepeat asks a question that was the result of the call. The call is made
// again with the answer.
func (s *serverQuestions) askThenRepeat(ctx context.Context, r tools.Result) error {
	if s.asked >= maxQuestions {
		return s.x.returned(ctx, s.v, s.a, planner.Result{Text: errTooManyQuestions.Error(), Failed: true, Usage: s.used()})
	}
	s.settle(ctx) // the event that asks does not hold the cost
	return s.x.Append(ctx, s.v.ID, planner.Event{Type: planner.Asked, Action: s.a.ID, Question: &planner.Question{
		Server: s.server(), Form: r.Question, State: r.State, Expires: s.x.rules.Load().Approvals.ExpiresAt(s.x.Now()),
	}})
}

// settle counts the cost of the model calls that the server asked for, when no event
// holds it.
func (s *serverQuestions) settle(ctx context.Context) {
	if used := s.used(); used != (llm.Usage{}) {
		s.x.budget.settle(ctx, s.v.ID, tasks.ReservationID{Action: s.a.ID}, used)
	}
}

// used returns the cost so far of the model calls that the server asked for.
func (s *serverQuestions) used() llm.Usage {
	s.usageMu.Lock()
	defer s.usageMu.Unlock()
	return s.usage
}

var (
	errTooManyQuestions = errors.New("the server keeps asking questions; the call was given up")
	errRefused          = errors.New("a person declined the model call")

	errNoBudget = errors.New("the budget has no room for the model call")
)

func (s *serverQuestions) server() string {
	name, _, _ := strings.Cut(s.call.Tool, ".")
	return name
}

// ask asks a person during the call and waits for the answer. One question is open
// at a time.
func (s *serverQuestions) ask(ctx context.Context, q form.Question) (form.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.declines(q) {
		return form.Answer{Action: form.Decline}, nil
	}
	if i := slices.IndexFunc(s.answered, func(g answeredQuestion) bool { return g.live && sameQuestion(g.question, q) }); i >= 0 {
		answer := s.answered[i].answer
		s.answered = slices.Delete(s.answered, i, i+1)
		return answer, nil
	}
	if s.asked++; s.asked > maxQuestions {
		return form.Answer{Action: form.Cancel}, errTooManyQuestions
	}
	err := s.x.Append(ctx, s.v.ID, planner.Event{Type: planner.Asked, Action: s.a.ID, Question: &planner.Question{
		Server: s.server(), Form: &q, Live: true, Expires: s.x.rules.Load().Approvals.ExpiresAt(s.x.Now()),
	}})
	if err != nil {
		return form.Answer{Action: form.Cancel}, err
	}
	return s.await(ctx, q)
}

// declines reports that no person is asked, because the form wants a secret. People
// read why below the outcome.
func (s *serverQuestions) declines(q form.Question) bool {
	name := q.Secret()
	if name == "" || s.all {
		return false
	}
	s.secret = name
	s.x.Log.Warn("question of the server declined", "task", s.v.ID, "server", s.server(), "cause", "it asks for a secret", "field", name)
	return true
}

// sameQuestion compares the stored forms of two questions.
func sameQuestion(a, b form.Question) bool {
	one, err := json.Marshal(a)
	other, bad := json.Marshal(b)
	return err == nil && bad == nil && string(one) == string(other)
}

// await waits until a person has decided about the question, or it has expired.
func (s *serverQuestions) await(ctx context.Context, q form.Question) (form.Answer, error) {
	asked := 0
	for {
		changed := s.x.Store.Changed(s.v.ID)
		state, err := s.x.Store.State(ctx, s.v.ID)
		if err != nil {
			return form.Answer{Action: form.Cancel}, fmt.Errorf("waiting for an answer: %w", err)
		}
		call := state.Call(s.a.Place)
		if asked == 0 {
			asked = call.Elicited
		}
		if call.Step != planner.StepAsked || call.Elicited != asked {
			later, err := s.x.Store.Load(ctx, s.v.ID, asked)
			if err != nil {
				return form.Answer{Action: form.Cancel}, fmt.Errorf("reading an answer: %w", err)
			}
			return answerOf(q, asked, later), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return form.Answer{Action: form.Cancel}, ctx.Err()
		}
	}
}

// sample makes a model call for the server if a person allows it.
func (s *serverQuestions) sample(ctx context.Context, want tools.Sampling) (tools.Sampled, error) {
	lang := s.v.Opening().Language
	var text strings.Builder
	messages := append([]llm.Message{{Role: llm.System, Content: want.System}}, want.Messages...)
	for _, m := range messages {
		if m.Content != "" {
			fmt.Fprintf(&text, "%s: %s\n", m.Role, m.Content)
		}
	}
	// The card quotes the whole message as plain text.
	message := s.x.Texts.Text(lang, "question.sampling", map[string]any{"Server": s.server()}) + "\n\n" + strings.TrimSuffix(text.String(), "\n")
	answer, err := s.ask(ctx, form.Question{Message: message})
	if err != nil {
		return tools.Sampled{}, err
	}
	if answer.Action != form.Accept {
		return tools.Sampled{}, errRefused
	}
	request := llm.Request{Role: llm.RoleWork, MaxOutput: max(0, want.MaxTokens)}
	for _, m := range messages {
		if m.Content = planner.Plain(m.Content); m.Role != llm.System || m.Content != "" {
			request.Messages = append(request.Messages, m)
		}
	}
	if err := s.x.Pause.Wait(ctx); err != nil {
		return tools.Sampled{}, err
	}
	s.usageMu.Lock()
	s.samples++
	of := tasks.ReservationID{Action: s.a.ID, Call: fmt.Sprintf("sampling %d", s.samples)}
	s.usageMu.Unlock()
	reply, err := s.x.callForServer(ctx, s.v, of, request)
	s.usageMu.Lock()
	defer s.usageMu.Unlock()
	s.usage = s.usage.Add(reply.Usage)
	if errors.Is(err, tasks.ErrBudget) {
		return tools.Sampled{}, errNoBudget
	}
	if err != nil {
		return tools.Sampled{}, fmt.Errorf("calling a model for the server: %w", err)
	}
	return tools.Sampled{Model: reply.Model, Text: reply.Text}, nil
}
