package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// The steps of an upload. The middle one goes to an address that Slack names;
// it has no name of its own.
const (
	askMethod   = "files.getUploadURLExternal"
	sendMethod  = "upload"
	shareMethod = "files.completeUploadExternal"
)

// scopePause is for how long files are not tried after Slack said that the app
// may not send any: an app that is installed again may.
const scopePause = 10 * time.Minute

// Files implements bot.Filer: false for a while after Slack missed the scope.
func (s *Slack) Files(bot.Chat) bool {
	until := s.noFiles.Load()
	return until == nil || s.now().After(*until)
}

// sendFile brings a file into a conversation. Slack shows it when it has looked
// at it, as a rule at once.
func (s *Slack) sendFile(ctx context.Context, to bot.Chat, d *bot.Draft, f *bot.File) error {
	err := bot.ErrNoFiles
	if s.Files(to) {
		err = s.declined(ctx, s.upload(ctx, to, f, d.Priority(true)))
	}
	if err != nil {
		return fmt.Errorf("sending the file %s: %w", f.BaseName(), err)
	}
	return nil
}

// upload asks for an address, sends the content there and shares the file.
func (s *Slack) upload(ctx context.Context, to bot.Chat, f *bot.File, urgency bot.Priority) error {
	var place *slackgo.GetUploadURLExternalResponse
	name := f.BaseName()
	err := s.call(ctx, request{method: askMethod, urgency: urgency}, func(ctx context.Context) (err error) {
		place, err = s.api.GetUploadURLExternalContext(ctx, slackgo.GetUploadURLExternalParameters{FileName: name, FileSize: len(f.Content)})
		return err
	})
	if err != nil {
		return err
	}
	err = s.call(ctx, request{method: sendMethod, urgency: urgency}, func(ctx context.Context) error {
		return withoutAddress(place.UploadURL, s.api.UploadToURL(ctx, slackgo.UploadToURLParameters{
			UploadURL: place.UploadURL, Content: string(f.Content), Filename: name,
		}))
	})
	if err != nil {
		return err
	}
	return s.call(ctx, request{method: shareMethod, urgency: urgency}, func(ctx context.Context) error {
		_, err := s.api.CompleteUploadExternalContext(ctx, slackgo.CompleteUploadExternalParameters{
			Files: []slackgo.FileSummary{{ID: place.FileID, Title: name}}, Channel: to.ID, ThreadTimestamp: to.Thread,
		})
		return err
	})
}

// withoutAddress takes an upload's address out of an error: whoever has it can
// put another file there.
func withoutAddress(address string, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil && strings.Contains(err.Error(), address) {
		return errors.New("the address that Slack named for the file is none of Slack's")
	}
	return err
}

// declined makes bot.ErrNoFiles of an error after which no further try helps,
// while a message without the file may be taken.
func (s *Slack) declined(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case code(err) == "missing_scope":
		until := s.now().Add(scopePause)
		s.noFiles.Store(&until)
		s.log.ErrorContext(ctx, "slack: files cannot be sent and are shown as text, because the app lacks the scope files:write; "+
			"paste the manifest of \"legwork slack manifest\" into the app and install it again", "cause", err)
	case gone(err):
		return mark(err)
	case !refused(err) && !rejected(err):
		return err
	}
	return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
}

// rejected reports whether the place for a file did not take it.
func rejected(err error) bool {
	status, ok := errors.AsType[slackgo.StatusCodeError](err)
	passing := []int{http.StatusRequestTimeout, http.StatusTooManyRequests}
	return ok && status.Code >= 400 && status.Code < 500 && !slices.Contains(passing, status.Code)
}
