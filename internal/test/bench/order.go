package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

const (
	orderChats    = 1000
	orderMessages = 20              // in each chat, half of them while one chat is slow
	slowness      = 2 * time.Second // of each request of the slow chat
	maxDelay      = 1.10            // of the others' 99th percentile
	slowPerson    = int64(firstPerson)
)

// measureOrder lets 1,000 people send 20 messages each, in 20 rounds. In every
// second round the platform takes its time for the first one's chat.
func measureOrder(ctx context.Context, dir string) ([]figure, error) {
	h, err := newChatEnv(ctx, dir, func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		return llmfake.Say("end of " + goal)
	})
	if err != nil {
		return nil, err
	}
	c := &chatGroup{chatEnv: h, next: map[int64]int{}}
	var calm, slow []time.Duration
	for n := range orderMessages {
		late := n%2 == 1
		took, err := c.round(ctx, n, late)
		if err != nil {
			return nil, err
		}
		if late {
			slow = append(slow, percentile(took, 0.99))
		} else if n > 0 { // the first one makes the chats
			calm = append(calm, percentile(took, 0.99))
		}
	}
	if err := c.finish(ctx); err != nil {
		return nil, err
	}
	if err := h.close(); err != nil {
		return nil, err
	}
	bare, got := median(calm), median(slow)
	return []figure{
		{
			name: fmt.Sprintf("%d chats x %d messages: answers out of order", orderChats, orderMessages), measured: fmt.Sprint(c.astray), limit: "0",
			ok: c.astray == 0,
		},
		{
			name: "their 99th percentile beside a slow chat", measured: short(got), limit: short(time.Duration(maxDelay*float64(bare))) + " (+10 %)",
			machine: short(bare) + " without it", ok: float64(got) <= maxDelay*float64(bare),
		},
	}, nil
}

// chatGroup is many people who speak in rounds.
type chatGroup struct {
	*chatEnv
	next   map[int64]int // which answer each chat must get next
	astray int           // answers that came out of order
}

// round lets everybody say one thing and waits until all have their answers,
// but for the slow chat. It returns how long the others waited.
func (c *chatGroup) round(ctx context.Context, n int, late bool) ([]time.Duration, error) {
	c.telegram.Heal()
	if late {
		c.telegram.Fail(telegramfake.Fault{Kind: telegramfake.FaultDelay, Chat: slowPerson, Delay: slowness, Count: telegramfake.Forever})
	}
	said := map[int64]time.Time{}
	for i := range int64(orderChats) {
		id := firstPerson + i
		said[id] = time.Now()
		c.telegram.Say(id, c.person(id), fmt.Sprintf("/task question %d", n))
	}
	var took []time.Duration
	err := c.until(ctx, "the answers of a round", func(e telegramfake.Entry) bool {
		if c.note(e) && e.Chat != slowPerson {
			took = append(took, e.At.Sub(said[e.Chat]))
		}
		return len(took) == orderChats-1
	})
	return took, err
}

// note checks the order when a request brings an answer.
func (c *chatGroup) note(e telegramfake.Entry) bool {
	if !isAnswer(e, "end of ") {
		return false
	}
	n, err := strconv.Atoi(e.Params["text"][strings.LastIndex(e.Params["text"], " ")+1:])
	if err != nil || n != c.next[e.Chat] {
		c.astray++
	}
	c.next[e.Chat] = n + 1
	return true
}

// finish waits for what the slow chat still gets.
func (c *chatGroup) finish(ctx context.Context) error {
	for c.telegram.Heal(); c.next[slowPerson] < orderMessages; {
		if err := c.until(ctx, "the slow chat's answers", c.note); err != nil {
			return err
		}
	}
	for i := range int64(orderChats) {
		if got := c.next[firstPerson+i]; got != orderMessages {
			return fmt.Errorf("a chat got %d answers of %d", got, orderMessages)
		}
	}
	return nil
}
