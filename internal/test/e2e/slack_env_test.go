package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
)

// Words that must not be seen anywhere of Slack.
var slackSecrets = []string{"xoxb-1-2-secret-bot-e2e", "xapp-1-A1-2-secret-app-e2e", "signing-secret-of-slack-e2e"}

// Where people meet in the fake's workspace.
const (
	general  = "C1"
	random   = "C2" // legwork is not in it
	partners = "C4" // shared with Eve's organisation
	board    = "C5" // private
	annDM    = "DU1"
	benDM    = "DU2"
	gusDM    = "DU3" // of a guest
	eveDM    = "DU4" // of another organisation
	ann      = "U1"
	ben      = "U2"
	gus      = "U3"
	eve      = "U4"
	bots     = "<@" + slackfake.BotUser + "> " // begins a message to legwork in a channel
)

// seconds are Slack's retries in a hurry.
var seconds = []time.Duration{0, time.Second, time.Second, time.Second, time.Second, time.Second}

// slackEnv is an environment in which people talk to legwork serve in a fake Slack. Ann
// is an admin, Ben is listed by the config, unless it says otherwise.
type slackEnv struct {
	*env
	*slackfake.Server
	front *webhookProxy // nil: Socket Mode
}

// slackOptions says what is special about a test.
type slackOptions struct {
	options
	fake   slackfake.Options
	access string        // the config's; empty: Ann and Ben
	slack  string        // further keys of slack, each after a comma
	http   bool          // deliveries over HTTP
	haste  int           // how many times faster Slack's time goes; 0: as usual
	second time.Duration // of Slack; 0: by haste
	held   *gate         // the model; nil: that of the plot
}

func newSlackEnv(t *testing.T, r slackOptions) *slackEnv {
	t.Helper()
	o := &slackEnv{}
	r.fake.BotToken, r.fake.AppToken, r.fake.SigningSecret = slackSecrets[0], slackSecrets[1], slackSecrets[2]
	r.fake.AgentView = true
	if r.fake.Retries == nil {
		r.fake.Retries = seconds
	}
	if r.haste > 0 {
		r.fake.Retries = slices.Repeat([]time.Duration{time.Minute}, 20)
		r.fake.Second = cmp.Or(r.second, time.Second/time.Duration(r.haste))
	}
	if r.held != nil {
		r.think, r.wait, r.limit = r.held.think, time.Minute, time.Minute
	}
	if r.access == "" {
		r.access = `{slack: {users: ["U2"]}, admins: ["slack:U1"]}`
	}
	if r.http {
		o.front = newWebhookProxy(t)
		r.fake.App = o.front.URL
		r.slack += ", mode: http"
	}
	o.Server = slackfake.New(t, r.fake)
	r.more += fmt.Sprintf("slack: {bot_token: %q, app_token: %q, signing_secret: %q, api_url: %q%s}\naccess: %s\nhttp: {listen: \"127.0.0.1:0\"}\nlog: {level: debug}\n",
		slackSecrets[0], slackSecrets[1], slackSecrets[2], o.APIURL, r.slack, r.access)
	o.env = newEnv(t, r.options)
	o.haste = r.haste
	if r.held != nil {
		t.Cleanup(r.held.opensAll) // before the model is closed
	}
	t.Cleanup(func() {
		if t.Failed() {
			o.draw()
		}
	})
	return o
}

// draw logs what was seen in all channels.
func (o *slackEnv) draw() {
	for _, id := range []string{general, random, partners, board, annDM, benDM, gusDM, eveDM} {
		if text := o.Transcript(id); strings.Count(text, "\n") > 1 {
			o.t.Logf("channel %s:\n%.6000s", id, text)
		}
	}
}

// opens starts legwork and waits until it receives.
func (o *slackEnv) opens() *serving {
	o.t.Helper()
	s := o.serve(slackSecrets...)
	if o.front != nil {
		o.front.leads(s.address)
	}
	s.readyAgain(patience)
	return s
}

// until waits until something is to be seen.
func (o *slackEnv) until(what string, holds func() bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	if err := o.WaitFor(ctx, what, holds); err != nil {
		o.t.Fatalf("%s: not seen in %v", what, patience)
	}
}

// place is where messages are looked for: a channel with all its threads, or
// one thread.
type place struct{ channel, thread string }

func in(channel string) place { return place{channel: channel} }

func under(channel, thread string) place { return place{channel, thread} }

// said are legwork's messages in a place, in order.
func (o *slackEnv) said(p place) []slackfake.Message {
	return slices.DeleteFunc(o.Posted(p.channel), func(m slackfake.Message) bool { return p.thread != "" && m.Thread != p.thread })
}

// meets waits until a message of legwork fits, and returns the first that does.
func (o *slackEnv) meets(p place, what string, fits func(slackfake.Message) bool) (found slackfake.Message) {
	o.t.Helper()
	o.until(fmt.Sprintf("%s in %v", what, p), func() bool {
		said := o.said(p)
		i := slices.IndexFunc(said, fits)
		if i >= 0 {
			found = said[i]
		}
		return i >= 0
	})
	return found
}

// sees waits until a message of legwork holds all words.
func (o *slackEnv) sees(p place, words ...string) slackfake.Message {
	o.t.Helper()
	return o.meets(p, fmt.Sprintf("a message with %q", words), func(m slackfake.Message) bool { return holdsAll(o.Shown(m), words) })
}

