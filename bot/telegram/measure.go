package telegram

import (
	"context"
	"errors"
	"net/http"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/internal/telemetry"
)

// measured begins the measure of one call of a method, which ends with what is
// returned. The polls that wait for messages are counted, and no more: how long
// they take is up to people.
func (c *client) measured(ctx context.Context, method string) (_ context.Context, done func(error)) {
	begin, polls := time.Now(), method == "getUpdates"
	var span *telemetry.Span
	if !polls {
		ctx, span = telemetry.Start(ctx, telemetry.Client, Name+" "+method)
	}
	return ctx, func(err error) {
		outcome := outcomeOf(err)
		span.Text(telemetry.PlatformKey, Name)
		if outcome != telemetry.OK && outcome != telemetry.Given {
			span.Fail(outcome)
		}
		span.End(nil)
		took := time.Since(begin)
		if polls {
			took = 0
		}
		c.metrics.PlatformCalled(Name, method, outcome, took)
	}
}

func outcomeOf(err error) string {
	var said *tgbotapi.Error
	switch {
	case err == nil:
		return telemetry.OK
	case errors.Is(err, context.Canceled):
		return telemetry.Given
	case !errors.As(err, &said):
		return telemetry.Failed
	case said.Code == http.StatusTooManyRequests:
		return telemetry.Limited
	case said.Code < http.StatusInternalServerError:
		return telemetry.Refused
	}
	return telemetry.Failed
}
