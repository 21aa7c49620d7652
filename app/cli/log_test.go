package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"legwork/app/cli"
	"legwork/conf"
	"legwork/internal/redact"
)

// TestLogTimes holds that a time that is not known is left out of a line.
func TestLogTimes(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log := cli.NewLog(conf.Log{Level: "info", Format: format}, &out, redact.New(nil))
		log.With("since", time.Time{}).Info("schedule ended", "next", time.Time{}, "last", time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
		if text := out.String(); strings.Contains(text, "0001-01-01") || strings.Contains(text, "next") || !strings.Contains(text, "2026-11-20T12:00:00") {
			t.Errorf("%s: got %s", format, text)
		}
	}
}
