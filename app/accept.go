package app

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"legwork/app/cli"
	"legwork/bot"
	botweb "legwork/bot/web"
	"legwork/tasks/api"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// codes are shown to people, so that a change is made only when one of them wants it. The
// program that asks for the change, such as a second process or a browser, may be in the
// wrong hands; so a code is shown where only people read. The zero value is usable.
type codes struct {
	mu   sync.Mutex
	open map[string]code // by the id of the change
}

type code struct {
	text  string
	until time.Time
	tries int // that are left
}

const (
	codeTime   = 10 * time.Minute
	codeTries  = 5
	codeLength = 10 // 50 random bits
	maxCodes   = 20 // that are valid at once, so that a browser cannot flood the admins
)

// fits reports whether a text is the code of a change. A code fits once.
func (c *codes) fits(id, text string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.open[id]
	text = strings.ToUpper(strings.TrimSpace(text))
	right := now.Before(known.until) && subtle.ConstantTimeCompare([]byte(text), []byte(known.text)) == 1
	if known.tries--; right || known.tries <= 0 {
		delete(c.open, id)
	} else if text != "" {
		c.open[id] = known
	}
	return right
}

// issue returns the code of a change. fresh is false when it was issued before and is
// still valid. There is none when too many are valid.
func (c *codes) issue(id string, now time.Time) (issued code, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.open, func(_ string, known code) bool { return !now.Before(known.until) })
	if known, ok := c.open[id]; ok {
		return known, false, nil
	}
	if len(c.open) >= maxCodes {
		return code{}, false, errors.New("too many codes are waiting to be entered; try again in 10 minutes")
	}
	if c.open == nil {
		c.open = map[string]code{}
	}
	issued = code{rand.Text()[:codeLength], now.Add(codeTime), codeTries}
	c.open[id] = issued
	return issued, true, nil
}

// forget drops the code of a change.
func (c *codes) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

// errNoPlace means that no place is left where only people can read a code.
var errNoPlace = errors.New("legwork cannot show the code: it reaches no admin in a chat, and its output goes to a file, which programs can read")

// showCode shows people the code of a change, unless that has happened within codeTime.
// text is the message with a code in a language. errNoPlace.
func (a *core) showCode(ctx context.Context, id string, text func(lang, code string) string) (until time.Time, err error) {
	c, fresh, err := a.codes.issue(id, a.clock.Now())
	if err != nil || !fresh {
		return c.until, err
	}
	skipped := 0
	reached, _ := a.inbox.PostToAdmins(ctx, func(to inbox.PrivateChat) (d bot.Draft, brief string) {
		// A terminal that attaches is another process, and the web chat is in the browser.
		if a.hub != nil && to.Platform.Limits().Ephemeral || to.Platform.Name() == botweb.Name {
			skipped++
			return bot.Draft{}, ""
		}
		return bot.Draft{Kind: bot.KindNotice, Text: text(to.Lang, c.text)}, ""
	})
	printed := a.printed != nil && !isFile(a.printed)
	if printed {
		fmt.Fprintln(cli.Wrapping(a.printed), text(a.config.Language, c.text))
	}
	if !printed && reached == skipped {
		a.codes.forget(id)
		return c.until, errNoPlace
	}
	return c.until, nil
}

// confirmAccept reports whether code is the one that people were shown for changes of
// tools, which a second process accepts. An empty code shows one.
func (a *core) confirmAccept(ctx context.Context, changes []tools.Change, code string) (bool, error) {
	id := idOf(changes)
	if code != "" {
		if !a.codes.fits(id, code, a.clock.Now()) {
			return false, fmt.Errorf("%w; run the command again", api.ErrWrongCode)
		}
		return true, nil
	}
	_, err := a.showCode(ctx, id, func(lang, code string) string { return a.changeCode(lang, "change.code", code, changes...) })
	if errors.Is(err, errNoPlace) {
		err = fmt.Errorf("%w; stop legwork and run the command again", err)
	}
	return false, err
}

// confirmChanges is nil when code is the one that people were shown for changes of tools,
// which somebody accepts in the page or over HTTP. An empty code shows one:
// api.ErrCodeNeeded. Other errors: api.ErrWrongCode, api.ErrForbidden.
func (a *core) confirmChanges(ctx context.Context, changes []tools.Change, code string) error {
	id := idOf(changes)
	switch {
	case code != "" && a.codes.fits(id, code, a.clock.Now()):
		return nil
	case code != "":
		return api.ErrWrongCode
	}
	_, err := a.showCode(ctx, id, func(lang, code string) string { return a.changeCode(lang, "change.code_page", code, changes...) })
	switch {
	case errors.Is(err, errNoPlace):
		return fmt.Errorf("%w: %w; start legwork serve in a terminal, or give an admin a chat", api.ErrForbidden, err)
	case err != nil:
		return err
	}
	return api.ErrCodeNeeded
}

// idOf is the id for the code of changes that are accepted together.
func idOf(changes []tools.Change) string {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	return strings.Join(ids, " ")
}

// changeCode is a text with the code of changes.
func (a *core) changeCode(lang, key, code string, changes ...tools.Change) string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = cards.InCode(c.Tool)
	}
	return a.texts.Text(lang, key, map[string]any{"Tool": strings.Join(names, ", "), "Code": code})
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
