package engine_test

import (
	"os"
	"testing"

	"legwork/internal/test/pg"
)

var shared pg.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
