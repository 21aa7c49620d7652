package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/harness/record"
)

// client stands for the people and programs that use legwork. The run's goroutine calls
// it; its own goroutines only report that they saw something.
type client interface {
	// scenario makes the inputs of a run.
	scenario(r *rand.Rand) []record.Input
	// config is the part of the config file for this client.
	config() string
	// started is called when a new life begins, before its first input.
	started(p *process)
	// possible reports whether an input is possible now: the message that it replies
	// to exists, and so does the button that it presses.
	possible(in record.Input) bool
	// costPending reports that a question about costs waits for an input, though that
	// was done before: a life that lost work may ask again.
	costPending(in record.Input) bool
	// do does an input, or repeats its delivery. It reports whether a later life
	// need not do it again.
	do(in record.Input) (done bool)
	// disturb makes something fail between legwork and the platform.
	disturb(r *rand.Rand)
	// finish ends a life that gets no more inputs; settled reports that
	// everything is as it has to be. It reports whether it asked the life to end.
	finish(p *process, settled func() bool) bool
	// gates are the answers that were seen so far: "answer q1".
	gates() []string
	// drain waits until what a life sent before it ended has arrived.
	drain(ctx context.Context) error
	// collect adds what was seen to the record.
	collect(r *record.Record)
	close() error
}

// reader is a client that reads the standard output of legwork.
type reader interface {
	// stdout takes an event that legwork printed.
	stdout(e record.Event)
}

// openClient starts a client. It calls seen, from any goroutine, whenever something
// new is to be seen.
func (s *session) openClient(ctx context.Context, seen func()) (client, error) {
	switch s.order.Client {
	case "", record.Terminal:
		return &terminalClient{s: s, buttons: map[string][]record.Button{}}, nil
	case record.Telegram:
		return newTelegramClient(ctx, s, seen)
	case record.Slack:
		return newSlackClient(ctx, s, seen)
	case record.API:
		return newAPIClient(ctx, s, seen)
	case record.Web:
		return newWebClient(ctx, s, seen)
	}
	return nil, fmt.Errorf("there is no client %q; there are %v", s.order.Client, record.Clients())
}

// chats is the common part of Telegram and Slack: messages that stay, and
// people who look at them. watch keeps it up to date.
type chats struct {
	s    *session
	seen func()

	watching sync.WaitGroup
	stop     context.CancelFunc

	mu    sync.Mutex // guards the fields below
	posts map[string]record.Post
	order []string          // keys of posts, oldest first
	asked map[string]string // inputs by the platform's name of their message

	people  map[string][]string // by room
	done    map[string]bool     // of the run's goroutine, as the rest
	pressed map[string]bool     // in this life
}

func newChats(s *session, seen func()) *chats {
	return &chats{s: s, seen: seen, posts: map[string]record.Post{}, asked: map[string]string{}, done: map[string]bool{}, pressed: map[string]bool{}}
}

// watch notes what changes until the client is closed. wait returns when look
// does or ctx ends.
func (c *chats) watch(ctx context.Context, wait func(ctx context.Context, look func(now []record.Post))) {
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.watching.Go(func() { wait(ctx, c.look) })
}

// unwatch ends watch.
func (c *chats) unwatch() {
	c.stop()
	c.watching.Wait()
}

// look takes all posts as they stand now.
func (c *chats) look(now []record.Post) {
	if c.note(now, time.Now()) {
		c.seen()
	}
}

func (c *chats) note(now []record.Post, at time.Time) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stand := map[string]bool{}
	for _, p := range now {
		key := p.Chat + " " + p.ID
		stand[key] = true
		old, known := c.posts[key]
		p.Posted, p.At, p.Card, p.Asked = old.Posted, old.At, old.Card, old.Asked
		if p.Card == "" && record.IsCard(p.Buttons) {
			p.Card, p.Asked = p.Text, p.Buttons
		}
		if len(p.Data) == 0 {
			p.Data = old.Data
		}
		if !known {
			c.order = append(c.order, key)
			p.Posted = at
		}
		changed := !known || p.Text != old.Text
		if changed {
			p.At = at
		}
		news = news || changed || p.Live != old.Live || !slices.Equal(p.Buttons, old.Buttons)
		c.posts[key] = p
	}
	c.order = slices.DeleteFunc(c.order, func(key string) bool {
		gone := !stand[key]
		if gone {
			delete(c.posts, key)
			news = true
		}
		return gone
	})
	return news
}

