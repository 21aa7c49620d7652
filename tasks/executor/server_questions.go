package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// maxQuestions is how often a server may ask in the course of one call.
const maxQuestions = 10

// answering brings the questions of one call's server to people. A question in
// the midst of the call keeps it waiting; after a restart, when the call is made
// again, the answers that were given then are taken for the same questions.
type answering struct {
	x    *Executor
	v    *tasks.View
	a    planner.Action
	call planner.Call

	mu    sync.Mutex
	given []given // before this run
	asked int

	paying  sync.Mutex // mu is held while a person answers
	usage   llm.Usage  // of model calls that the server asked for
	samples int
}

// given is an answered question.
type given struct {
	question form.Question
	answer   form.Answer
	live     bool
	state    json.RawMessage
}

func (x *Executor) answering(v *tasks.View, a planner.Action, call planner.Call) *answering {
	s := &answering{x: x, v: v, a: a, call: call}
	for _, e := range v.Events {
		if e.Type == planner.Asked && e.Question.Form != nil && e.Action.SameCall(a.ID) {
			q := e.Question
			s.given = append(s.given, given{*q.Form, answerOf(*q.Form, e.Seq, v.Events[e.Seq:]), q.Live, q.State})
		}
	}
	s.asked = len(s.given)
	return s
}

// answerOf gathers what was decided about the question of that seq.
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

// resume is how to go on with a call whose last result was a question; nil for
// a new call.
func (s *answering) resume() *tools.Resume {
	if len(s.given) == 0 || s.given[len(s.given)-1].live {
		return nil
	}
	last := s.given[len(s.given)-1]
	return &tools.Resume{State: last.state, Answer: last.answer}
}

// later notes a question that was the result of the call: it is made again with
// the answer.
func (s *answering) later(ctx context.Context, r tools.Result) error {
	if s.asked >= maxQuestions {
		return s.x.returned(ctx, s.v, s.a, planner.Result{Text: errAsksOn.Error(), Failed: true, Usage: s.used()})
	}
	s.settle(ctx) // the event that asks does not hold it
	return s.x.Append(ctx, s.v.ID, planner.Event{Type: planner.Asked, Action: s.a.ID, Question: &planner.Question{
		Server: s.server(), Form: r.Question, State: r.State, Expires: s.x.rules.Load().Approvals.ExpiresAt(s.x.Now()),
	}})
}

// settle counts the cost of the model calls that the server asked for, where
// no event reports it.
func (s *answering) settle(ctx context.Context) {
	if used := s.used(); used != (llm.Usage{}) {
		s.x.budget.settle(ctx, s.v.ID, tasks.ReservationID{Action: s.a.ID}, used)
	}
}

// used is what the model calls that the server asked for have cost so far.
func (s *answering) used() llm.Usage {
	s.paying.Lock()
	defer s.paying.Unlock()
	return s.usage
}

var (
	errAsksOn  = errors.New("the server keeps asking questions; the call was given up")
	errRefused = errors.New("a person declined the model call")

	errNoBudget = errors.New("the budget has no room for the model call")
)

func (s *answering) server() string {
	name, _, _ := strings.Cut(s.call.Tool, ".")
	return name
}

// ask brings a question in the midst of the call to a person and waits. One
// question is open at a time.
func (s *answering) ask(ctx context.Context, q form.Question) (form.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.given, func(g given) bool { return g.live && same(g.question, q) }); i >= 0 {
		answer := s.given[i].answer
		s.given = slices.Delete(s.given, i, i+1)
		return answer, nil
	}
	if s.asked++; s.asked > maxQuestions {
		return form.Answer{Action: form.Cancel}, errAsksOn
	}
	err := s.x.Append(ctx, s.v.ID, planner.Event{Type: planner.Asked, Action: s.a.ID, Question: &planner.Question{
		Server: s.server(), Form: &q, Live: true, Expires: s.x.rules.Load().Approvals.ExpiresAt(s.x.Now()),
	}})
	if err != nil {
		return form.Answer{Action: form.Cancel}, err
	}
	return s.await(ctx, q)
}

// same compares questions as they are stored.
func same(a, b form.Question) bool {
	one, err := json.Marshal(a)
	other, bad := json.Marshal(b)
	return err == nil && bad == nil && string(one) == string(other)
}

// await waits until the question that was just asked is decided.
func (s *answering) await(ctx context.Context, q form.Question) (form.Answer, error) {
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

// sample makes a model call for the server, when a person agrees to it.
func (s *answering) sample(ctx context.Context, want tools.Sampling) (tools.Sampled, error) {
	lang := s.v.Opening().Language
	var text strings.Builder
	for _, m := range append([]llm.Message{{Role: llm.System, Content: want.System}}, want.Messages...) {
		if m.Content != "" {
			fmt.Fprintf(&text, "%s: %s\n", m.Role, m.Content)
		}
	}
	message := s.x.Texts.Text(lang, "question.sampling", map[string]any{"Server": s.server()}) + "\n\n" + bot.Fence(bot.Visible(text.String()), "")
	answer, err := s.ask(ctx, form.Question{Message: message})
	if err != nil {
		return tools.Sampled{}, err
	}
	if answer.Action != form.Accept {
		return tools.Sampled{}, errRefused
	}
	request := llm.Request{Role: llm.RoleWork, Messages: want.Messages, MaxOutput: max(0, want.MaxTokens)}
	if want.System != "" {
		request.Messages = append([]llm.Message{{Role: llm.System, Content: want.System}}, want.Messages...)
	}
	if err := s.x.Pause.Wait(ctx); err != nil {
		return tools.Sampled{}, err
	}
	s.paying.Lock()
	s.samples++
	of := tasks.ReservationID{Action: s.a.ID, Call: fmt.Sprintf("sampling %d", s.samples)}
	s.paying.Unlock()
	reply, err := s.x.spend(ctx, s.v, of, request)
	s.paying.Lock()
	defer s.paying.Unlock()
	s.usage = s.usage.Add(reply.Usage)
	if errors.Is(err, tasks.ErrBudget) {
		return tools.Sampled{}, errNoBudget
	}
	if err != nil {
		return tools.Sampled{}, fmt.Errorf("calling a model for the server: %w", err)
	}
	return tools.Sampled{Model: reply.Model, Text: reply.Text}, nil
}
