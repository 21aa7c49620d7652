package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

const (
	manyChats       = 50
	chatRounds      = 8
	maxChatDelay    = 5 * time.Millisecond
	maxChatDelayP95 = 25 * time.Millisecond
	firstPerson     = 1000 // id
	chatStagger     = 30 * time.Millisecond
)

// measureManyChats lets 50 people talk to the bot at once, each in a private chat,
// asking again as soon as they have an answer; then 50 of them in the same
// moment. The model's time for each question is taken from its own log.
func measureManyChats(ctx context.Context, dir string) ([]figure, error) {
	h, err := newChatEnv(ctx, dir, func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		return llmfake.Response{Text: "It is so. " + strings.Repeat("word ", 40) + "end of " + goal, First: 500 * time.Millisecond, PerToken: 20 * time.Millisecond}
	})
	if err != nil {
		return nil, err
	}
	if _, err := h.talk(ctx, "warm", 1, chatStagger); err != nil { // opens connections
		return nil, err
	}
	steady, err := h.talk(ctx, "steady", chatRounds, chatStagger)
	if err != nil {
		return nil, err
	}
	burst := map[string]time.Duration{}
	for n := range chatRounds {
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
		within(fmt.Sprintf("%d chats at once: added to an answer", manyChats), median(beyond), maxChatDelay, ""),
		within("the same, 95th percentile", percentile(beyond, 0.95), maxChatDelayP95, ""),
		{name: "all in the same moment: added to an answer", measured: short(median(together))},
	}, nil
}

// talk lets each of the crowd ask so many questions, one after the other. The
// first ones of two people are that far apart. It returns by question how long
// it took until its answer reached the platform.
func (h *chatEnv) talk(ctx context.Context, name string, rounds int, apart time.Duration) (map[string]time.Duration, error) {
	said, took := map[string]time.Time{}, map[string]time.Duration{}
	asked := map[int64]int{}
	ask := func(id int64) string {
		goal := fmt.Sprintf("%s %d.%d", name, id, asked[id])
		asked[id]++
		said[goal] = time.Now()
		h.telegram.Say(id, h.person(id), goal)
		return goal
	}
	for i := range manyChats {
		ask(int64(firstPerson + i))
		<-time.After(apart) // people do not all write at once
	}
	for len(took) < manyChats*rounds {
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

const (
	burstSize  = 10_000
	burstDelay = 20 * time.Millisecond // of the model
	burstLimit = 2 * time.Minute       // until everybody has heard something
	burstCalm  = 6 * time.Second       // without a message: nothing more comes
	maxBurst   = 64 << 10              // KiB more than idle
	stopButton = "Stop"                // under the board of a task that runs or waits
)

// bursts are the senders of the burst. What one person writes within a second
// belongs together; with command it is a question of its own.
var bursts = []struct {
	people  int
	command string
}{{burstSize, ""}, {100, "/task "}, {1, "/task "}, {1, ""}}

// measureBurst sends 10,000 messages in the same moment to a daemon with
// nothing to do. Each must be answered, or its chat told what became of it.
func measureBurst(ctx context.Context, dir string) ([]figure, error) {
	var figures []figure
	for n, c := range bursts {
		place := filepath.Join(dir, strconv.Itoa(n))
		if err := os.Mkdir(place, 0o700); err != nil {
			return nil, err
		}
		h, err := newDaemonEnvOf(ctx, place, "", func(r llmfake.Request) llmfake.Response {
			goal, _ := r.Tagged("goal")
			return llmfake.Response{Text: "end of " + goal, First: burstDelay}
		})
		if err != nil {
			return nil, err
		}
		got, err := h.burst(ctx, c.people, c.command)
		if err := errors.Join(err, h.close()); err != nil {
			return nil, err
		}
		figures = append(figures, got.figures(c.people, c.command)...)
	}
	return figures, nil
}

// burstResult is what came of a burst.
type burstResult struct {
	idle, peak int // anonymous memory in KiB
	took       time.Duration
	answered   int
	told       int // messages without an answer whose chat was told so
	disordered int // answers that came before one to an earlier question of their chat
}

func (o burstResult) figures(people int, command string) []figure {
	name := fmt.Sprintf("burst of %d messages %sin %d chats", burstSize, command, people)
	return []figure{
		memory(name+": anonymous memory at its peak", o.peak, maxServeAnonymous+maxBurst, mib(o.idle)+" before"),
		{
			name: "the same: answered or told", measured: fmt.Sprint(o.answered + o.told), limit: fmt.Sprint(burstSize),
			machine: fmt.Sprintf("%d answered in %s", o.answered, short(o.took)), ok: o.answered+o.told == burstSize,
		},
		{name: "the same: answers out of order", measured: fmt.Sprint(o.disordered), limit: "0", ok: o.disordered == 0},
	}
}

// burst starts a daemon and lets so many people say everything at once.
func (h *daemonEnv) burst(ctx context.Context, people int, command string) (o burstResult, err error) {
	d, err := h.start(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if o.idle, err = settled(ctx, d.Process.Pid); err != nil {
		return o, err
	}
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { o.peak = peakMemory(d.Process.Pid, ended) })
	defer watching.Wait()
	defer close(ended)
	each := burstSize / people
	seen := len(h.telegram.Log())
	for i := range int64(people) {
		who := h.telegram.User(firstPerson+i, fmt.Sprint("P", firstPerson+i), "en")
		for n := range each {
			h.telegram.Say(who.ID, who, fmt.Sprintf("%s%d.%d", command, who.ID, n))
		}
	}
	h.hear(ctx, &o, seen, each)
	return o, nil
}

// hear waits until everybody is answered or told, or nothing more comes.
func (h *daemonEnv) hear(ctx context.Context, o *burstResult, seen, each int) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, burstLimit)
	defer cancel()
	last, answers, told := map[int64]int{}, map[int64]int{}, map[int64]bool{}
	for o.answered < burstSize {
		calm, stop := context.WithTimeout(ctx, burstCalm)
		err := h.telegram.WaitFor(calm, func(v telegramfake.View) bool {
			before := seen
			for _, e := range v.Log()[seen:] {
				seen++
				if !e.Done || e.Method != "sendMessage" && e.Method != "editMessageText" {
					continue
				}
				n, answer := answerNumber(e.Params["text"])
				switch {
				case !answer && strings.Contains(e.Params["reply_markup"], stopButton):
				case !answer:
					told[e.Chat] = true
				case answers[e.Chat] > 0 && n <= last[e.Chat]:
					o.disordered++
					fallthrough
				default:
					o.answered++
					answers[e.Chat]++
					last[e.Chat], o.took = n, time.Since(began)
				}
			}
			return seen > before
		})
		stop()
		if ctx.Err() != nil || err != nil && h.telegram.Pending() == 0 {
			break
		}
	}
	for chat := range told {
		o.told += each - answers[chat]
	}
}

// answerNumber reads the number of the question that an answer is for.
func answerNumber(text string) (n int, ok bool) {
	_, goal, ok := strings.Cut(text, "end of ")
	if !ok {
		return 0, false
	}
	_, number, _ := strings.Cut(strings.TrimSpace(goal), ".")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	return n, err == nil
}
