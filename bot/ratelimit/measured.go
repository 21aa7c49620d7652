package ratelimit

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
)

// Measured is a pacer whose waits are counted for a platform.
func Measured(p bot.Pacer, platform string, m *telemetry.Metrics) bot.Pacer {
	m.Connected(platform)
	return measured{p, platform, m}
}

type measured struct {
	bot.Pacer
	platform string
	metrics  *telemetry.Metrics
}

// Turn implements bot.Pacer.
func (p measured) Turn(ctx context.Context, r bot.Request) error {
	begin := time.Now()
	err := p.Pacer.Turn(ctx, r)
	var early *bot.LaterError
	switch {
	case errors.As(err, &early):
		p.metrics.FrameSkipped(p.platform)
	case r.Urgency.Waits():
		p.metrics.Paced(p.platform, time.Since(begin))
	}
	return err
}
