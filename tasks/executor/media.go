package executor

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"legwork/files/write"
	"legwork/internal/failpoint"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Artist is a Model that also makes pictures and speech. For a Model that is no Artist,
// make_file makes neither.
type Artist interface {
	Paint(ctx context.Context, r llm.Painting) (llm.Media, error)
	Speak(ctx context.Context, r llm.Speech) (llm.Media, error)
	// QuoteUsage returns a usage with the most that it costs with the model of a role.
	QuoteUsage(roleOrName string, u llm.Usage) llm.Usage
}

// maxSpeech is how many characters a recording may have: OpenAI takes no more
// (platform.openai.com/docs/api-reference/audio/createSpeech).
const maxSpeech = 4096

// medium is the call of a model that makes a file of that kind from a text; nil for a
// file that is made without a model.
func (m making) medium(kind string, wanted planner.Make) func(context.Context) (llm.Media, error) {
	artist, _ := configured(m.x.Model).(Artist)
	switch {
	case wanted.Text == "":
		return nil
	case (kind == kindMP3 || kind == kindOGG) && utf8.RuneCountInString(wanted.Text) > maxSpeech:
		return func(context.Context) (media llm.Media, err error) {
			return media, refusal(fmt.Sprintf("at most %d characters are spoken: shorten the text", maxSpeech))
		}
	case kind == kindMP3, kind == kindOGG:
		speech := llm.Speech{Text: wanted.Text, Format: map[string]string{kindMP3: kindMP3, kindOGG: "opus"}[kind]}
		return m.asked(artist, llm.RoleSpeech, m.makes.Speech, speech.Most(), func(ctx context.Context, retry func() error) (llm.Media, error) {
			speech.BeforeRetry = retry
			return artist.Speak(ctx, speech)
		})
	case kind == write.PNG, kind == kindJPG, kind == "webp":
		painting := llm.Painting{Prompt: wanted.Text}
		return m.asked(artist, llm.RoleImage, m.makes.Pictures, painting.Most(), func(ctx context.Context, retry func() error) (llm.Media, error) {
			painting.BeforeRetry = retry
			return artist.Paint(ctx, painting)
		})
	}
	return nil
}

// asked is a call of the model of a role, within the budgets. It refuses when no model
// has the role.
func (m making) asked(artist Artist, role string, configured bool, most llm.Usage, call func(ctx context.Context, retry func() error) (llm.Media, error)) func(context.Context) (llm.Media, error) {
	return func(ctx context.Context) (media llm.Media, err error) {
		if artist == nil || !configured {
			return media, refusal(fmt.Sprintf("no model is configured for it (roles.%s). Say so, and make another kind if that helps: %s", role, m.makes.Kinds))
		}
		if err := m.x.mayPay(ctx, m.v, m.a.ID); err != nil {
			return media, err
		}
		b := m.x.budget
		r := b.reservation(m.v, tasks.ReservationID{Action: m.a.ID}, llm.Request{Role: role})
		r.Most = artist.QuoteUsage(role, most)
		release, err := b.reserve(ctx, m.v.ID, r, nil)
		if over, reached := errors.AsType[*tasks.BudgetError](err); reached {
			return media, &overdraftError{over, r}
		}
		if err != nil {
			return media, err
		}
		defer release()
		media, err = call(ctx, b.reserveRetries(ctx, m.v.ID, r))
		failpoint.Hit("media.made")
		failed, ok := errors.AsType[*llm.Error](err)
		if !ok {
			return media, err
		}
		media.Usage = failed.Usage
		switch {
		case ctx.Err() != nil:
			return media, err
		case failed.Problem == llm.Held:
			return media, fmt.Errorf("%w: %w", tasks.ErrPaused, err)
		}
		m.x.Log.ErrorContext(ctx, "model call failed", "task", m.v.ID, "action", m.a.ID, "cause", err)
		return media, refusal(fmt.Sprintf("the model for it (roles.%s) failed: %s. Say so; do not try again at once", role, failed.Problem))
	}
}
