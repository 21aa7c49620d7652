package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/internal/retry"
)

// The steps of an upload (docs.slack.dev/messaging/working-with-files). The middle
// one is not a method: it goes to an address that Slack returns.
const (
	askMethod   = "files.getUploadURLExternal"
	sendMethod  = "upload"
	shareMethod = "files.completeUploadExternal"
)

// scopePause is how long legwork sends no files after Slack said that the app may
// not send any. An app that was installed again may.
const scopePause = 10 * time.Minute

// Files implements bot.Filer: false for a while after Slack said that
// the scope is missing.
func (s *Slack) Files(bot.Chat) bool {
	until := s.noFiles.Load()
	return until == nil || s.now().After(*until)
}

// postFile sends a draft that is a file, and returns the ts of the message that shows it.
// A text that cannot stand beside the file follows as messages.
func (s *Slack) postFile(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	comment, rest := commentOf(d), (func() (string, error))(nil)
	if comment == "" && (d.Text != "" || d.Footer != "" || len(d.Buttons) > 0) {
		text := d
		text.File = nil
		rest = func() (id string, err error) {
			for _, part := range s.Split(text) {
				if id, err = s.postMessage(ctx, to, part); err != nil {
					return "", wrapGone(err)
				}
			}
			return id, nil
		}
	}
	id, err := s.uploads.Send(to, &d, func(f *bot.File) (string, error) { return s.sendFile(ctx, to, &d, f, comment) }, rest)
	if err != nil {
		return "", err
	}
	return s.shareOf(ctx, to, id), nil
}

// maxComment is the longest text beside a file, in bytes.
const maxComment = 1024

// commentOf is the text of a draft as the comment of its file; empty where it has to be a
// message of its own. Slack shows previews of the links in a comment, which can leak data,
// and no buttons below it.
func commentOf(d bot.Draft) string {
	text := strings.TrimSpace(markdown.Plain(d.Text))
	if len(text) > maxComment || len(d.Buttons) > 0 || d.Footer != "" || strings.Contains(d.Text, "://") || strings.Contains(text, "www.") {
		return ""
	}
	return markdown.SlackEscape(text)
}

// sendFile brings a file into a conversation and returns its id. Slack shows it after it
// has processed it, usually at once.
func (s *Slack) sendFile(ctx context.Context, to bot.Chat, d *bot.Draft, f *bot.File, comment string) (id string, err error) {
	err = bot.ErrNoFiles
	if s.Files(to) {
		id, err = s.upload(ctx, to, f, comment, d.Priority(true))
		err = s.fileError(ctx, err)
	}
	if err != nil {
		return "", fmt.Errorf("sending the file %s: %w", f.BaseName(), err)
	}
	return id, nil
}

// upload asks for an address, sends the content there and shares the file.
func (s *webClient) upload(ctx context.Context, to bot.Chat, f *bot.File, comment string, urgency bot.Priority) (id string, err error) {
	var place *slackgo.GetUploadURLExternalResponse
	name := f.BaseName()
	err = s.call(ctx, request{method: askMethod, urgency: urgency}, func(ctx context.Context) (err error) {
		place, err = s.api.GetUploadURLExternalContext(ctx, slackgo.GetUploadURLExternalParameters{FileName: name, FileSize: len(f.Content)})
		return err
	})
	if err != nil {
		return "", err
	}
	err = s.call(ctx, request{method: sendMethod, urgency: urgency}, func(ctx context.Context) error {
		return withoutAddress(place.UploadURL, s.sendContent(ctx, place.UploadURL, f))
	})
	if err != nil {
		return "", err
	}
	return place.FileID, s.call(ctx, request{method: shareMethod, urgency: urgency}, func(ctx context.Context) error {
		_, err := s.api.CompleteUploadExternalContext(ctx, slackgo.CompleteUploadExternalParameters{
			Files: []slackgo.FileSummary{{ID: place.FileID, Title: name}}, Channel: to.ID, ThreadTimestamp: to.Thread, InitialComment: comment,
		})
		return err
	})
}

// How long the content of a file may take: a while, and a second more for so many bytes.
const (
	uploadTimeout = time.Minute
	slowUpload    = 128 << 10
)

// sendContent sends the content of a file to the address of its upload, which needs no
// token.
func (s *webClient) sendContent(ctx context.Context, address string, f *bot.File) error {
	if !s.config.holdsFiles(address) {
		return errors.New("the upload address is not one of Slack's")
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout+time.Duration(len(f.Content)/slowUpload)*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(f.Content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := s.files.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // at least a second counts
		return &slackgo.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second}
	}
	return slackgo.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
}

// shareTries is how often legwork looks for the message of a file, with growing pauses:
// about ten seconds in all.
const shareTries = 7

// shareOf is the ts of the message that shows a file of the bot in a conversation. Slack
// makes it some time after the upload. Where legwork does not find it, the id of the file
// stands for it: sending the file again would double it.
func (s *Slack) shareOf(ctx context.Context, to bot.Chat, id string) string {
	pauses := s.timings.retries()
	for range shareTries {
		var f *slackgo.File
		err := s.call(ctx, request{method: fileInfoMethod, urgency: bot.PriorityNormal}, func(ctx context.Context) (err error) {
			f, _, _, err = s.api.GetFileInfoContext(ctx, id, 1, 1)
			return err
		})
		if err != nil && !passing(err) || ctx.Err() != nil {
			s.log.WarnContext(ctx, "slack: message of a file not found", "chat", to.Key(), "cause", err)
			return id
		}
		if err == nil {
			for _, share := range append(f.Shares.Public[to.ID], f.Shares.Private[to.ID]...) {
				if share.Ts != "" {
					return share.Ts
				}
			}
		}
		if retry.Sleep(ctx, pauses.Next()) != nil {
			return id
		}
	}
	s.log.WarnContext(ctx, "slack: message of a file not found in time", "chat", to.Key())
	return id
}

// withoutAddress removes an upload's address from an error: with it, somebody
// could upload another file.
func withoutAddress(address string, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil && strings.Contains(err.Error(), address) {
		return errors.New("the upload address is not one of Slack's")
	}
	return err
}

// fileError turns an error into bot.ErrNoFiles when no further try helps, but a
// message without the file may be accepted.
func (s *Slack) fileError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case code(err) == "missing_scope":
		until := s.now().Add(scopePause)
		s.noFiles.Store(&until)
		s.log.ErrorContext(ctx, "slack: files shown as text, the app lacks the scope files:write; "+
			"paste the manifest of \"legwork slack manifest\" into the app and install it again", "cause", err)
	case gone(err):
		return wrapGone(err)
	case !contentRefused(err) && !uploadRefused(err):
		return err
	}
	if status, ok := errors.AsType[slackgo.StatusCodeError](err); ok && status.Code == http.StatusRequestEntityTooLarge || code(err) == "file_upload_size_restricted" {
		return fmt.Errorf("%w: %w: %w", bot.ErrNoFiles, bot.ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
}

// uploadRefused reports whether the upload address refused the file.
func uploadRefused(err error) bool {
	status, ok := errors.AsType[slackgo.StatusCodeError](err)
	passing := []int{http.StatusRequestTimeout, http.StatusTooManyRequests}
	return ok && status.Code >= 400 && status.Code < 500 && !slices.Contains(passing, status.Code)
}
