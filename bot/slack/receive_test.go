package slack_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

var unstable = cmpopts.IgnoreFields(bot.Message{}, "At", "Token")

// TestMessages tells what becomes of what people write, in both modes.
func TestMessages(t *testing.T) {
	t.Parallel()
	ann := bot.Person{Platform: "slack", ID: "U1", Name: "ann"}
	dm := bot.Chat{Platform: "slack", ID: "DU1", Private: true}
	tests := []struct {
		name                        string
		channel, user, text, thread string // thread "root": under a message of Ben
		want                        *bot.Message
	}{
		{
			name: "mention", channel: "C1", user: "U1", text: "<@UBOT> what is &lt;b&gt;?",
			want: &bot.Message{Chat: channel("TS"), From: ann, ID: "TS", Text: "what is <b>?", Key: "slack:msg:C1:TS"},
		},
		{
			name: "mention in the middle", channel: "C1", user: "U1", text: "hey <@UBOT>, ask <@U2>",
			want: &bot.Message{Chat: channel("TS"), From: ann, ID: "TS", Text: "hey , ask @U2", Key: "slack:msg:C1:TS"},
		},
		{
			name: "nothing but the mention", channel: "C1", user: "U1", text: "<@UBOT>",
			want: &bot.Message{Chat: channel("TS"), From: ann, ID: "TS", Text: "/help", Key: "slack:msg:C1:TS"},
		},
		{name: "talk of others", channel: "C1", user: "U1", text: "lunch?"},
		{
			name: "in a thread", channel: "C1", user: "U1", text: "and the other one", thread: "root",
			want: &bot.Message{Chat: channel("ROOT"), From: ann, ID: "TS", Text: "and the other one", Key: "slack:msg:C1:TS", Overheard: true, InThread: true},
		},
		{
			name: "mention in a thread", channel: "C1", user: "U1", text: "<@UBOT> stop", thread: "root",
			want: &bot.Message{Chat: channel("ROOT"), From: ann, ID: "TS", Text: "/stop", Key: "slack:msg:C1:TS", InThread: true},
		},
		{
			name: "word in a thread", channel: "C1", user: "U1", text: "!status", thread: "root",
			want: &bot.Message{Chat: channel("ROOT"), From: ann, ID: "TS", Text: "/status", Key: "slack:msg:C1:TS", Overheard: true, InThread: true},
		},
		{
			name: "direct", channel: "DU1", user: "U1", text: "hello <https://a.example|there>",
			want: &bot.Message{Chat: dm, From: ann, ID: "TS", Text: "hello there (https://a.example)", Key: "slack:msg:DU1:TS"},
		},
		{
			name: "claim", channel: "DU1", user: "U1", text: "claim ABCD1234",
			want: &bot.Message{Chat: dm, From: ann, ID: "TS", Text: "/start ABCD1234", Key: "slack:msg:DU1:TS"},
		},
		{
			name: "guest", channel: "C1", user: "U3", text: "<@UBOT> hi",
			want: &bot.Message{Chat: channel("TS"), From: bot.Person{Platform: "slack", ID: "U3", Name: "gus"}, ID: "TS", Text: "hi", Key: "slack:msg:C1:TS", External: true},
		},
		{
			name: "another organisation", channel: "C4", user: "U4", text: "<@UBOT> hi",
			want: &bot.Message{Chat: bot.Chat{Platform: "slack", ID: "C4", Thread: "TS"}, From: bot.Person{Platform: "slack", ID: "U4", Name: "eve"}, ID: "TS", Text: "hi", Key: "slack:msg:C4:TS", External: true, Team: "T2"},
		},
		{
			name: "emoji and right to left", channel: "DU1", user: "U1", text: "🎉 שלום",
			want: &bot.Message{Chat: dm, From: ann, ID: "TS", Text: "🎉 שלום", Key: "slack:msg:DU1:TS"},
		},
		{
			name: "100 KB", channel: "DU1", user: "U1", text: strings.Repeat("word ", 20_000),
			want: &bot.Message{Chat: dm, From: ann, ID: "TS", Text: strings.TrimSpace(strings.Repeat("word ", 20_000)), Key: "slack:msg:DU1:TS"},
		},
	}
	p := start(t, set{}).ready(t)
	root := p.Say("C1", "U2", "a thread", "")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := len(p.got())
			thread := strings.ReplaceAll(test.thread, "root", root)
			ts := p.Say(test.channel, test.user, test.text, thread)
			p.until(t, "the acknowledgement", p.Settled)
			got := p.got()[before:]
			if test.want == nil {
				if len(got) > 0 {
					t.Fatalf("got %+v, want nothing", got)
				}
				return
			}
			if len(got) == 0 {
				t.Fatal("got nothing")
			}
			want := *test.want
			for _, s := range []*string{&want.Chat.Thread, &want.ID, &want.Key} {
				*s = strings.ReplaceAll(strings.ReplaceAll(*s, "TS", ts), "ROOT", root)
			}
			if want.Team == "" {
				want.Team = slackfake.Team
			}
			want.Language = "en-US"
			for _, m := range got { // mention and message speak of the same one
				if diff := cmp.Diff(want, m, unstable); diff != "" {
					t.Errorf("%q (-want +got):\n%s", test.text, diff)
				}
				if m.At.IsZero() {
					t.Errorf("%q has no time", test.text)
				}
			}
		})
	}
}

