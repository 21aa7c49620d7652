package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files/read"
	"legwork/internal/clip"
	"legwork/internal/failpoint"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Listener is a Model that writes down what is said in recordings.
type Listener interface {
	Transcribe(ctx context.Context, r llm.Transcription) (llm.Transcript, error)
	// QuoteUsage returns the most that a use of a role costs.
	QuoteUsage(role string, u llm.Usage) llm.Usage
}

// errUnheard means that no model is configured that puts recordings into words, and
// errNotHeard that the model did not do so.
var (
	errUnheard  = errors.New("no model has the role transcribe")
	errNotHeard = errors.New("putting recording into words")
)

// listen writes down what is said in a recording, or in a video. The words of a voice
// message are those of the person who sent it; the words in other recordings are
// material. The task's budget pays for it.
func (f fetching) listen(ctx context.Context, path string) error {
	x, v, r, action := f.x, f.v, f.r, f.a.ID
	r.Kind = "recording"
	listener, ok := configured(x.Model).(Listener)
	if !ok || !x.rules.Load().HasHearing {
		return errUnheard
	}
	if err := x.mayPay(ctx, v, action); err != nil {
		return err
	}
	recording, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening copy of file: %w", err)
	}
	defer func() { _ = recording.Close() }()
	info, err := recording.Stat()
	if err != nil {
		return fmt.Errorf("opening copy of file: %w", err)
	}
	request := llm.Transcription{Audio: io.NewSectionReader(recording, 0, info.Size()), Type: r.Type, Length: time.Duration(f.from.Seconds) * time.Second}
	reserved := x.budget.reservation(v, tasks.ReservationID{Action: action}, llm.Request{Role: llm.RoleTranscribe})
	reserved.Most = listener.QuoteUsage(llm.RoleTranscribe, request.Most())
	release, err := x.budget.reserve(ctx, v.ID, reserved, nil)
	if over, reached := errors.AsType[*tasks.BudgetError](err); reached {
		return &overdraftError{over, reserved}
	}
	if err != nil {
		return err
	}
	defer release()
	request.BeforeRetry = x.budget.reserveRetries(ctx, v.ID, reserved)
	said, err := listener.Transcribe(ctx, request)
	failpoint.Hit("media.heard")
	r.Usage = said.Usage
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		r.Usage = failed.Usage
		if failed.Problem == llm.Held {
			err = fmt.Errorf("%w: %w", tasks.ErrPaused, err)
		}
	}
	switch {
	case errors.Is(err, llm.ErrSilence):
		r.Problem = "silent"
		x.Log.InfoContext(ctx, "file not read", "task", v.ID, "action", action, "cause", err)
		return nil
	case ctx.Err() != nil || errors.Is(err, tasks.ErrPaused):
		x.budget.settle(ctx, v.ID, reserved.ID, r.Usage)
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errNotHeard, err)
	}
	r.Spoken = f.from.Kind == bot.AttachVoice && !f.from.Others
	return f.keepWords(ctx, said.Text)
}

// mayPay returns the error of an action that must not begin a call of a model now. Since
// the action began, a person may have paused all work, or been asked about the task.
func (x *Executor) mayPay(ctx context.Context, v *tasks.View, action planner.ActionID) error {
	if err := x.Pause.Gate(); err != nil {
		return err
	}
	state, err := x.Store.State(ctx, v.ID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(planner.Todo(state), func(a planner.Action) bool { return a.ID == action && a.Hold }) {
		return ErrHeld
	}
	return nil
}

// maxSpoken is how much of a voice message is a part of the question, in bytes.
const maxSpoken = 64 << 10

// keepWords notes what was heard.
func (f fetching) keepWords(ctx context.Context, text string) error {
	text = strings.ToValidUTF8(text, "\ufffd")
	if !f.r.Spoken {
		return f.keepParts(ctx, func(parts *partWriter) error { return parts.add(read.Part{Text: text}) })
	}
	if f.r.Text = clip.Marked(text, maxSpoken); len(text) > maxSpoken {
		f.r.Problem = "cut"
	}
	return nil
}

// overdraftError says that a budget has no room for reading or making a file.
type overdraftError struct {
	*tasks.BudgetError
	reserved tasks.Reservation
}

func (e *overdraftError) Unwrap() error { return e.BudgetError }
