package slack

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/retry"
)

// ephemeralToken is the Token of a delivery without a response URL: the answer is
// an ephemeral message in its conversation.
const ephemeralToken = "here"

// delivery is what arrived in one envelope; ack tells Slack that it is stored.
type delivery struct {
	arrivals []inbound
	ack      func()
}

// When the queue is full, deliveries are not acknowledged, and Slack delivers
// them again. Batches are limited so that a full queue is acknowledged in time.
const (
	queueSize  = 1000
	batchSize  = 64
	storeTries = 3 // times that a batch is tried as a whole
)

// intake hands deliveries on in order of arrival, in batches of those that wait,
// and acknowledges them after they are stored.
type intake struct {
	s        *Slack
	handle   func(context.Context, []bot.Message) error
	queue    chan delivery
	separate sync.WaitGroup // deliveries that first need a message of their own
}

func newIntake(s *Slack, handle func(context.Context, []bot.Message) error) *intake {
	return &intake{s: s, handle: handle, queue: make(chan delivery, queueSize)}
}

// enqueue adds a delivery; false when the queue is full.
func (in *intake) enqueue(d delivery) bool {
	select {
	case in.queue <- d:
		return true
	default:
		return false
	}
}

func (in *intake) run(ctx context.Context) {
	defer in.separate.Wait()
	for {
		var batch []delivery
		select {
		case <-ctx.Done():
			return
		case d := <-in.queue:
			batch = append(batch, d)
		}
		for more := true; more && len(batch) < batchSize; {
			select {
			case d := <-in.queue:
				batch = append(batch, d)
			default:
				more = false
			}
		}
		in.take(ctx, batch)
	}
}

// take prepares a batch and stores it. Deliveries that first need a message of
// their own do not hold up the others.
func (in *intake) take(ctx context.Context, batch []delivery) {
	var now []delivery
	for _, d := range batch {
		if !needsRoot(d.arrivals) {
			now = append(now, d)
			continue
		}
		in.separate.Go(func() {
			in.s.prepare(ctx, d.arrivals)
			in.store(ctx, []delivery{d})
		})
	}
	if len(now) == 0 {
		return
	}
	in.s.people.lookUpAll(ctx, messages(now))
	for _, d := range now {
		in.s.prepare(ctx, d.arrivals)
	}
	in.store(ctx, now)
}

// store hands a batch on until it is stored, first as a whole, then one by one.
// Deliveries that cannot be stored are not acknowledged.
func (in *intake) store(ctx context.Context, batch []delivery) {
	pauses := in.s.timings.retries()
	for range storeTries {
		err := in.handle(ctx, messages(batch))
		if err == nil {
			for _, d := range batch {
				d.ack()
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		pause := pauses.Next()
		in.s.log.ErrorContext(ctx, "slack: messages not stored", "messages", len(batch), "again", pause, "cause", err)
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
	if len(batch) == 1 {
		return
	}
	for _, d := range batch {
		if err := in.handle(ctx, messages([]delivery{d})); err == nil {
			d.ack()
		}
	}
}

func messages(batch []delivery) []bot.Message {
	var all []bot.Message
	for _, d := range batch {
		for _, a := range d.arrivals {
			all = append(all, a.message)
		}
	}
	return all
}

func needsRoot(arrivals []inbound) bool {
	return slices.ContainsFunc(arrivals, func(a inbound) bool { return a.root != "" })
}

// prepare looks up what the delivery itself does not say: the author, and the
// place of a command's task.
func (s *Slack) prepare(ctx context.Context, arrivals []inbound) {
	for i := range arrivals {
		a := &arrivals[i]
		s.people.identify(ctx, &a.message)
		s.active.forget(a.message.Chat.ID, a.endedStreams...)
		if a.responseURL != "" {
			s.createRoot(ctx, a)
		}
		if !a.message.Overheard {
			s.lastAskers.Add(a.message.Chat.Key(), asker{a.message.From.ID, a.message.Team})
		}
	}
}

// createRoot posts the message under which the task of a command lives. Where the
// bot is not a member, the task uses the command's response URL instead.
func (s *Slack) createRoot(ctx context.Context, a *inbound) {
	m := &a.message
	if m.At.IsZero() {
		m.At = s.now()
	}
	if a.root == "" {
		return
	}
	if chat, ok := s.roots.Get(m.Key); ok {
		m.Chat, m.ID = chat, chat.Thread
		return
	}
	if strings.HasPrefix(a.responseURL, "http") {
		m.ID = a.responseURL + personMark + m.From.ID
	}
	if !s.admit(ctx, *m) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.timings.root)
	defer cancel()
	var ts string
	err := s.call(ctx, request{method: "chat.postMessage", channel: m.Chat.ID, urgency: bot.PriorityHigh}, func(ctx context.Context) (err error) {
		_, ts, err = s.api.PostMessageContext(ctx, m.Chat.ID, text(a.root), quiet())
		return err
	})
	if err != nil {
		if !gone(err) {
			s.log.WarnContext(ctx, "slack: message for a command not posted", "chat", m.Chat.Key(), "cause", err)
		}
		return
	}
	m.Chat.Thread, m.ID = ts, ts
	if at := timeOf(ts); !at.IsZero() && at.Sub(m.At).Abs() < time.Minute {
		m.At = at
	}
	s.roots.Add(m.Key, m.Chat)
}
