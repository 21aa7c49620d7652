package inbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"legwork/bot"
	"legwork/tasks"
)

// ErrNoPage means that legwork serves no page.
var ErrNoPage = errors.New("there is no page: http.listen of the config is empty")

// PageURL is the address of the page, without its path; empty when there is none.
func PageURL(in *Inbox) string {
	if in.Page == nil {
		return ""
	}
	return in.Page()
}

// SignInLink makes a link that signs a person in at the page once, within
// tasks.LinkTime. The secret is in the fragment, which browsers send to no server.
// ErrNoPage.
func SignInLink(ctx context.Context, in *Inbox, v tasks.ChatPerson) (string, error) {
	page := PageURL(in)
	if page == "" {
		return "", ErrNoPage
	}
	code := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(code))
	if err := in.Store.PutLink(ctx, tasks.SignInLink{ID: hex.EncodeToString(sum[:]), ChatPerson: v}); err != nil {
		return "", fmt.Errorf("making sign-in link: %w", err)
	}
	return strings.TrimSuffix(page, "/") + "/console/enter#" + code, nil
}

// ChatPersonOf is the author of a message as a person at the page.
func ChatPersonOf(m bot.Message) tasks.ChatPerson {
	return tasks.ChatPerson{Person: m.From, Chat: m.Chat, Team: m.Team, External: m.External}
}

// AdmitsPerson reports whether legwork listens to a person at the page, as it would
// in the chat that the link was made in, and whether the person is an admin.
func AdmitsPerson(ctx context.Context, in *Inbox, v tasks.ChatPerson) (admitted, admin bool, err error) {
	return in.admit(ctx, bot.Message{From: v.Person, Chat: v.Chat, Team: v.Team, External: v.External}, in.rules.Load().Access)
}
