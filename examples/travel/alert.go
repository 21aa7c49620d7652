package main

import (
	"cmp"
	"context"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Notification is a message that would go out if this were no example.
type Notification struct {
	Number  string    `json:"notification" jsonschema:"such as NTF-6WZ2HC"`
	To      string    `json:"to"`
	Channel string    `json:"channel"`
	Message string    `json:"message"`
	SentAt  time.Time `json:"sent_at"`
}

type newNotification struct {
	To      string `json:"to"`
	Channel string `json:"channel"`
	Message string `json:"message"`
}

var phone = regexp.MustCompile(`^\+[0-9 -]{7,20}$`)

func (a *agency) alertTools() []server.ServerTool {
	return []server.ServerTool{
		handle(a.sendNotification, mcp.NewTool("send_notification", adds,
			mcp.WithDescription("Sends a short message to one person, again with every call. (In this example it only goes into the database.)"),
			mcp.WithString("to", mcp.Required(), mcp.MinLength(1), mcp.MaxLength(200), mcp.Description("push: a name; email: an address; sms: a phone number such as +86 138 0013 8000")),
			mcp.WithString("message", mcp.Required(), mcp.MinLength(1), mcp.MaxLength(2000), mcp.Description("plain text")),
			mcp.WithString("channel", mcp.Enum("push", "email", "sms"), mcp.DefaultString("push")))),
	}
}

func (a *agency) sendNotification(ctx context.Context, n newNotification) (Notification, error) {
	done := Notification{To: n.To, Channel: cmp.Or(n.Channel, "push"), Message: n.Message, SentAt: a.now().UTC().Truncate(time.Second)}
	if _, err := mail.ParseAddress(n.To); done.Channel == "email" && err != nil {
		return done, fmt.Errorf("to is %q, which is no e-mail address: nothing was sent; use channel push for a name", n.To)
	}
	if done.Channel == "sms" && !phone.MatchString(n.To) {
		return done, fmt.Errorf("to is %q, which is no phone number that begins with + and the country: nothing was sent; use channel push for a name", n.To)
	}
	err := a.file.change(ctx, func(l *database) error {
		done.Number = newNumber("NTF", func(number string) bool {
			return slices.ContainsFunc(l.Notifications, func(n Notification) bool { return n.Number == number })
		})
		l.Notifications = append(l.Notifications, done)
		return nil
	})
	return done, err
}
