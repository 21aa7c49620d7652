package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/retry"
)

// tokenHere is the Token of a delivery without a response URL: it is answered
// by an ephemeral message in its conversation.
const tokenHere = "here"

// delivery is what arrived in one envelope; ack tells Slack that it is stored.
type delivery struct {
	arrivals []arrival
	ack      func()
}

// Deliveries beyond what the queue holds are not acknowledged: Slack brings
// them again. A batch is bounded so that a full queue is acknowledged in time.
const (
	queued    = 1000
	batchSize = 64
	storeTry  = 3 // times that a batch is tried as a whole
)

// intake hands deliveries on in order of arrival, as many at once as have come
// in the meantime, and acknowledges them after they are stored.
type intake struct {
	s      *Slack
	handle func(context.Context, []bot.Message) error
	queue  chan delivery
	apart  sync.WaitGroup // deliveries that wait for a call of their own
}

func newIntake(s *Slack, handle func(context.Context, []bot.Message) error) *intake {
	return &intake{s: s, handle: handle, queue: make(chan delivery, queued)}
}

// put takes a delivery; false when there is no room.
func (in *intake) put(d delivery) bool {
	select {
	case in.queue <- d:
		return true
	default:
		return false
	}
}

func (in *intake) run(ctx context.Context) {
	defer in.apart.Wait()
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

// take prepares a batch and stores it. What needs a message of its own first
// does not hold up the rest.
func (in *intake) take(ctx context.Context, batch []delivery) {
	var now []delivery
	for _, d := range batch {
		if !rooted(d.arrivals) {
			now = append(now, d)
			continue
		}
		in.apart.Go(func() {
			in.s.prepare(ctx, d.arrivals)
			in.store(ctx, []delivery{d})
		})
	}
	if len(now) == 0 {
		return
	}
	in.s.people.meet(ctx, messages(now))
	for _, d := range now {
		in.s.prepare(ctx, d.arrivals)
	}
	in.store(ctx, now)
}

// store hands a batch on until it is stored, first as a whole, then one by one.
// What cannot be stored is not acknowledged.
func (in *intake) store(ctx context.Context, batch []delivery) {
	pause := in.s.pause.first
	for range storeTry {
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
		in.s.log.ErrorContext(ctx, "messages could not be stored", "messages", len(batch), "again", pause, "cause", err)
		if retry.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(4*pause, in.s.pause.last)
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

func rooted(arrivals []arrival) bool {
	for _, a := range arrivals {
		if a.root != "" {
			return true
		}
	}
	return false
}

// prepare finds out what the delivery itself does not tell: who the author is,
// and where a command's task will live.
func (s *Slack) prepare(ctx context.Context, arrivals []arrival) {
	for i := range arrivals {
		a := &arrivals[i]
		s.people.identify(ctx, &a.message)
		s.live.halt(a.message.Chat.ID, a.halted)
		if a.hook != "" {
			s.settle(ctx, a)
		}
		if !a.message.Overheard {
			s.askers.Add(a.message.Chat.Key(), asker{a.message.From.ID, a.message.Team})
		}
	}
}

// settle gives the task of a command a place: a message in the channel, under
// which it lives; where the bot is no member, the command's response URL.
func (s *Slack) settle(ctx context.Context, a *arrival) {
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
	if strings.HasPrefix(a.hook, "http") {
		m.ID = a.hook + hookMark + m.From.ID
	}
	if !s.admit(ctx, *m) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.pause.root)
	defer cancel()
	var ts string
	err := s.call(ctx, request{method: "chat.postMessage", channel: m.Chat.ID, urgency: bot.PriorityHigh}, func(ctx context.Context) (err error) {
		_, ts, err = s.api.PostMessageContext(ctx, m.Chat.ID, text(a.root), quiet())
		return err
	})
	if err != nil {
		if !gone(err) {
			s.log.WarnContext(ctx, "a command's task gets no message of its own", "chat", m.Chat.Key(), "cause", err)
		}
		return
	}
	m.Chat.Thread, m.ID = ts, ts
	if at := moment(ts); !at.IsZero() && at.Sub(m.At).Abs() < time.Minute {
		m.At = at
	}
	s.roots.Add(m.Key, m.Chat)
}
