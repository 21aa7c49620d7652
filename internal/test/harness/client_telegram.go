package harness

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"

	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/harness/record"
)

const telegramToken = "1000:the-token-of-the-crash-harness-0123456789"

// telegramClient is legwork serve with Telegram: three people in their private
// chats, a group and a topic.
type telegramClient struct {
	*chats
	fake   *telegramfake.Server
	people map[string]telegramfake.User
	rooms  map[string]telegramRoom
}

type telegramRoom struct {
	chat  int64
	topic int
}

func newTelegramClient(ctx context.Context, s *session, seen func()) (*telegramClient, error) {
	// Without limits: a life knows nothing of what the one before had sent, and
	// would get the wait of a group: a minute.
	fake, err := telegramfake.Start(telegramfake.Options{
		Token: telegramToken, Second: second, NoLimits: true, Again: 7, Log: filepath.Join(s.dir, "telegram.jsonl"),
	})
	if err != nil {
		return nil, err
	}
	f := &telegramClient{chats: newChats(s, seen), fake: fake}
	f.people = map[string]telegramfake.User{"eve": fake.User(99, "Eve", "en"), "ann": fake.User(1, "Ann", "en"), "ben": fake.User(2, "Ben", "en"), "cem": fake.User(3, "Cem", "en"), "dan": fake.User(4, "Dan", "en")}
	crew, trips := fake.Group("Crew", f.people["ann"], f.people["ben"]), fake.Forum("Work", f.people["ann"], f.people["cem"])
	f.rooms = map[string]telegramRoom{
		"private ann": {chat: 1}, "private ben": {chat: 2}, "private cem": {chat: 3}, "private dan": {chat: 4}, "private eve": {chat: 99},
		"crew": {chat: crew}, "trips": {chat: trips, topic: fake.Topic(trips, "Trips")},
	}
	for name := range f.rooms {
		if who, private := strings.CutPrefix(name, "private "); private {
			fake.Private(f.people[who])
		}
	}
	f.watch(ctx, func(ctx context.Context, look func([]record.Post)) {
		_ = fake.WaitFor(ctx, func(v telegramfake.View) bool { // its error is ctx's
			look(f.view(v))
			return false
		})
	})
	return f, nil
}

func (f *telegramClient) scenario(r *rand.Rand) []record.Input {
	rooms := []room{
		{name: "private ann", key: "telegram:1", as: "telegram:1", people: []string{"ann"}, apart: true, voice: true},
		{name: "private ben", key: "telegram:2", as: "telegram:2", people: []string{"ben"}, apart: true, voice: true},
		{name: "private cem", key: "telegram:3", as: "telegram:3", people: []string{"cem"}, apart: true, voice: true},
		{name: "crew", key: fmt.Sprintf("telegram:%d", f.rooms["crew"].chat), as: "telegram:1", people: []string{"ann", "ben"}, apart: true},
		{name: "trips", people: []string{"ann", "cem"}, apart: true},
	}
	f.setPeople(rooms)
	return chatScenario(r, rooms, room{name: "private eve", people: []string{"eve"}}, room{name: "private dan", people: []string{"dan"}})
}

func (f *telegramClient) config() string {
	return f.platform() + "http: {listen: \"127.0.0.1:0\"}\n"
}

// platform is the config of Telegram.
func (f *telegramClient) platform() string {
	return fmt.Sprintf("telegram: {token: %q, api_url: %q}\naccess: {telegram: {users: [\"*\"], chats: [\"*\"]}, admins: [\"telegram:99\"]}\n", telegramToken, f.fake.URL)
}

// key is a room's name in the config and in requests.
func (f *telegramClient) key(name string) string {
	return fmt.Sprintf("telegram:%d", f.rooms[name].chat)
}

// started forgets the updates that the life before took with it.
func (f *telegramClient) started(*process) {
	f.fake.Heal()
	clear(f.pressed)
}

// possible: in groups, the message that guidance replies to must be there.
func (f *telegramClient) possible(in record.Input) bool {
	if in.Kind != record.Guidance || f.private(in) {
		return f.chats.possible(in)
	}
	_, ok := f.board(in.Gate)
	return ok || f.answered(in.Gate)
}

func (*telegramClient) private(in record.Input) bool { return strings.HasPrefix(in.Chat, "private ") }

