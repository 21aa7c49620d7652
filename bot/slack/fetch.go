package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/internal/failpoint"
)

const (
	fileInfoMethod = "files.info"
	downloadMethod = "download" // what metrics call it; it is not a method
)

// errNotGiven means that an address does not give the file. Another address may.
var errNotGiven = errors.New("slack does not give the file")

// Fetch implements bot.Fetcher. A file comes from its private address, with the app's
// token (docs.slack.dev/reference/objects/file-object). When there is no address, or the
// one in the message leads to nothing, files.info says why, or names another.
func (s *Slack) Fetch(ctx context.Context, _ bot.Chat, a bot.Attachment, w io.Writer) error {
	ref := parseFileRef(a.Ref)
	if ref.url != "" {
		if err := s.download(ctx, ref.url, w); !errors.Is(err, errNotGiven) {
			return err
		}
	}
	f, err := s.fileInfo(ctx, ref.id)
	if err != nil {
		return err
	}
	err = s.download(ctx, f.ref().url, w)
	if errors.Is(err, errNotGiven) {
		return fmt.Errorf("%w: %w", bot.ErrFileGone, err)
	}
	return err
}

// fileInfo asks Slack about a file.
func (s *webClient) fileInfo(ctx context.Context, id string) (fileInfo, error) {
	var f *slackgo.File
	err := s.call(ctx, request{method: fileInfoMethod, urgency: bot.PriorityNormal}, func(ctx context.Context) (err error) {
		f, _, _, err = s.api.GetFileInfoContext(ctx, id, 1, 1)
		return err
	})
	switch {
	case err != nil && passing(err):
		return fileInfo{}, err
	case err != nil:
		return fileInfo{}, fmt.Errorf("%w: %w", bot.ErrFileGone, explain(err))
	case f.Mode == tombstone || f.Mode == "hidden_by_limit":
		return fileInfo{}, fmt.Errorf("%w: it was deleted, or is hidden by the limits of the workspace", bot.ErrFileGone)
	case f.IsExternal:
		return fileInfo{}, fmt.Errorf("%w: it lies outside of Slack", bot.ErrFileGone)
	}
	return fileInfo{ID: f.ID, Private: f.URLPrivate, Download: f.URLPrivateDownload}, nil
}

// download writes the file at an address to w. Its length is that of the answer: a
// snippet may have changed since the message.
func (s *webClient) download(ctx context.Context, address string, w io.Writer) error {
	if !s.config.holdsFiles(address) {
		return fmt.Errorf("%w: its address is not one of Slack's", errNotGiven)
	}
	return s.measure(ctx, downloadMethod, func(ctx context.Context) error {
		failpoint.Hit("slack.before." + downloadMethod)
		defer failpoint.Hit("slack.after." + downloadMethod)
		return bot.Download(ctx, s.timings.stall, 0, w, func(ctx context.Context) (io.ReadCloser, error) {
			resp, err := s.openFile(ctx, address)
			if err != nil {
				return nil, fmt.Errorf("downloading a file: %w", err)
			}
			return resp.Body, nil
		})
	})
}

// openFile begins a download. Redirects are not followed: one leads to the page where
// people sign in, and no other server may get the token.
func (s *webClient) openFile(ctx context.Context, address string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.config.BotToken)
	r.Header.Set("Accept-Encoding", "identity") // so that lengths are those of the file
	resp, err := s.files.Do(r)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusOK && !isPage(resp.Header):
		return resp, nil
	case resp.StatusCode == http.StatusOK:
		err = fmt.Errorf("%w, but a page where people sign in: the app may lack the scope files:read", errNotGiven)
	case resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusRequestTimeout:
		err = fmt.Errorf("%w: it answered %s", errNotGiven, http.StatusText(resp.StatusCode))
	default:
		err = slackgo.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	}
	resp.Body.Close()
	return nil, err
}

// isPage reports whether an answer is a page of Slack's own: a file comes as an
// attachment, also when it is HTML.
func isPage(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/html" && !strings.HasPrefix(h.Get("Content-Disposition"), "attachment")
}

// holdsFiles reports whether an address is one where Slack holds files. The app's token
// goes nowhere else.
func (c Config) holdsFiles(address string) bool {
	to, err := url.Parse(address)
	api, bad := url.Parse(c.APIURL)
	if err != nil || bad != nil || to.User != nil {
		return false
	}
	slacks := to.Scheme == "https" && (to.Host == "files.slack.com" || to.Host == "files."+api.Host)
	return slacks || c.APIURL != DefaultAPIURL && to.Scheme == api.Scheme && to.Host == api.Host
}
