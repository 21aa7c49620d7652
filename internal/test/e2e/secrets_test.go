package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/oauthfake"
	"legwork/internal/test/fakes/telegramfake"
)

// The secrets of people, which must be nowhere to be seen.
const (
	secretOfBob = "canary+of/bob=for-the-crm-11"
	secretOfAnn = "canary-of-ann-for-the-crm-12"
	wrongSecret = "canary-that-the-crm-refuses-13"
)

// withSecrets makes people give secrets for the server crm.
func withSecrets(t *testing.T, w *env) *oauthfake.Server {
	t.Helper()
	crm := oauthfake.New(t, "crm")
	crm.Accept(secretOfBob, "bob")
	crm.Accept(secretOfAnn, "ann")
	auth := `{type: secret, identity: person, header: "Authorization: Bearer {secret}"}`
	w.configure(strings.Replace(strings.Replace(w.config, "groups:\n", "groups:\n  crm: {description: Knows customers., servers: [crm], approve: never}\n", 1), "servers:\n", fmt.Sprintf("servers:\n  crm: {url: %q, auth: %s}\n", crm.URL+"/mcp", auth), 1))
	return crm
}

// hidden checks that no secret is in a file of legwork, such as its database, in its output
// or in what a model was asked.
func (w *env) hidden(s *serving) {
	w.t.Helper()
	places := map[string]string{"the log": s.err.String() + s.out.String()}
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			places[path] = string(text)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	for _, r := range w.models.Requests() {
		places["a prompt"] += prompt(r)
	}
	for place, text := range places {
		for _, secret := range []string{secretOfBob, secretOfAnn, wrongSecret} {
			for _, form := range sung(text, secret) {
				w.t.Errorf("%s holds a secret, %s", place, form)
			}
		}
	}
}

// TestSecrets: two people give their secrets in Telegram. Each acts in their own name, the
// messages with the secrets are deleted, and a secret that the server refuses is replaced.
func TestSecrets(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{think: whoami}})
	withSecrets(t, b.env)
	s := b.opens()
	bob, ann := b.Private(b.bob), b.Private(b.ann)

	b.Say(bob, b.bob, "who am I?")
	card := b.offers(bob, "Connect", "crm", "requires you to sign in")
	b.taps(b.bob, bob, card.ID, "Connect")
	b.gives(bob, b.bob, card.ID, wrongSecret)
	card = b.meets(bob, "the card after a wrong secret", func(m telegramfake.Message) bool {
		return m.ID > card.ID && strings.Contains(m.Text, "requires you to sign in")
	})
	b.taps(b.bob, bob, card.ID, "Connect")
	b.gives(bob, b.bob, card.ID, secretOfBob)
	b.sees(bob, "You are bob.")

	// With the command, the secret is taken at once.
	given := b.Say(ann, b.ann, "/connect crm "+secretOfAnn)
	b.sees(ann, "I keep your secret for crm encrypted")
	b.gone(ann, given)
	for chat, u := range map[int64]telegramfake.User{bob: b.bob, ann: b.ann} {
		b.Say(chat, u, "who am I at last?")
		b.sees(chat, "You are "+strings.ToLower(u.Name)+".")
	}
	b.Say(bob, b.bob, "/connections")
	offer := b.offers(bob, "Disconnect: crm", "crm: connected since", "with a secret; last used")
	if p := b.answered(b.taps(b.bob, bob, offer.ID, "Disconnect: crm").ID); !strings.Contains(p.Text, "Disconnected from crm. The secret itself is still valid") {
		t.Errorf("got the answer %q", p.Text)
	}
	b.Say(bob, b.bob, "/history")
	b.sees(bob, "who am I at last?")
	s.stops()
	b.hidden(s)
}

// gives gives a secret that legwork has asked for after a message, and waits until the
// message with it is deleted.
func (b *telegramEnv) gives(chat int64, u telegramfake.User, asked int, secret string) {
	b.t.Helper()
	b.meets(chat, "the question for the secret", func(m telegramfake.Message) bool {
		return m.ID > asked && strings.Contains(m.Text, "Send me your secret for crm as your next message")
	})
	given := b.Say(chat, u, secret)
	b.meets(chat, "that the secret is kept", func(m telegramfake.Message) bool {
		return m.ID > given && strings.Contains(m.Text, "I keep your secret for crm encrypted, and use it in your name") && !strings.Contains(m.Text, "could not delete")
	})
	b.gone(chat, given)
}

// gone waits until a message is deleted.
func (b *telegramEnv) gone(chat int64, id int) {
	b.t.Helper()
	b.until(fmt.Sprintf("message %d deleted", id), func(v telegramfake.View) bool {
		return !slices.ContainsFunc(v.Chat(chat).Messages, func(m telegramfake.Message) bool { return m.ID == id })
	})
}

