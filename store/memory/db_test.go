package memory_test

import (
	"testing"

	"legwork/store"
	"legwork/store/memory"
	"legwork/store/storetest"
)

func TestDB(t *testing.T) {
	storetest.RunDB(t, func(*testing.T) store.DB { return memory.NewDB() })
}
