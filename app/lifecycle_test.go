package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestFailedPart holds that the error of a failed part is either returned or in the
// log, and not both.
func TestFailedPart(t *testing.T) {
	for _, returned := range []bool{true, false} {
		var out bytes.Buffer
		var parts lifecycle
		parts.start("web", func(context.Context) error { return errors.New("address in use") })
		f := <-parts.failed
		if f.part != "web" || f.err == nil {
			t.Errorf("failed: got %+v", f)
		}
		if returned {
			if err := parts.returned(f); err == nil || err.Error() != "address in use" {
				t.Errorf("returned: got %v", err)
			}
		}
		parts.stop(slog.New(slog.NewTextHandler(&out, nil)))
		if logged := strings.Contains(out.String(), "address in use"); logged == returned {
			t.Errorf("the error is returned: %v, logged: %v\n%s", returned, logged, out.String())
		}
	}
}
