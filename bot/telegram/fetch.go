package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/internal/failpoint"
)

const (
	getFileMethod  = "getFile"
	downloadMethod = "download" // what metrics call it; it is not a method
)

// Fetch implements bot.Fetcher: getFile says where a file can be downloaded for an hour
// at least (core.telegram.org/bots/api#getfile).
func (t *Telegram) Fetch(ctx context.Context, _ bot.Chat, a bot.Attachment, w io.Writer) error {
	for expired := false; ; expired = true {
		f, err := t.getFile(ctx, a.Ref)
		if err != nil {
			return err
		}
		err = t.api.download(ctx, f.Path, f.Size, w)
		if missing, ok := errors.AsType[statusError](err); !ok || missing != http.StatusNotFound {
			return err
		}
		if expired { // a new address leads to nothing either
			return fmt.Errorf("%w: %w", bot.ErrFileGone, err)
		}
	}
}

// storedFile is where Telegram's server has a file (core.telegram.org/bots/api#file).
type storedFile struct {
	Path string `json:"file_path"`
	Size int64  `json:"file_size"` // 0: unknown
}

// getFile asks for the address of a file.
func (t *Telegram) getFile(ctx context.Context, id string) (f storedFile, err error) {
	for {
		err = t.caller.call(ctx, t.caller.request(bot.Chat{}, getFileMethod, bot.PriorityNormal), func() error {
			return t.api.call(ctx, callTimeout, getFileMethod, tgbotapi.Params{"file_id": id}, &f)
		})
		refused, ok := asRefusal(err)
		switch {
		case err == nil:
			return f, f.check()
		case !ok:
			return f, err
		case refused.rateLimited():
			continue
		case refused.says("file is too big"):
			return f, fmt.Errorf("%w: %w", bot.ErrFileLarge, err)
		case refused.code != http.StatusBadRequest || refused.says("temporarily unavailable"):
			return f, err
		}
		return f, fmt.Errorf("%w: %w", bot.ErrFileGone, err)
	}
}

// check refuses a path on the disk of a Bot API server that runs with --local: legwork
// reads no file because another program names it.
func (f storedFile) check() error {
	switch {
	case f.Path == "":
		return fmt.Errorf("calling %s: Telegram does not say where the file is", getFileMethod)
	case path.IsAbs(f.Path) || strings.Contains(f.Path, `:\`):
		return fmt.Errorf("%w: the Bot API server at telegram.api_url runs with --local and gives a path on its disk; run it without --local", bot.ErrFileGone)
	}
	return nil
}

// download writes a file to w. size is its length as Telegram says; 0: unknown.
func (c *client) download(ctx context.Context, file string, size int64, w io.Writer) (err error) {
	ctx, done := c.measure(ctx, downloadMethod)
	defer func() { done(err) }()
	failpoint.Hit("telegram.before." + downloadMethod)
	defer failpoint.Hit("telegram.after." + downloadMethod)
	return bot.Download(ctx, c.stall, size, w, func(ctx context.Context) (io.ReadCloser, error) {
		segments := strings.Split(file, "/")
		for i, s := range segments {
			segments[i] = url.PathEscape(s)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.files+strings.Join(segments, "/"), http.NoBody)
		if err != nil {
			return nil, errors.New("downloading a file: its path makes no address") // the cause holds the token
		}
		r.Header.Set("Accept-Encoding", "identity") // so that lengths are those of the file
		resp, err := c.http.Do(r)
		switch {
		case err != nil:
			return nil, fmt.Errorf("downloading a file: %w", c.redact(err))
		case resp.StatusCode != http.StatusOK:
			resp.Body.Close()
			return nil, fmt.Errorf("downloading a file: %w", statusError(resp.StatusCode))
		}
		return resp.Body, nil
	})
}
