package app

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"legwork/app/cli"
	"legwork/bot"
	"legwork/tasks/api"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// acceptCodes are the codes with which a second process accepts changes of tools. Any
// program of this user can be that process, so a code is shown where only people read.
// The zero value is usable.
type acceptCodes struct {
	mu    sync.Mutex
	codes map[string]acceptCode // by the id of the change
}

type acceptCode struct {
	text  string
	until time.Time
}

const (
	acceptTime   = 10 * time.Minute
	acceptLength = 10 // 50 random bits
)

// fits reports whether a code is that of a change. A code fits once.
func (a *acceptCodes) fits(id, code string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.codes[id]
	code = strings.ToUpper(strings.TrimSpace(code))
	if !now.Before(c.until) || subtle.ConstantTimeCompare([]byte(code), []byte(c.text)) == 0 {
		return false
	}
	delete(a.codes, id)
	return true
}

// issue returns the code of a change. fresh is false when it was issued before and is
// still valid.
func (a *acceptCodes) issue(id string, now time.Time) (code string, fresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.codes[id]; now.Before(c.until) {
		return c.text, false
	}
	if a.codes == nil {
		a.codes = map[string]acceptCode{}
	}
	c := acceptCode{rand.Text()[:acceptLength], now.Add(acceptTime)}
	a.codes[id] = c
	return c.text, true
}

// forget drops the code of a change.
func (a *acceptCodes) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.codes, id)
}

// errNoPlace means that no place is left where only people can read a code.
var errNoPlace = errors.New("legwork cannot show the code: it reaches no admin in a chat, and the output of legwork serve goes to a file, which programs can read")

// confirmAccept is confirm for a second process that accepts a changed tool. It reports
// whether the code fits; false when people were shown one.
func (a *core) confirmAccept(ctx context.Context, c tools.Change, code string) (bool, error) {
	err := a.confirm(ctx, c.ID, code, func(lang, code string) string { return a.changeCode(lang, "change.code", code, c) })
	switch {
	case errors.Is(err, api.ErrCodeNeeded):
		return false, nil
	case errors.Is(err, api.ErrWrongCode):
		return false, fmt.Errorf("%w; run the command again", err)
	case errors.Is(err, errNoPlace):
		return false, fmt.Errorf("%w; stop legwork and run the command again", err)
	}
	return err == nil, err
}

// confirmChanges is confirm for somebody who accepts changed tools in the page or by the
// API.
func (a *core) confirmChanges(ctx context.Context, changes []tools.Change, code string) error {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	err := a.confirm(ctx, strings.Join(ids, " "), code, func(lang, code string) string { return a.changeCode(lang, "change.code_page", code, changes...) })
	if errors.Is(err, errNoPlace) {
		return fmt.Errorf("%w: %w; start legwork serve in a terminal, or give an admin a chat", api.ErrForbidden, err)
	}
	return err
}

// changeCode is a text with the code of changes.
func (a *core) changeCode(lang, key, code string, changes ...tools.Change) string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = cards.InCode(c.Tool)
	}
	return a.texts.Text(lang, key, map[string]any{"Tool": strings.Join(names, ", "), "Code": code})
}

// confirm returns nil when code is the one that people were shown for a change. An empty
// code shows them one in text, unless that has happened within acceptTime:
// api.ErrCodeNeeded. Other errors: api.ErrWrongCode, errNoPlace.
func (a *core) confirm(ctx context.Context, id, code string, text func(lang, code string) string) error {
	if code != "" {
		if !a.acceptCodes.fits(id, code, a.clock.Now()) {
			return api.ErrWrongCode
		}
		return nil
	}
	code, fresh := a.acceptCodes.issue(id, a.clock.Now())
	if !fresh {
		return api.ErrCodeNeeded
	}
	skipped := 0
	reached, _ := a.inbox.PostToAdmins(ctx, func(to inbox.PrivateChat) (d bot.Draft, brief string) {
		// A terminal that attaches is another process, and the page is where the code goes.
		if a.hub != nil && to.Platform.Limits().Ephemeral || to.Platform.Name() == "web" {
			skipped++
			return bot.Draft{}, ""
		}
		return bot.Draft{Kind: bot.KindNotice, Text: text(to.Lang, code)}, ""
	})
	printed := a.printed != nil && !isFile(a.printed)
	if printed {
		fmt.Fprintln(cli.Wrapping(a.printed), text(a.config.Language, code))
	}
	if !printed && reached == skipped {
		a.acceptCodes.forget(id)
		return errNoPlace
	}
	return api.ErrCodeNeeded
}

// isFile reports whether an output is kept in a file.
func isFile(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode().IsRegular()
}
