package engine_test

import (
	"os"
	"testing"

	"legwork/internal/test/pg"
)

var server pg.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }
