package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/harness/record"
)

// slackClient is legwork serve with Slack over Socket Mode: threads of a channel,
// each of them begun by a question, and direct messages.
type slackClient struct {
	*chats
	fake  *slackfake.Server
	ts    map[string]string // of inputs
	roots map[string]string // ts of a thread's first message by its room
	// triggers are the newest presses of decisions, by input.
	triggers map[string]string
}

// The rooms of Slack: threads of a channel, and direct messages.
const slackChannel = "C1"

// channelOf is the channel of a room.
func channelOf(room string) string {
	if strings.HasPrefix(room, "thread ") {
		return slackChannel
	}
	return room
}

func newSlackClient(ctx context.Context, s *session, seen func()) (client, error) {
	retries := []time.Duration{0, time.Second}
	for range 60 {
		retries = append(retries, 2*time.Second)
	}
	fake, err := slackfake.Start(slackfake.Options{AgentView: true, Second: second, Retries: retries, Log: filepath.Join(s.dir, "slack.jsonl")})
	if err != nil {
		return nil, err
	}
	fake.AddUser(slackfake.User{ID: "U9", Name: "zoe"})
	fake.AddUser(slackfake.User{ID: "U8", Name: "dan"})
	for _, who := range []string{"U1", "U2", "U8", "U9"} {
		fake.DM(who) // a schedule may be the first to write there
	}
	f := &slackClient{chats: newChats(s, seen), fake: fake, ts: map[string]string{}, roots: map[string]string{}, triggers: map[string]string{}}
	f.watch(ctx, func(ctx context.Context, look func([]record.Post)) {
		_ = fake.WaitFor(ctx, "the end", func() bool { // its error is ctx's
			look(f.view())
			return false
		})
	})
	return f, nil
}

func (f *slackClient) scenario(r *rand.Rand) []record.Input {
	rooms := []room{
		{name: "DU1", key: "slack:DU1", as: "slack:U1", people: []string{"U1"}, voice: true},
		{name: "DU2", key: "slack:DU2", as: "slack:U2", people: []string{"U2"}, voice: true},
		{name: "thread 1", people: []string{"U1"}},
		{name: "thread 2", people: []string{"U2"}},
		{name: "thread 3", people: []string{"U1", "U2"}},
	}
	f.setPeople(rooms)
	return chatScenario(r, rooms, room{name: "DU9", people: []string{"U9"}}, room{name: "DU8", people: []string{"U8"}})
}

func (f *slackClient) config() string {
	return fmt.Sprintf("slack: {bot_token: %q, app_token: %q, api_url: %q}\naccess: {slack: {users: [\"*\"], channels: [\"*\"]}, admins: [\"slack:U9\"]}\nhttp: {listen: \"127.0.0.1:0\"}\n",
		slackfake.BotToken, slackfake.AppToken, f.fake.APIURL)
}

func (f *slackClient) started(*process) {
	f.fake.Heal()
	clear(f.pressed)
}

func (f *slackClient) do(in record.Input) bool {
	switch {
	case in.Fired:
		return true
	case in.Kind == record.Stop:
		return f.pressStop(in, func(p record.Post) bool {
			_, err := f.fake.Press(channelOf(in.Chat), p.ID, record.StopLabel, in.From)
			return err == nil
		})
	case in.Kind == record.Decide:
		return f.decideAgain(in)
	case in.Kind == record.DecideCost:
		return f.decideCostAgain(in)
	case in.Kind == record.Pause, in.Kind == record.Resume, in.Kind == record.Forget:
		return f.command(in)
	case f.done[in.ID]:
		f.again(in)
		return true
	}
	f.done[in.ID] = true
	channel, text := channelOf(in.Chat), in.Text
	f.mu.Lock()
	defer f.mu.Unlock()
	root, begun := f.roots[in.Chat]
	if channel == slackChannel && in.Kind != record.Guidance {
		text = "<@" + slackfake.BotUser + "> " + text
	}
	ts := f.say(channel, in, text, root)
	f.ts[in.ID] = ts
	if !begun && channel == slackChannel {
		f.roots[in.Chat] = ts
	}
	return true
}

// say writes the message of an input, with its file.
func (f *slackClient) say(channel string, in record.Input, text, root string) (ts string) {
	if in.File == nil {
		return f.fake.Say(channel, in.From, text, root)
	}
	file := slackfake.File{Name: in.File.Name, Type: in.File.Type, Seconds: in.File.Seconds, Content: in.File.Content}
	if in.File.Kind == record.Voice {
		file.Subtype = "slack_audio"
	}
	return f.fake.SayFiles(channel, in.From, caption(in, text), root, file)
}

// command uses a slash command, once in each life until its answer is there.
// Slack does not repeat those.
func (f *slackClient) command(in record.Input) bool {
	if f.saidPaused(in) || in.Kind == record.Forget && f.saidForgotten(in) {
		return true
	}
	if f.lost(in.ID) {
		delete(f.pressed, in.ID) // Slack tells the writer, who sends it again
	}
	if !f.pressed[in.ID] {
		trigger, err := f.fake.Slash("/legwork", in.Text, in.Chat, in.From)
		f.pressed[in.ID], f.triggers[in.ID] = err == nil, trigger
	}
	return false
}

// again lets Slack repeat the events about a message.
func (f *slackClient) again(in record.Input) {
	for _, d := range f.fake.Deliveries() {
		if d.Kind == slackfake.KindEvent && d.Acked && strings.Contains(string(d.Payload), `"ts":"`+f.ts[in.ID]+`"`) {
			_ = f.fake.Repeat(d.ID) // it was there just now
			return
		}
	}
}

