package main

import (
	"context"
	"fmt"
	"time"

	"legwork/tasks"
)

// offerClaim prints the code by which the first admin claims the bot, and a new
// one when it has expired, whenever there is no admin.
func (d *daemon) offerClaim(ctx context.Context) error {
	for {
		code, err := d.app.inbox.Claim(ctx)
		var again <-chan time.Time
		switch {
		case err != nil:
			d.log.ErrorContext(ctx, "no code for the first admin can be made", "cause", err)
			again = time.After(time.Minute)
		case code != "":
			fmt.Fprintln(d.console.out, d.app.texts.Text(d.language, "serve.claim", map[string]any{"Code": code}))
			again = time.After(tasks.ClaimTime)
		}
		if !d.awaitClaim(ctx, code, again) {
			return nil
		}
	}
}

// awaitClaim returns when another code may be needed: after a reload, which
// can take the last admin away, unless a code is out, and when again comes. It
// reports false when ctx has ended.
func (d *daemon) awaitClaim(ctx context.Context, code string, again <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-again:
			return true
		case <-d.reloaded:
			if code == "" {
				return true
			}
		}
	}
}
