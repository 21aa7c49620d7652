package llm

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"legwork/internal/telemetry"
)

// recordAttempt adds one attempt, which began at begin, to metrics and span.
func (c *call) recordAttempt(ctx context.Context, e *endpoint, begin time.Time, d *draft, f *fault, used Usage) {
	c.attempts++
	outcome := telemetry.OK
	switch {
	case f != nil && ctx.Err() != nil:
		outcome = telemetry.Given
	case f != nil:
		outcome = string(f.problem)
		c.span.Event("attempt failed: " + outcome)
	}
	c.models.metrics.ModelTried(e.name, outcome, telemetry.Tokens{
		Input: used.Input, CachedInput: used.CachedInput, Output: used.Output,
		Images: used.Images, AudioSeconds: used.AudioSeconds, Characters: used.Characters, Cost: used.Cost, Unpriced: used.Unpriced,
	})
	if d != nil && !d.began.IsZero() {
		c.models.metrics.FirstToken(e.name, d.began.Sub(begin))
		c.span.Event("first token")
	}
}

// report adds the whole call to the metrics and ends its span.
func (c *call) report(first *endpoint, reply Reply, err error) {
	outcome := telemetry.OK
	var failed *Error
	switch {
	case errors.As(err, &failed):
		outcome = string(failed.Problem)
		c.span.Fail(outcome)
	case err != nil:
		outcome = telemetry.Given
	}
	model := cmp.Or(reply.Model, first.name)
	c.models.metrics.ModelCalled(model, c.request.Role, outcome, reply.Elapsed)
	c.describe(first, model, reply)
	c.span.End(nil)
}

func (c *call) describe(first *endpoint, model string, reply Reply) {
	if c.span == nil {
		return
	}
	used := c.models.byName[model]
	c.span.Text(telemetry.Operation, c.operation)
	c.span.Text(telemetry.Provider, "openai") // the protocol, whatever the endpoint is
	c.span.Text(telemetry.Model, first.config.Model)
	c.span.Text(telemetry.ModelUsed, used.config.Model)
	c.span.Number(telemetry.MaxTokens, used.config.MaxOutputTokens)
	if u, err := url.Parse(used.config.BaseURL); err == nil {
		c.span.Text(telemetry.ServerAddress, u.Hostname())
		c.span.Number(telemetry.ServerPort, portOf(u))
	}
	c.span.Text(telemetry.RoleKey, c.request.Role)
	c.span.Number(telemetry.Attempts, c.attempts)
	c.span.Number(telemetry.InputTokens, reply.Usage.Input)
	c.span.Number(telemetry.CachedTokens, reply.Usage.CachedInput)
	c.span.Number(telemetry.OutputTokens, reply.Usage.Output)
}

// portOf returns the port of an address, or the default of its scheme.
func portOf(u *url.URL) int {
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
		return port
	case u.Scheme == "http":
		return 80
	}
	return 443
}
