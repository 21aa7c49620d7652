package engine_test

import (
	"testing"

	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
)

type reopener struct{ *memory.Store }

func (s reopener) Again() enginetest.Reopener { return reopener{s.Reopen()} }

func build(s enginetest.Setup) tasks.Engine {
	return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent, InMemory: s.InMemory, Pause: s.Pause})
}

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(*testing.T) enginetest.Reopener { return reopener{memory.New(nil)} }, build)
}