func (f *telegramClient) do(in record.Input) bool {
	switch {
	case in.Fired:
		return true
	case in.Kind == record.Stop:
		return f.pressStop(in, func(p record.Post) bool {
			f.fake.Press(f.rooms[in.Chat].chat, number(p.ID), record.StopLabel, f.people[in.From])
			return true
		})
	case in.Kind == record.Forget:
		return f.forget(in)
	case in.Kind == record.Decide:
		return f.decide(in, f.push)
	case in.Kind == record.DecideCost:
		return f.decideCost(in, f.push)
	case f.done[in.ID]:
		f.fake.Redeliver(1 + len(in.ID)%3)
		return true
	}
	f.done[in.ID] = true
	room, text := f.rooms[in.Chat], in.Text
	var opts []telegramfake.Opt
	if room.topic != 0 {
		opts = append(opts, telegramfake.InTopic(room.topic))
	}
	switch {
	case in.Kind == record.Pause, in.Kind == record.Resume:
		text = "/" + text
	case in.Kind == record.Guidance:
		if p, ok := f.board(in.Gate); ok && (!f.private(in) || len(in.ID)%2 == 0) {
			opts = append(opts, telegramfake.ReplyTo(number(p.ID)))
		} else if !f.private(in) {
			text = "@" + f.fake.Bot.Username + " " + text
		}
	case in.Apart && f.private(in):
		text = "/task " + text
	case in.Apart:
		text = "/task@" + f.fake.Bot.Username + " " + text
	case !f.private(in):
		text = "@" + f.fake.Bot.Username + " " + text
	}
	if in.File != nil {
		file := telegramfake.File{Type: in.File.Type, Seconds: in.File.Seconds, Content: in.File.Content}
		if in.File.Kind == record.Document {
			file.Name = in.File.Name
		}
		text, opts = caption(in, text), append(opts, telegramfake.Attach(in.File.Kind, file))
	}
	id := f.fake.Say(room.chat, f.people[in.From], text, opts...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[message(room.chat, id)] = in.ID
	return true
}

// forget has the conversation deleted, again in each life until somebody says that it was:
// a kill may fall between the message and its effect.
func (f *telegramClient) forget(in record.Input) bool {
	if f.saidForgotten(in) {
		return true
	}
	if !f.pressed[in.ID] {
		f.pressed[in.ID] = true
		f.fake.Say(f.rooms[in.Chat].chat, f.people[in.From], "/"+in.Text)
	}
	return false
}

// push presses a button of a question, also one that is gone: old clients show
// it still.
func (f *telegramClient) push(p record.Post, label, by string) {
	f.fake.Press(f.rooms[p.Chat].chat, number(p.ID), cmp.Or(p.Data[label], label), f.people[by])
}

// message is an id that is unique in all of Telegram.
func message(chat int64, id int) string { return fmt.Sprintf("%d/%d", chat, id) }

func number(id string) int {
	n, _ := strconv.Atoi(id) // the fake's own
	return n
}

func (f *telegramClient) disturb(r *rand.Rand) {
	fault := []telegramfake.Fault{
		{Kind: telegramfake.FaultDropAfter, Method: "sendMessage"},
		{Kind: telegramfake.FaultDropAfter, Method: "editMessageText"},
		{Kind: telegramfake.FaultDropBefore, Method: "sendMessage"},
		{Kind: telegramfake.FaultDropBefore, Count: 3},
		{Kind: telegramfake.FaultBusy, Method: "sendMessage"},
		{Kind: telegramfake.FaultBusy, Method: "editMessageText"},
		{Kind: telegramfake.FaultError, Count: 2},
		{Kind: telegramfake.FaultError, Method: "getUpdates"},
		{Kind: telegramfake.FaultDropAfter, Method: "getUpdates"},
		{Kind: telegramfake.FaultHalf, Method: "getUpdates"},
		{Kind: telegramfake.FaultGarbage, Method: "editMessageText"},
		{Kind: telegramfake.FaultDropAfter, Method: "sendDocument"},
		{Kind: telegramfake.FaultDropBefore, Method: "sendDocument"},
		{Kind: telegramfake.FaultBusy, Method: "sendPhoto"},
		{Kind: telegramfake.FaultError, Method: "getFile"},
		{Kind: telegramfake.FaultHalf, Method: "download"},
		{Kind: telegramfake.FaultShort, Method: "download"},
		{Kind: telegramfake.FaultDropBefore, Method: "download"},
	}
	f.fake.Fail(fault[r.IntN(len(fault))])
}

// view is what stands in the chats.
func (f *telegramClient) view(v telegramfake.View) []record.Post {
	torn := map[[2]int64]bool{}
	for _, e := range v.Log() {
		if e.Fault != "" && e.Done && strings.HasPrefix(e.Method, "send") {
			torn[[2]int64{e.Chat, int64(e.Message)}] = true
		}
	}
	var all []record.Post
	for _, room := range f.rooms { // each in a chat of its own
		c := v.Chat(room.chat)
		for _, m := range c.Messages {
			if !m.Bot {
				continue
			}
			p := record.Post{Chat: f.place(room.chat, m.Topic), ID: strconv.Itoa(m.ID), Text: m.Text, To: message(room.chat, m.ReplyTo), Torn: torn[[2]int64{room.chat, int64(m.ID)}], Data: map[string]string{}}
			if m.File != nil {
				p.File = &record.Sent{Name: m.File.Name, Content: m.File.Content}
			}
			for _, row := range m.Buttons {
				for _, b := range row {
					p.Buttons = append(p.Buttons, b.Text)
					p.Data[b.Text] = b.Data
				}
			}
			all = append(all, p)
		}
		for _, d := range c.Drafts {
			all = append(all, record.Post{Chat: f.place(room.chat, d.Topic), ID: fmt.Sprintf("draft %d", d.Topic), Text: d.Text, Live: true})
		}
	}
	return all
}

// place is the room of a message.
func (f *telegramClient) place(chat int64, topic int) string {
	for name, room := range f.rooms {
		if room == (telegramRoom{chat, topic}) {
			return name
		}
	}
	return fmt.Sprintf("topic %d of chat %d", topic, chat)
}

func (f *telegramClient) collect(r *record.Record) {
	r.Posts, r.Misuse, r.Unconfirmed = f.list(), f.fake.Violations(), nil
	if n := f.fake.Pending(); n > 0 {
		r.Unconfirmed = []string{fmt.Sprintf("%d updates", n)}
	}
}

func (f *telegramClient) drain(ctx context.Context) error { return f.fake.Drain(ctx) }

func (f *telegramClient) close() error {
	f.unwatch()
	return f.fake.Close()
}
