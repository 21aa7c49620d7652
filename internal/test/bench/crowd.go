package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

const (
	crowd        = 50
	crowdRounds  = 8
	maxCrowd     = 5 * time.Millisecond
	maxCrowdP95  = 25 * time.Millisecond
	firstPerson  = 1000 // id
	crowdStagger = 30 * time.Millisecond
)

// measureCrowd lets 50 people talk to the bot at once, each in a private chat,
// asking again as soon as they have an answer; then 50 of them in the same
// moment. The model's time for each question is taken from its own log.
func measureCrowd(ctx context.Context, dir string) ([]figure, error) {
	h, err := newHall(ctx, dir, func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		return llmfake.Response{Text: "It is so. " + strings.Repeat("word ", 40) + "end of " + goal, First: 500 * time.Millisecond, PerToken: 20 * time.Millisecond}
	})
	if err != nil {
		return nil, err
	}
	if _, err := h.talk(ctx, "warm", 1, crowdStagger); err != nil { // opens connections
		return nil, err
	}
	steady, err := h.talk(ctx, "steady", crowdRounds, crowdStagger)
	if err != nil {
		return nil, err
	}
	burst := map[string]time.Duration{}
	for n := range crowdRounds {
		took, err := h.talk(ctx, fmt.Sprint("burst", n), 1, 0)
		if err != nil {
			return nil, err
		}
		for goal, d := range took {
			burst[goal] = d
		}
	}
	if err := h.close(); err != nil {
		return nil, err
	}
	model, err := modelTimes(filepath.Join(dir, "model.jsonl"))
	if err != nil {
		return nil, err
	}
	beyond, together := added(steady, model), added(burst, model)
	return []figure{
		within(fmt.Sprintf("%d chats at once: added to an answer", crowd), median(beyond), maxCrowd, ""),
		within("the same, 95th percentile", percentile(beyond, 0.95), maxCrowdP95, ""),
		{name: "all in the same moment: added to an answer", measured: short(median(together))},
	}, nil
}

// talk lets each of the crowd ask so many questions, one after the other. The
// first ones of two people are that far apart. It returns by question how long
// it took until its answer reached the platform.
func (h *hall) talk(ctx context.Context, name string, rounds int, apart time.Duration) (map[string]time.Duration, error) {
	said, took := map[string]time.Time{}, map[string]time.Duration{}
	asked := map[int64]int{}
	ask := func(id int64) string {
		goal := fmt.Sprintf("%s %d.%d", name, id, asked[id])
		asked[id]++
		said[goal] = time.Now()
		h.telegram.Say(id, h.person(id), goal)
		return goal
	}
	for i := range crowd {
		ask(int64(firstPerson + i))
		<-time.After(apart) // people do not all write at once
	}
	for len(took) < crowd*rounds {
		var done telegramfake.Entry
		err := h.until(ctx, "an answer", func(e telegramfake.Entry) bool {
			done = e
			return isAnswer(e, "end of "+name)
		})
		if err != nil {
			return nil, err
		}
		_, goal, _ := strings.Cut(done.Params["text"], "end of ")
		took[goal] = done.At.Sub(said[goal])
		if asked[done.Chat] < rounds {
			ask(done.Chat)
		}
	}
	return took, nil
}

// modelTimes reads how long the fake model took, by question.
func modelTimes(path string) (map[string]time.Duration, error) {
	log, err := llmfake.ReadLog(path)
	if err != nil {
		return nil, err
	}
	goals, began, took := map[int]string{}, map[int]time.Time{}, map[string]time.Duration{}
	for _, e := range log {
		switch e.Event {
		case llmfake.EventRequest:
			goals[e.Seq], _ = e.Request.Tagged("goal")
			began[e.Seq] = e.At
		case llmfake.EventReply:
			took[goals[e.Seq]] = e.At.Sub(began[e.Seq])
		}
	}
	return took, nil
}

// added is what the questions took beyond the model.
func added(took, model map[string]time.Duration) []time.Duration {
	var list []time.Duration
	for goal, d := range took {
		list = append(list, d-model[goal])
	}
	return list
}
