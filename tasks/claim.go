package tasks

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"strings"
	"sync"
	"time"

	"legwork/bot"
)

// claim is the one-time code by which the first admin becomes one.
type claim struct {
	mu    sync.Mutex
	code  string // empty when there is none
	until time.Time
	tries []string // keys of the messages that had a wrong one
}

// ClaimTime is how long a code of Claim holds.
const ClaimTime = time.Hour

// How often a code may be wrong, and how long it is.
const (
	claimTries  = 5
	claimLength = 8
)

// Claim makes the one-time code with which somebody becomes the first admin, by
// writing "/start CODE" to the bot in a private chat. It replaces the one before.
// Empty when there is an admin already.
func (in *Inbox) Claim(ctx context.Context) (code string, err error) {
	admins, err := in.admins(ctx)
	if err != nil || len(admins) > 0 {
		return "", err
	}
	in.claim.mu.Lock()
	defer in.claim.mu.Unlock()
	in.claim.code, in.claim.until, in.claim.tries = newCode(), in.Now().Add(ClaimTime), nil
	return in.claim.code, nil
}

// newCode makes a code of letters and digits that look like no others.
func newCode() string {
	var b strings.Builder
	for b.Len() < claimLength {
		for _, c := range rand.Text() {
			if !strings.ContainsRune("ILO", c) && b.Len() < claimLength { // 0 and 1 are not in it anyway
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// claims takes "/start CODE" in a private chat while a code is out, whoever
// writes it. done is false when the message is none.
func (in *Inbox) claims(ctx context.Context, r *routed) (done bool, err error) {
	m := r.message
	name, rest, ok := splitCommand(m.Text)
	if !ok || name != "start" && name != "claim" || rest == "" || !m.Chat.Private || m.Kind != bot.MessageText {
		return false, nil
	}
	in.claim.mu.Lock()
	defer in.claim.mu.Unlock()
	c := &in.claim
	if c.code == "" {
		return false, nil
	}
	admins, err := in.admins(ctx)
	if err != nil {
		return true, err
	}
	if len(admins) > 0 {
		c.code = "" // the config names one now
		return false, nil
	}
	if r.lang, err = in.language(ctx, m.From.Key(), r.lang); err != nil {
		return true, err
	}
	if !in.Now().Before(c.until) {
		c.code = ""
		in.say(r, "error.claim_over", nil)
		return true, nil
	}
	if subtle.ConstantTimeCompare([]byte(plainCode(rest)), []byte(c.code)) == 0 {
		in.missed(r)
		return true, nil
	}
	if err := in.write(ctx, ownerLegwork, settingAdmins, []string{m.From.Key()}); err != nil {
		return true, err
	}
	c.code = ""
	if err := in.listen(ctx, r); err != nil {
		return true, err
	}
	in.Log.InfoContext(ctx, "the first admin has claimed the bot", "person", m.From.Key())
	in.audit(ctx, r, "admin.claim", m.From.Key(), "")
	in.say(r, "notice.claimed", nil)
	in.extend(r, in.help(r.lang, m.Chat))
	return true, nil
}

// missed counts a wrong code, once however often its message is delivered.
func (in *Inbox) missed(r *routed) {
	c := &in.claim
	known := false
	for _, key := range c.tries {
		known = known || key == r.message.Key
	}
	if !known {
		c.tries = append(c.tries, r.message.Key)
	}
	left := claimTries - len(c.tries)
	if left <= 0 {
		c.code = ""
		in.say(r, "error.claim_over", nil)
		return
	}
	in.say(r, "error.claim_wrong", map[string]any{"Count": left})
}

// plainCode is a code as it was made, however it was typed.
func plainCode(typed string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(typed))
}

// extend adds a paragraph to what is only said.
func (in *Inbox) extend(r *routed, text string) {
	before := r.reply
	r.reply = func(ctx context.Context, receipts []Receipt) said {
		s := before(ctx, receipts)
		s.text += "\n\n" + text
		return s
	}
}

// help lists what people can do in a chat.
func (in *Inbox) help(lang string, chat bot.Chat) string {
	if in.passing(chat) {
		return in.Texts.Text(lang, "help.terminal", nil)
	}
	return in.spell(chat, in.Texts.Text(lang, "help.chat", nil))
}