func TestEditedAndDeleted(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	ts := p.Say("C1", "U1", "<@UBOT> frist", "")
	p.next(t, 1)
	if err := p.Edit("C1", ts, "<@UBOT> first"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 2)[1]
	if m.Text != "first" || m.Kind != bot.MessageEdit || m.ID != ts || m.Chat != channel(ts) || m.Overheard {
		t.Errorf("an edit gave %+v", m)
	}
	if err := p.Delete("C1", ts); err != nil {
		t.Fatal(err)
	}
	m = p.next(t, 3)[2]
	if m.Kind != bot.MessageDeletion || m.ID != ts || m.Chat != channel(ts) || m.From.ID != "U1" {
		t.Errorf("a deletion gave %+v", m)
	}
}

// TestMentionByEdit: Slack reports it as an edit and as a mention, which are
// one message.
func TestMentionByEdit(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	for _, thread := range []string{"", p.Say("C1", "U2", "a thread", "")} {
		before := len(p.got())
		ts := p.Say("C1", "U1", "what is it?", thread)
		if err := p.Edit("C1", ts, "<@UBOT> what is it?"); err != nil {
			t.Fatal(err)
		}
		p.until(t, "acknowledgements", p.Settled)
		keys := map[string]bool{}
		for _, m := range p.got()[before:] {
			if m.Overheard {
				continue
			}
			keys[m.Key] = true
			if m.ID != ts || m.Text != "what is it?" || m.Kind != bot.MessageEdit {
				t.Errorf("got %+v, want an edit of %s", m, ts)
			}
		}
		if len(keys) != 1 {
			t.Errorf("in the thread %q the mention has the keys %v, want one", thread, keys)
		}
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	for _, subtype := range []string{"channel_join", "bot_message", "channel_topic"} {
		p.Noise("C1", subtype, "U1", "<@UBOT> noise")
	}
	p.OpenHome("U1")
	p.Join("C1", "U1")
	p.until(t, "acknowledgements", p.Settled)
	if got := p.got(); len(got) > 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestUnknownEnvelopes(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	for _, raw := range []string{
		`{"type":"new_thing","envelope_id":"%s","payload":{"a":1}}`,
		`{"type":"events_api","envelope_id":"%s","payload":{"event":{"type":"message","channel":17}}}`,
		`{"type":"events_api","envelope_id":"%s","payload":"text"}`,
		`{"type":"events_api","envelope_id":"%s","payload":{"event":null}}`,
		`{"type":"slash_commands","envelope_id":"%s","payload":[]}`,
		`{"type":"interactive","envelope_id":"%s","payload":{"type":"block_actions"}}`,
		`{"type":"interactive","envelope_id":"%s","payload":{"type":"view_submission"}}`,
		`{"envelope_id":"%s","type":"events_api","payload":{{{`,
	} {
		id, err := p.Raw(raw)
		if err != nil {
			t.Fatal(err)
		}
		p.until(t, "the acknowledgement of "+raw, func() bool { return p.Acked(id) })
	}
	p.Say("DU1", "U1", "still there?", "")
	if got := p.next(t, 1); got[0].Text != "still there?" {
		t.Errorf("got %+v", got)
	}
}

// TestStoredBeforeAcknowledged: what could not be stored is neither
// acknowledged nor lost.
func TestStoredBeforeAcknowledged(t *testing.T) {
	t.Parallel()
	fails := 0
	refuse := func([]bot.Message) error {
		if fails++; fails <= 6 {
			return errors.New("the disk is full")
		}
		return nil
	}
	p := start(t, set{fake: slackfake.Options{Second: 50 * time.Millisecond}, refuse: refuse}).ready(t) // 3 s between deliveries
	p.Say("DU1", "U1", "one", "")
	got := p.next(t, 1)
	if fails <= 6 || got[0].Text != "one" {
		t.Errorf("after %d tries got %+v", fails, got)
	}
	p.until(t, "the acknowledgement", p.Settled)
}

func TestSignedDeliveries(t *testing.T) {
	t.Parallel()
	p := httpEnv(t, set{})
	p.Say("DU1", "U1", "by the web", "")
	if got := p.next(t, 1)[0]; got.Text != "by the web" || got.From.Name != "ann" {
		t.Errorf("got %+v", got)
	}
	if _, err := p.Slash("/task", "it", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	if got := p.next(t, 2)[1]; got.Text != "/task it" || got.Chat.Thread == "" {
		t.Errorf("got %+v", got)
	}
	id := p.post(t, channel(""), bot.Draft{Kind: bot.KindQuestion, Text: "?", Buttons: []bot.Button{{Label: "Yes", Data: "y"}}})
	if _, err := p.Press("C1", id, "Yes", "U1"); err != nil {
		t.Fatal(err)
	}
	if got := p.next(t, 3)[2]; got.Data != "y" {
		t.Errorf("got %+v", got)
	}
	p.until(t, "acknowledgements", p.Settled)
	for _, d := range p.Deliveries() {
		if d.After > time.Second {
			t.Errorf("%s was acknowledged after %s", d.Name, d.After)
		}
	}
}

// TestSharedMessages: a message that a person shares comes along as material with its
// author, also without words of the person's own.
func TestSharedMessages(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	said := p.Say("C1", "U2", "It rains, <@U1> &amp; a lot.", "")
	blocks := p.post(t, channel(""), bot.Draft{Kind: bot.KindAnswer, Text: "It **snows**."})
	p.Say("DU1", "U1", "I am known", "")
	p.next(t, 1)

	ts := p.Share("DU1", "U1", "", "", "C1", said)
	got := p.next(t, 2)[1]
	want := bot.Quoted{From: "ben", Text: "It rains, @ann & a lot.", At: got.Earlier[0].At, Pointed: true}
	if got.Text != "" || got.ID != ts || len(got.Earlier) != 1 || !cmp.Equal(got.Earlier[0], want) || want.At.IsZero() {
		t.Errorf("a shared message alone gave %+v, want no words and %+v", got, want)
	}
	p.Share("C1", "U1", "<@UBOT> is that so?", "", "C1", blocks)
	got = p.next(t, 3)[2]
	if got.Text != "is that so?" || len(got.Earlier) != 1 || !strings.Contains(got.Earlier[0].Text, "snows") || !got.Earlier[0].Own || !got.Earlier[0].Bot {
		t.Errorf("a shared message of the bot gave %+v", got)
	}
	p.Share("C1", "U1", "<@UBOT>", "", "C1", said)
	if got = p.next(t, 4)[3]; got.Text != "" || len(got.Earlier) != 1 {
		t.Errorf("a shared message with a mention alone gave %+v, want no /help", got)
	}
}

// TestSharedByOthers: what Slack itself writes about shared messages is read, in all
// its forms.
func TestSharedByOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attachment string
		want       []bot.Quoted
	}{
		"text":          {`{"is_share":true,"author_id":"U2","author_name":"ben","text":"a *b* <https://x.org|x>","fallback":"f"}`, []bot.Quoted{{From: "ben", Text: "a *b* x (https://x.org)", Pointed: true}}},
		"unfurl":        {`{"is_msg_unfurl":true,"author_id":"U1","author_subname":"ann","text":"mine"}`, []bot.Quoted{{From: "ann", Text: "mine", Pointed: true, Own: true}}},
		"blocks":        {`{"is_share":true,"author_name":"bot","text":"","fallback":"f","message_blocks":[{"message":{"blocks":[{"type":"header","text":{"type":"plain_text","text":"Alert"}},{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"ask "},{"type":"user","user_id":"U2"}]},{"type":"rich_text_preformatted","elements":[{"type":"text","text":"df -h"}]}]}]}}]}`, []bot.Quoted{{From: "bot", Text: "Alert\nask @U2\ndf -h", Pointed: true}}},
		"files":         {`{"is_share":true,"author_name":"ben","ts":1700000000,"files":[{"name":"a.pdf"},{"title":"B"}]}`, []bot.Quoted{{From: "ben", Media: "a.pdf, B", Pointed: true, At: time.Unix(1700000000, 0)}}},
		"fallback":      {`{"is_share":true,"fallback":"ben: hi"}`, []bot.Quoted{{Text: "ben: hi", Pointed: true}}},
		"a link":        {`{"service_name":"X","title":"a page","text":"its first words"}`, nil},
		"nothing in it": {`{"is_share":true,"message_blocks":[{"message":{"blocks":17}}]}`, nil},
	} {
		payload := `{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":{"type":"message","channel":"DU1","channel_type":"im","user":"U1","text":"","ts":"1700000001.000100","attachments":[` + c.attachment + `]}}`
		got := slack.Decode([]byte(payload))
		if len(got) != 1 {
			t.Fatalf("%s: got %+v, want one message", name, got)
		}
		if diff := cmp.Diff(c.want, got[0].Earlier); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