// decideAgain is decide where Slack may tell people that a press did not get
// through: then they press again.
func (f *slackClient) decideAgain(in record.Input) bool {
	if f.lost(in.ID) {
		delete(f.pressed, in.ID)
	}
	return f.decide(in, f.push(in))
}

// decideCostAgain is the same for costs.
func (f *slackClient) decideCostAgain(in record.Input) bool {
	if f.lost(in.ID) {
		f.forgetPresses(in)
	}
	return f.decideCost(in, f.push(in))
}

// push presses buttons for an input, and notes the press of the person who decides.
func (f *slackClient) push(in record.Input) func(p record.Post, label, by string) {
	return func(p record.Post, label, by string) {
		if trigger, err := f.fake.Press(channelOf(p.Chat), p.ID, label, by); err == nil && by == in.From {
			f.triggers[in.ID] = trigger
		}
	}
}

// lost reports that the newest press or command for an input got no
// acknowledgement in time.
func (f *slackClient) lost(id string) bool {
	for _, d := range f.fake.Deliveries() {
		if d.ID == f.triggers[id] && d.Kind != slackfake.KindEvent {
			return d.Lost
		}
	}
	return false
}

func (f *slackClient) disturb(r *rand.Rand) {
	faults := []slackfake.Fault{
		{Kind: slackfake.FaultDropAfter, Method: "chat.postMessage"},
		{Kind: slackfake.FaultDropAfter, Method: "chat.startStream"},
		{Kind: slackfake.FaultDropAfter, Method: "chat.stopStream"},
		{Kind: slackfake.FaultDropAfter, Method: "chat.update"},
		{Kind: slackfake.FaultDropBefore, Method: "chat.update"},
		{Kind: slackfake.FaultDropBefore, Method: "chat.postMessage"},
		{Kind: slackfake.FaultStatus, Method: "chat.startStream"},
		{Kind: slackfake.FaultStatus, Method: "chat.appendStream"},
		{Kind: slackfake.FaultStatusLate, Method: "chat.postMessage"},
		{Kind: slackfake.FaultBusy, Method: "chat.postMessage"},
		{Kind: slackfake.FaultBusy, Method: "chat.update"},
		{Kind: slackfake.FaultBusy, Method: "chat.appendStream"},
		{Kind: slackfake.FaultStatus, Method: "apps.connections.open"},
		{Kind: slackfake.FaultStatus, Method: "files.getUploadURLExternal"},
		{Kind: slackfake.FaultDropBefore, Method: "upload"},
		{Kind: slackfake.FaultDropAfter, Method: "upload"},
		{Kind: slackfake.FaultDropAfter, Method: "files.completeUploadExternal"},
		{Kind: slackfake.FaultBusy, Method: "files.completeUploadExternal"},
		{Kind: slackfake.FaultHalf, Method: "download"},
		{Kind: slackfake.FaultStatus, Method: "download"},
	}
	switch n := r.IntN(len(faults) + 4); {
	case n < len(faults):
		f.fake.Break(faults[n])
	case n < len(faults)+2:
		f.fake.Disconnect("")
	case n == len(faults)+2:
		f.fake.Disconnect("refresh_requested")
	default:
		f.fake.Refresh()
	}
}

// escaped is a character that Slack shows without the backslash before it.
var escaped = regexp.MustCompile(`\\([[:punct:]])`)

// view is what stands in the channel and in the direct messages.
func (f *slackClient) view() []record.Post {
	var all []record.Post
	for _, channel := range []string{slackChannel, "DU1", "DU2", "DU8", "DU9"} {
		for _, m := range f.fake.Posted(channel) {
			if m.To != "" && channel != "DU9" && channel != "DU8" {
				continue // an ephemeral message
			}
			var file *record.Sent
			if len(m.Files) > 0 {
				file = &record.Sent{Name: m.Files[0].Name, Content: m.Files[0].Content}
			}
			all = append(all, record.Post{
				File: file,
				Chat: f.place(channel, m.Thread), ID: m.TS, Text: escaped.ReplaceAllString(strings.TrimSuffix(f.fake.Shown(m), " (edited)"), "$1"),
				Buttons: m.Buttons(), Live: m.Stream != nil && m.Stream.State == slackfake.StreamLive,
			})
		}
	}
	return all
}

// place is the room of a message.
func (f *slackClient) place(channel, thread string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if channel != slackChannel && thread == "" {
		return channel
	}
	for name, ts := range f.roots {
		if channel == slackChannel && ts == thread {
			return name
		}
	}
	return fmt.Sprintf("thread %q of channel %s", thread, channel)
}

func (f *slackClient) collect(r *record.Record) {
	r.Posts, r.Misuse, r.Unconfirmed = f.list(), f.fake.Violations(), nil
	for _, d := range f.fake.Deliveries() {
		if !d.Acked && d.Kind == slackfake.KindEvent && f.isInput(d) {
			r.Unconfirmed = append(r.Unconfirmed, fmt.Sprintf("%s %s in %s", d.Name, d.ID, d.Channel))
		}
	}
}

// isInput reports whether a delivery is about a person's message.
func (f *slackClient) isInput(d slackfake.Delivery) bool {
	for _, ts := range f.ts {
		if strings.Contains(string(d.Payload), `"ts":"`+ts+`"`) {
			return true
		}
	}
	return false
}

func (f *slackClient) drain(ctx context.Context) error { return f.fake.Drain(ctx) }

func (f *slackClient) close() error {
	f.unwatch()
	return f.fake.Close()
}
