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

// confirmAccept reports whether code is the one that people were shown for a change. An
// empty code shows one, unless that has happened within acceptTime.
func (a *core) confirmAccept(ctx context.Context, c tools.Change, code string) (bool, error) {
	if code != "" {
		if !a.acceptCodes.fits(c.ID, code, a.clock.Now()) {
			return false, errors.New("the code is wrong or has expired; run the command again")
		}
		return true, nil
	}
	code, fresh := a.acceptCodes.issue(c.ID, a.clock.Now())
	if !fresh {
		return false, nil
	}
	text := func(lang string) string {
		return a.texts.Text(lang, "change.code", map[string]any{"Tool": cards.InCode(c.Tool), "Code": code})
	}
	skipped := 0
	reached, _ := a.inbox.PostToAdmins(ctx, func(to inbox.PrivateChat) (d bot.Draft, brief string) {
		if a.hub != nil && to.Platform.Limits().Ephemeral { // a terminal that attaches is another process
			skipped++
			return bot.Draft{}, ""
		}
		return bot.Draft{Kind: bot.KindNotice, Text: text(to.Lang)}, ""
	})
	printed := a.hub != nil && !isFile(a.printed)
	if printed {
		fmt.Fprintln(cli.Wrapping(a.printed), text(a.config.Language))
	}
	if !printed && reached == skipped {
		a.acceptCodes.forget(c.ID)
		return false, errors.New("legwork cannot show the code: it reaches no admin in a chat, and the output of legwork serve goes to a file, which programs can read; stop legwork and run the command again")
	}
	return false, nil
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