// offers waits until a message of legwork that holds all words has a button.
func (o *slackEnv) offers(p place, button string, words ...string) slackfake.Message {
	o.t.Helper()
	return o.meets(p, fmt.Sprintf("a message with %q and the button %s", words, button), func(m slackfake.Message) bool {
		return holdsAll(o.Shown(m), words) && slices.Contains(m.Buttons(), button)
	})
}

// answers waits until a message that is complete holds all words.
func (o *slackEnv) answers(p place, words ...string) slackfake.Message {
	o.t.Helper()
	return o.meets(p, fmt.Sprintf("a complete message with %q", words), func(m slackfake.Message) bool {
		return m.Stream == nil && holdsAll(o.Shown(m), words)
	})
}

// count is how many messages of legwork in a place hold all words.
func (o *slackEnv) count(p place, words ...string) int {
	n := 0
	for _, m := range o.said(p) {
		if holdsAll(o.Shown(m), words) {
			n++
		}
	}
	return n
}

// once checks that exactly one message of legwork in a place holds all words,
// and waits for the first and for all that was under way.
func (o *slackEnv) once(p place, words ...string) slackfake.Message {
	o.t.Helper()
	m := o.answers(p, words...)
	o.passes()
	if n := o.count(p, words...); n != 1 {
		o.t.Errorf("%d messages in %v hold %q, want one", n, p, words)
	}
	return m
}

// taps presses a button.
func (o *slackEnv) taps(m slackfake.Message, button, user string) {
	o.t.Helper()
	if _, err := o.Press(m.Channel, m.TS, button, user); err != nil {
		o.t.Fatal(err)
	}
}

// slash uses a slash command.
func (o *slackEnv) slash(command, text, channel, user string) {
	o.t.Helper()
	if _, err := o.Slash(command, text, channel, user); err != nil {
		o.t.Fatal(err)
	}
}

// passes waits until everything that was sent so far has been taken: Ann asks
// for her status, which is answered after all that came before.
func (o *slackEnv) passes() {
	o.t.Helper()
	for range 2 {
		o.until("all that was delivered", o.Settled)
		newest := func() string {
			posted := o.Posted(annDM)
			if len(posted) == 0 {
				return ""
			}
			return posted[len(posted)-1].TS
		}
		before := newest()
		o.slash("/legwork", "status", annDM, ann)
		o.until("the status", func() bool { return newest() > before })
	}
}

// silent checks that legwork has written nothing in a place.
func (o *slackEnv) silent(p place) {
	o.t.Helper()
	o.passes()
	if said := o.said(p); len(said) > 0 {
		o.t.Errorf("legwork wrote %d messages in %v, the first is %q; want silence", len(said), p, o.Shown(said[0]))
	}
}

// goesOn checks that a person still gets an answer in their direct messages,
// once.
func (o *slackEnv) goesOn(user string) {
	o.t.Helper()
	dm := "D" + user
	goal := fmt.Sprintf("later%d: say hello", len(o.Messages(dm)))
	o.Say(dm, user, goal, "")
	o.answers(in(dm), "answers: "+goal)
	o.until("all that was delivered", o.Settled)
	// Where a stream could not be finished in time, the answer is a message of its own, and
	// the stream is deleted after it.
	o.until("one message with the answer to "+goal, func() bool { return o.count(in(dm), "answers: "+goal) == 1 })
}

// asks mentions legwork in a channel; the answer comes under the message.
func (o *slackEnv) asks(channel, user, text string) place {
	return under(channel, o.Say(channel, user, bots+text, ""))
}

// gate is a model that thinks of a sub-task whose description holds a word
// until it is opened.
type gate struct {
	t       *testing.T
	word    string
	next    *gate // of another word; nil: there is none
	open    chan struct{}
	once    sync.Once
	mu      sync.Mutex
	arrived chan struct{} // closed and replaced when a request has come to it
	waiting int           // that have come to it
}

// newGate makes one for the word "held".
func newGate(t *testing.T) *gate {
	return &gate{t: t, word: "held", open: make(chan struct{}), arrived: make(chan struct{})}
}

func (g *gate) think(r llmfake.Request) llmfake.Response {
	task, working := r.Tagged("task")
	if _, told := toolResult(r); working && !told && strings.Contains(task, g.word) {
		g.mu.Lock()
		g.waiting++
		close(g.arrived)
		g.arrived = make(chan struct{})
		g.mu.Unlock()
		<-g.open
	}
	if g.next != nil {
		return g.next.think(r)
	}
	return llmfake.Brain{}.Respond(r)
}

// before puts a gate for another word behind this one.
func (g *gate) before(word string) *gate {
	g.next = newGate(g.t)
	g.next.word = word
	return g.next
}

// opens lets everybody through, now and later.
func (g *gate) opens() { g.once.Do(func() { close(g.open) }) }

// opensAll opens those behind it as well.
func (g *gate) opensAll() {
	for ; g != nil; g = g.next {
		g.opens()
	}
}

// reached waits until somebody has come to it.
func (g *gate) reached() { g.reachedBy(1) }

// reachedBy waits until n requests have come to it.
func (g *gate) reachedBy(n int) {
	g.t.Helper()
	late := time.After(patience)
	for {
		g.mu.Lock()
		waiting, arrived := g.waiting, g.arrived
		g.mu.Unlock()
		if waiting >= n {
			return
		}
		select {
		case <-arrived:
		case <-late:
			g.t.Fatalf("%d requests came to the gate in %v, want %d", waiting, patience, n)
		}
	}
}
