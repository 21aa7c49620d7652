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

// SignInLink makes a link that signs a person in at the page once, within
// tasks.LinkTime. The secret is in the fragment, which browsers send to no server.
// ErrNoPage.
func SignInLink(ctx context.Context, in *Inbox, v tasks.Visitor) (string, error) {
	page := ""
	if in.Page != nil {
		page = in.Page()
	}
	if page == "" {
		return "", ErrNoPage
	}
	code := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(code))
	if err := in.Store.PutLink(ctx, tasks.SignInLink{ID: hex.EncodeToString(sum[:]), Visitor: v}); err != nil {
		return "", fmt.Errorf("making sign-in link: %w", err)
	}
	return strings.TrimSuffix(page, "/") + "/console/enter#" + code, nil
}

// VisitorOf is the author of a message as a visitor of the page.
func VisitorOf(m bot.Message) tasks.Visitor {
	return tasks.Visitor{Person: m.From, Chat: m.Chat, Team: m.Team, External: m.External}
}

// AdmitsVisitor reports whether legwork listens to a visitor of the page, as it would
// in the chat that the link was made in, and whether the visitor is an admin.
func (in *Inbox) AdmitsVisitor(ctx context.Context, v tasks.Visitor) (admitted, admin bool, err error) {
	return in.admit(ctx, bot.Message{From: v.Person, Chat: v.Chat, Team: v.Team, External: v.External}, in.rules.Load().Access)
}
