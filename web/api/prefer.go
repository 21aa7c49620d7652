package api

import (
	"context"
	"strconv"
	"strings"
	"time"

	"legwork/tasks/api"
)

// maxWait bounds how long a request waits.
const maxWait = 300 * time.Second

// forever is longer than any connection lasts.
const forever = 10 * 365 * 24 * time.Hour

// waiting is how long a Prefer header wants to wait, as RFC 7240 has it: what is
// not understood counts as not there, and more than maxWait as maxWait.
func waiting(prefer string) time.Duration {
	for preference := range strings.SplitSeq(prefer, ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0
		}
		return min(time.Duration(seconds)*time.Second, maxWait)
	}
	return 0
}

// applied is the Preference-Applied header of a wait; empty for none.
func applied(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	return "wait=" + strconv.Itoa(int(wait/time.Second))
}

// until returns a context that ends after a while (0: never), with the request, or
// when the process begins to stop. The function must be called in the end.
func (c *calls) until(ctx context.Context, wait time.Duration) (context.Context, func()) {
	if wait == 0 {
		wait = forever
	}
	return api.Patience(ctx, wait, c.Stop)
}
