package postgres_test

import (
	"os"
	"testing"

	"legwork/internal/test/need"
	"legwork/internal/test/pg"
)

var shared pg.Shared

func TestMain(m *testing.M) {
	need.Checks(30)
	os.Exit(shared.Run(m))
}