// TestSecretNotDeleted: a person is told to delete a message that Telegram does not delete.
// Another text after a secret is a question again, and /cancel ends the wait for one.
func TestSecretNotDeleted(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{think: whoami}})
	withSecrets(t, b.env)
	s := b.opens()
	bob := b.Private(b.bob)
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultError, Method: "deleteMessage", Status: 500})
	b.Say(bob, b.bob, "/connect crm")
	b.sees(bob, "Send me your secret for crm")
	b.Say(bob, b.bob, secretOfBob)
	b.sees(bob, "I keep your secret for crm", "I could not delete the message with the secret. Delete it yourself.")
	b.Say(bob, b.bob, "who am I?")
	b.sees(bob, "You are bob.")

	b.Say(bob, b.bob, "/connect crm")
	b.Say(bob, b.bob, "/cancel")
	b.sees(bob, "I wait for no secret any more.")
	question := b.Say(bob, b.bob, "first: hello")
	b.meets(bob, "an answer", func(m telegramfake.Message) bool { return m.ID > question && strings.Contains(m.Text, "It says") })

	group := b.group(b.Supergroup("Friends", b.ann, b.bob))
	b.Say(group, b.bob, "/connect@legwork_bot crm "+secretOfBob)
	b.sees(group, "Write /connect to me in a private chat.", "I could not delete the message with the secret.")
	s.stops()
	b.hidden(s)
}

// TestSecretKill: after a kill between taking a secret and deleting its message, the
// next run deletes it, and the secret is nowhere in the clear meanwhile.
func TestSecretKill(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{think: whoami}})
	withSecrets(t, b.env)
	s := b.opens()
	bob := b.Private(b.bob)
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultDelay, Method: "deleteMessage", Delay: time.Hour})
	b.Say(bob, b.bob, "/connect crm")
	b.sees(bob, "Send me your secret for crm")
	given := b.Say(bob, b.bob, secretOfBob)
	s.logged("secret stored")
	s.kill()
	b.Heal()
	b.hidden(s)
	s = b.opens()
	b.sees(bob, "I keep your secret for crm encrypted")
	b.gone(bob, given)
	b.Say(bob, b.bob, "who am I?")
	b.sees(bob, "You are bob.")
	s.stops()
	b.hidden(s)
}

// TestSlackSecrets: Slack asks for secrets in a form, out of a command, a button and a
// thread.
func TestSlackSecrets(t *testing.T) {
	t.Parallel()
	for _, http := range []bool{false, true} {
		t.Run(fmt.Sprintf("http %v", http), func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{http: http, options: options{think: whoami}})
			crm := withSecrets(t, o.env)
			crm.Accept(secretOfBob, ben)
			s := o.opens()

			o.slash("/legwork", "connect crm", annDM, ann)
			o.submits(ann, secretOfAnn)
			o.answers(in(annDM), "I keep your secret for", "encrypted")
			o.slash("/legwork", "connections", benDM, ben)
			o.taps(o.offers(in(benDM), "Connect: crm", "not connected"), "Connect: crm", ben)
			o.submits(ben, secretOfBob)
			o.answers(in(benDM), "I keep your secret for", "encrypted")
			for dm, user := range map[string]string{annDM: ann, benDM: ben} {
				o.Say(dm, user, "who am I?", "")
				o.answers(in(dm), "You are "+map[string]string{ann: "ann", ben: ben}[user]+".")
			}

			// In a thread there are no slash commands, and so no form without a button.
			top := o.Say(annDM, ann, "first: hello", "")
			thread := under(annDM, top)
			o.Say(annDM, ann, "!connect crm", top)
			o.taps(o.offers(thread, "Enter the secret", "Press the button"), "Enter the secret", ann)
			o.submits(ann, secretOfAnn)
			o.Say(annDM, ann, "!connect crm "+secretOfAnn, top)
			o.sees(thread, "I keep your secret for", "I could not delete the message with the secret.")
			s.stops()
			o.hidden(s)
			if v := o.Violations(); len(v) > 0 {
				t.Errorf("got the violations %q", v)
			}
		})
	}
}

// submits waits for a form of a person, and sends it with a secret.
func (o *slackEnv) submits(user, secret string) {
	o.t.Helper()
	o.until("a form of "+user, func() bool { return len(o.Modals(user)) > 0 })
	if m := o.Modals(user)[0]; m.Title != "Connect" || m.Label != "Your secret for crm" {
		o.t.Errorf("got the form %+v", m)
	}
	if _, err := o.Submit(user, secret); err != nil {
		o.t.Fatal(err)
	}
}
