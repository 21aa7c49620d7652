package slack

import (
	"context"
	"errors"
	"time"

	"legwork/internal/telemetry"
)

// measured makes a call and counts it.
func (s *Slack) measured(ctx context.Context, method string, do func(context.Context) error) error {
	begin := time.Now()
	ctx, span := telemetry.Start(ctx, telemetry.Client, Name+" "+method)
	err := do(ctx)
	outcome := outcomeOf(err)
	span.Text(telemetry.PlatformKey, Name)
	if outcome != telemetry.OK && outcome != telemetry.Given {
		span.Fail(outcome)
	}
	span.End(nil)
	s.metrics.PlatformCalled(Name, method, outcome, time.Since(begin))
	return err
}

func outcomeOf(err error) string {
	switch _, limited := limit(err); {
	case err == nil:
		return telemetry.OK
	case limited:
		return telemetry.Limited
	case errors.Is(err, context.Canceled):
		return telemetry.Given
	case code(err) != "":
		return telemetry.Refused
	}
	return telemetry.Failed
}
