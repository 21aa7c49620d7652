package console_test

import (
	"os"
	"testing"

	"legwork/internal/test/browser"
	"legwork/internal/test/leaks"
)

var chromium browser.Shared

func TestMain(m *testing.M) { os.Exit(leaks.Runner{Tests: chromium.Around(m)}.Run()) }
