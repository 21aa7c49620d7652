package inbox

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/input"
)

// firstAdminClaim is the one-time code with which a person becomes the first
// admin.
type firstAdminClaim struct {
	mu    sync.Mutex
	code  string // empty when there is none
	until time.Time
	tries []string // keys of the messages with a wrong code
}

// ClaimTime is how long a code of NewClaim is valid.
const ClaimTime = time.Hour

// claimTries is the number of wrong codes after which the code is withdrawn.
// claimLength is the length of a code in characters.
const (
	claimTries  = 5
	claimLength = 8
)

// NewClaim makes a one-time code. The first person who writes "/start CODE" to the
// bot in a private chat becomes the first admin. A new code replaces the earlier
// one. The code is empty when there is an admin already.
func NewClaim(ctx context.Context, in *Inbox) (code string, err error) {
	admins, err := in.Admins(ctx)
	if err != nil || len(admins) > 0 {
		return "", err
	}
	in.claim.mu.Lock()
	defer in.claim.mu.Unlock()
	in.claim.code, in.claim.until, in.claim.tries = newCode(), in.Now().Add(ClaimTime), nil
	return in.claim.code, nil
}

// newCode makes a code without letters and digits that look alike.
func newCode() string {
	var b strings.Builder
	for b.Len() < claimLength {
		for _, c := range rand.Text() {
			if !strings.ContainsRune("ILO", c) && b.Len() < claimLength { // rand.Text has no 0 and no 1
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// claimAdmin handles "/start CODE" from any person in a private chat while a code
// is valid.
func claimAdmin(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	name, rest, ok := input.SplitCommand(m.Text)
	if !ok || name != "start" && name != "claim" || rest == "" || !m.Chat.Private || m.Kind != bot.MessageText {
		return Outcome{}, nil
	}
	in.claim.mu.Lock()
	defer in.claim.mu.Unlock()
	c := &in.claim
	if c.code == "" {
		return Outcome{}, nil
	}
	admins, err := in.Admins(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if len(admins) > 0 {
		c.code = "" // the config names an admin now
		return Outcome{}, nil
	}
	own := *r
	if own.Lang, err = in.Settings.Language(ctx, m.From.Key(), r.Lang); err != nil {
		return Outcome{}, err
	}
	if !in.Now().Before(c.until) {
		c.code = ""
		return took(in.ReplyText(&own, "error.claim_over", nil), nil)
	}
	if subtle.ConstantTimeCompare([]byte(plainCode(rest)), []byte(c.code)) == 0 {
		return took(wrongCode(in, &own), nil)
	}
	if err := in.Settings.Write(ctx, tasks.OwnerLegwork, tasks.SettingAdmins, []string{m.From.Key()}); err != nil {
		return Outcome{}, err
	}
	c.code = ""
	if err := in.Settings.rememberLanguage(ctx, &own); err != nil {
		return Outcome{}, err
	}
	in.Log.InfoContext(ctx, "first admin claimed", "person", m.From.Key())
	in.Audit(ctx, r, "admin.claim", m.From.Key(), "")
	return took(in.Reply(&own, WithHelp(in, &own, in.Notice(&own, "notice.claimed", nil))), nil)
}

// wrongCode counts a wrong code. A repeated delivery of the same message counts
// once.
func wrongCode(in *Inbox, r *Request) Reply {
	c := &in.claim
	if !slices.Contains(c.tries, r.Message.Key) {
		c.tries = append(c.tries, r.Message.Key)
	}
	left := claimTries - len(c.tries)
	if left <= 0 {
		c.code = ""
		return in.ReplyText(r, "error.claim_over", nil)
	}
	return in.ReplyText(r, "error.claim_wrong", map[string]any{"Count": left})
}

// plainCode is a typed code without spaces and dashes, in capital letters.
func plainCode(typed string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(typed))
}

// WithHelp adds the help text of the chat to a notice.
func WithHelp(in *Inbox, r *Request, n Notice) Notice {
	n.Text += "\n\n" + HelpText(in, r.Lang, r.Message.Chat)
	return n
}

// HelpText lists the commands that people can use in a chat.
func HelpText(in *Inbox, lang string, chat bot.Chat) string {
	if in.Ephemeral(chat) {
		return in.Texts.Text(lang, "help.terminal", nil)
	}
	return in.SpellIn(chat, in.Texts.Text(lang, "help.chat", map[string]any{"Page": chat.Platform == tasks.PlatformWeb}))
}