// list returns the posts as they were seen last.
func (c *chats) list() []record.Post {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]record.Post, 0, len(c.order))
	for _, key := range c.order {
		p := c.posts[key]
		p.To = c.asked[p.To]
		all = append(all, p)
	}
	return all
}

// outcome returns the post that answers a question and is complete.
func (c *chats) outcome(in record.Input) (record.Post, bool) {
	for _, p := range c.list() {
		if !p.Live && record.Answers(p, in, c.s.record.Inputs) && (record.Finished(in, p.Text) || record.EndedEarly(in, c.s.record.Inputs)) {
			return p, true
		}
	}
	return record.Post{}, false
}

func (c *chats) gates() []string {
	var open []string
	for _, in := range c.s.record.Inputs {
		_, ok := c.outcome(in)
		if (c.done[in.ID] || in.Fired) && (in.Question() && ok || in.Kind == record.Guidance && c.guidanceTaken(in.ID)) {
			open = append(open, "answer "+in.ID)
		}
	}
	for _, in := range c.s.record.Inputs {
		if in.Kind == record.Pause && c.saidPaused(in) {
			open = append(open, "paused "+in.ID)
		}
	}
	return open
}

// saidPaused reports whether a message says that everything is paused, or resumed.
func (c *chats) saidPaused(in record.Input) bool {
	return slices.ContainsFunc(c.list(), func(p record.Post) bool { return p.Chat == in.Chat && record.SaysPaused(p, in.Kind) })
}

// guidanceTaken reports whether an answer holds guidance.
func (c *chats) guidanceTaken(id string) bool {
	return slices.ContainsFunc(c.list(), func(p record.Post) bool {
		return !p.Live && strings.HasPrefix(p.Text, "[") && slices.Contains(strings.Fields(p.Text), id)
	})
}

// input returns the one with that id.
func (c *chats) input(id string) record.Input {
	for _, in := range c.s.record.Inputs {
		if in.ID == id {
			return in
		}
	}
	return record.Input{}
}

// answered reports whether a question has its answer.
func (c *chats) answered(id string) bool {
	_, ok := c.outcome(c.input(id))
	return ok
}

// board returns the message of the running task of a question: with Stop, and
// if none has, one that replies to the question. Where a kill left a board, it returns
// the newest: legwork does not know the other.
func (c *chats) board(id string) (record.Post, bool) {
	asked := c.input(id)
	var found, runs record.Post
	for _, p := range c.list() {
		if p.Chat != asked.Chat || p.Card != "" || p.To != "" && p.To != id || p.Live && !slices.Contains(p.Buttons, record.StopLabel) {
			continue
		}
		switch {
		case slices.Contains(p.Buttons, record.StopLabel):
			if runs.ID == "" || p.To == id {
				runs = p
			}
		case p.To == id:
			found = p
		}
	}
	if runs.ID != "" {
		return runs, true
	}
	return found, found.ID != ""
}

func (c *chats) possible(in record.Input) bool {
	switch in.Kind {
	case record.Stop:
	case record.Decide:
		return c.asks(in)
	case record.DecideCost:
		return c.costs(in)
	default:
		return true
	}
	_, ok := c.board(in.Gate)
	return ok || c.answered(in.Gate)
}

// pressStop presses Stop once in each life, until the question has its answer. push reports
// whether a press got through.
func (c *chats) pressStop(in record.Input, push func(p record.Post) bool) (done bool) {
	if c.answered(in.Gate) {
		return true
	}
	if p, ok := c.board(in.Gate); ok && !c.pressed[in.ID] && slices.Contains(p.Buttons, record.StopLabel) {
		c.pressed[in.ID] = push(p)
	}
	return false
}

// finish asks for a clean end when all is settled.
func (c *chats) finish(p *process, settled func() bool) bool {
	if !settled() {
		return false
	}
	p.terminate()
	return true
}
