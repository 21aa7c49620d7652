package slack

import (
	"context"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/retry"
)

// ephemeralToken is the Token of a delivery without a response URL: the answer is
// an ephemeral message in its conversation.
const ephemeralToken = "here"

// delivery is what arrived in one envelope or request; ack tells Slack that it is
// stored.
type delivery struct {
	arrivals []inbound
	kind     string // one of kindEvent, kindCommand and kindInteraction
	ack      func()
}

// lane names the queue in which a delivery keeps its place: that of its
// conversation. A command that gets a message of its own waits for no other.
func (d delivery) lane() string {
	first := d.arrivals[0].message
	if needsRoot(d.arrivals) {
		return first.Key
	}
	return first.Chat.Key()
}

// repeats reports whether Slack delivers again when it gets no acknowledgement.
func (d delivery) repeats() bool { return d.kind == kindEvent }

// When a queue is full, deliveries are not acknowledged, and Slack delivers
// them again. Batches are limited so that a full queue is acknowledged in time.
const (
	queueSize  = 1000
	batchSize  = 64
	storeTries = 3 // times that a batch is tried as a whole
)

// intake hands deliveries on in order of arrival, in batches of those that wait,
// and acknowledges them after they are stored. A delivery that waits for its
// author's name, or for a message of its own, holds up its conversation alone.
type intake struct {
	s      *Slack
	handle func(context.Context, []bot.Message) error
	queue  chan delivery // of Socket Mode

	mu      sync.Mutex
	stopped bool
	waiting int // deliveries that were taken out of the order of arrival
	running sync.WaitGroup
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

// start runs do in a goroutine; false when too many run or the intake has stopped.
func (in *intake) start(do func()) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped || in.waiting >= queueSize {
		return false
	}
	in.waiting++
	in.running.Go(func() {
		do()
		in.mu.Lock()
		defer in.mu.Unlock()
		in.waiting--
	})
	return true
}

// stop waits for what start has started. It is called when their context has ended.
func (in *intake) stop() {
	in.mu.Lock()
	in.stopped = true
	in.mu.Unlock()
	in.running.Wait()
}

func (in *intake) run(ctx context.Context) {
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

// take prepares a batch and stores it. Deliveries that have to wait do so in the
// queues of their conversations.
func (in *intake) take(ctx context.Context, batch []delivery) {
	var now []delivery
	for _, d := range batch {
		if !needsRoot(d.arrivals) && !needsThread(d.arrivals) && in.s.lanes.Len(d.lane()) == 0 && in.knows(d.arrivals) {
			now = append(now, d)
			continue
		}
		turn, leave := in.s.lanes.Join(d.lane())
		if !in.start(func() { in.takeLate(ctx, d, turn, leave) }) {
			leave()
			in.s.log.WarnContext(ctx, "slack: queue full, the delivery will come again", "type", d.kind)
		}
	}
	if len(now) == 0 {
		return
	}
	for _, d := range now {
		in.prepare(ctx, d.arrivals)
	}
	in.store(ctx, now)
}

// takeLate stores a delivery when its turn has come and its author is known. Slack
// does not repeat commands and presses, and shows people an error when they are not
// acknowledged in time, so legwork acknowledges them before they are stored.
func (in *intake) takeLate(ctx context.Context, d delivery, turn <-chan struct{}, leave func()) {
	defer leave()
	d.ack = sync.OnceFunc(d.ack)
	if !d.repeats() {
		defer time.AfterFunc(in.s.timings.acknowledge, d.ack).Stop()
	}
	if in.await(ctx, turn, d.arrivals) == nil {
		in.store(ctx, []delivery{d})
	}
}

// await waits for a delivery's turn, until its author is known, and prepares it.
func (in *intake) await(ctx context.Context, turn <-chan struct{}, arrivals []inbound) error {
	select {
	case <-turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	for i := range arrivals {
		m := &arrivals[i].message
		for pauses := in.s.timings.retries(); ; {
			err := in.s.people.identify(ctx, m)
			if err == nil {
				break
			}
			limit, _ := retryAfter(err)
			pause := max(pauses.Next(), limit)
			in.s.log.WarnContext(ctx, "slack: message waits, its author is not known yet", "person", m.From.Key(), "again", pause, "cause", err)
			if err := retry.Sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
	in.prepare(ctx, arrivals)
	return nil
}

// store hands a batch on until it is stored, first as a whole, then one by one.
// Deliveries that cannot be stored are not acknowledged.
func (in *intake) store(ctx context.Context, batch []delivery) {
	pauses := in.s.timings.retries()
	for range storeTries {
		err := in.handle(ctx, messages(batch))
		if err == nil {
			for _, d := range batch {
				in.stored(ctx, d)
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
			in.stored(ctx, d)
		}
	}
}

// stored acknowledges a delivery, and notes how far it has read its thread.
func (in *intake) stored(ctx context.Context, d delivery) {
	d.ack()
	for _, a := range d.arrivals {
		if a.threadRead {
			in.s.threads.setLastRead(context.WithoutCancel(ctx), a.message.Chat, a.message.ID)
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

func needsThread(arrivals []inbound) bool {
	return slices.ContainsFunc(arrivals, func(a inbound) bool { return joinsThread(a.message) || a.shortcut })
}

// knows reports whether the authors are known, so that no delivery has to wait.
func (in *intake) knows(arrivals []inbound) bool {
	return !slices.ContainsFunc(arrivals, func(a inbound) bool { return !in.s.people.fresh(a.message.From.ID) })
}

// prepare fills in what the delivery itself does not say: the author, who was looked
// up before, the place of a command's task, and what stood in a thread.
func (in *intake) prepare(ctx context.Context, arrivals []inbound) {
	for i := range arrivals {
		a := &arrivals[i]
		in.s.people.fill(&a.message)
		in.s.people.remember(ctx, a.message)
		in.s.active.forget(a.message.Chat.ID, a.endedStreams...)
		switch {
		case a.shortcut:
			in.s.places.ofShortcut(ctx, a)
		case a.responseURL != "":
			in.s.places.ofCommand(ctx, a)
		}
		ownRoot := a.root != "" && a.message.Chat.Thread != "" // it repeats the question
		a.threadRead = in.s.threads.add(ctx, &a.message) || ownRoot
		if !a.message.Overheard {
			in.s.lastAskers.Add(a.message.Chat.Key(), asker{a.message.From.ID, a.message.Team})
		}
	}
}
