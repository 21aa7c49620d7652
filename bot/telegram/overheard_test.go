package telegram_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func overhears(c *telegram.Config, _ *telegram.Options) { c.Overhear = true }

// brought lists the messages that a question brings along.
func brought(m bot.Message) []string {
	var list []string
	for _, q := range m.Earlier {
		line := q.From + ": " + q.Text
		if q.Own {
			line += " (own)"
		}
		if q.Pointed {
			line += " (pointed)"
		}
		list = append(list, line)
	}
	return list
}

// TestOverheard: where an admin turned it on, a question in a group brings along what
// was said since the last one, once, and nothing of other chats and topics.
func TestOverheard(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true, ReadsAll: true}, overhears)
	ann, bob := r.fake.User(7, "Ann", "en"), r.fake.User(8, "Bob", "en")
	team, other := r.fake.Supergroup("Team", ann, bob), r.fake.Supergroup("Other", ann, bob)
	first := r.fake.Say(team, bob, "It rains.")
	r.fake.Say(team, ann, "Again?")
	r.fake.Say(other, bob, "Lunch?")
	r.fake.Say(team, bob, "/dance@other_bot")
	r.fake.Edit(team, first, "It snows.")
	r.fake.Say(team, ann, "/status")
	if m := r.next(); m.Text != "/status" || m.Earlier != nil {
		t.Errorf("a command came as %+v, want nothing with it", m)
	}
	r.fake.Say(team, ann, "@legwork_bot what will it be tomorrow?")
	if got, want := brought(r.next()), []string{"Bob: It snows.", "Ann: Again? (own)", "Bob: /dance@other_bot"}; !slices.Equal(got, want) {
		t.Errorf("the question brought along %q, want %q", got, want)
	}
	second := r.fake.Say(team, bob, "Take a coat.")
	r.fake.Say(team, ann, "/task@legwork_bot which one?", telegramfake.ReplyTo(second))
	if got, want := brought(r.next()), []string{"Bob: Take a coat. (pointed)"}; !slices.Equal(got, want) {
		t.Errorf("the second question brought along %q, want %q", got, want)
	}
	r.fake.Say(other, bob, "@legwork_bot where?")
	if got, want := brought(r.next()), []string{"Bob: Lunch? (own)"}; !slices.Equal(got, want) {
		t.Errorf("the question in the other group brought along %q, want %q", got, want)
	}
}

// TestOverheardIsBounded: of much talk the newest 16 KiB stay.
func TestOverheardIsBounded(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true, ReadsAll: true}, overhears)
	ann, bob := r.fake.User(7, "Ann", "en"), r.fake.User(8, "Bob", "en")
	team := r.fake.Supergroup("Team", ann, bob)
	for i := range 20 {
		r.fake.Say(team, bob, strings.Repeat(string(rune('a'+i)), 1000))
	}
	r.fake.Say(team, ann, "@legwork_bot what was that?")
	got := brought(r.next())
	if len(got) != 16 || !strings.HasPrefix(got[0], "Bob: eee") || !strings.HasPrefix(got[15], "Bob: ttt") {
		t.Errorf("the question brought along %d messages, want the newest 16", len(got))
	}
}

// TestOverheardComesAgain: when a question cannot be stored, it brings the same along
// at its next delivery.
func TestOverheardComesAgain(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true, ReadsAll: true}, overhears)
	r.ready()
	ann, bob := r.fake.User(7, "Ann", "en"), r.fake.User(8, "Bob", "en")
	team := r.fake.Supergroup("Team", ann, bob)
	r.inbox.refuse(2)
	r.fake.Say(team, bob, "It rains.")
	r.fake.Say(team, ann, "@legwork_bot is that so?")
	if got, want := brought(r.next()), []string{"Bob: It rains."}; !slices.Equal(got, want) {
		t.Errorf("the question brought along %q, want %q", got, want)
	}
}

// TestOverhearIsOff: by default the bot forgets at once what is not for it. With
// privacy mode, the log says why nothing is overheard.
func TestOverhearIsOff(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true, ReadsAll: true})
	ann, bob := r.fake.User(7, "Ann", "en"), r.fake.User(8, "Bob", "en")
	team := r.fake.Supergroup("Team", ann, bob)
	r.fake.Say(team, bob, "It rains.")
	r.fake.Say(team, ann, "@legwork_bot is that so?")
	if m := r.next(); m.Earlier != nil {
		t.Errorf("the question brought along %q, want nothing", brought(m))
	}
	private := start(t, telegramfake.Options{}, overhears)
	private.until("the log names privacy mode", func() bool { return strings.Contains(private.log.String(), "/setprivacy") })
}
