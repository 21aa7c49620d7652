package tasks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"legwork/llm"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// TestWordsAreNotLogged: what people ask and what tools answer is in the log only
// where everything is logged, also when calls fail, are refused, or cannot be made.
func TestWordsAreNotLogged(t *testing.T) {
	const word = "heron"
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		store := memory.New(nil)
		k := enginetest.NewEnv(t, store)
		var log bytes.Buffer
		k.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
			arguments := fmt.Sprintf(`{"query":%q}`, word)
			switch last := r.Messages[len(r.Messages)-1]; {
			case r.Role == llm.RolePlan:
				return llm.Reply{Text: `{"plan":[{"name":"look","description":"find the heron"},{"name":"book","description":"book the heron","after":[]}]}`}, nil
			case r.Role == llm.RoleWork && last.Role != llm.ToolRole:
				return llm.Reply{ToolCalls: []llm.ToolCall{
					{ID: "a", Name: "look", Arguments: arguments}, {ID: "b", Name: "book", Arguments: arguments}, {ID: "c", Name: "ask_person", Arguments: word},
				}}, nil
			}
			return llm.Reply{Text: "a heron it is"}, nil
		}
		k.Tools.Make = func(_ context.Context, _, arguments string) (tools.Result, error) {
			return tools.Result{Text: "cannot read " + arguments, Failed: true}, nil
		}
		k.Tools.Judge = func(group, _ string) tools.Verdict {
			if group == "book" {
				return tools.Verdict{Refusal: "there is no heron to be had"}
			}
			return tools.Verdict{Repeatable: true}
		}
		k.Use(store)
		k.Start(func(s enginetest.Setup) tasks.Engine {
			return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent, Pause: s.Pause})
		})
		k.Ask(t, enginetest.Message("1", "where is the heron?", time.Now()))
		if err := tasks.Idle(t.Context(), store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		k.Stop()
		for _, line := range []string{"tool call failed", "a tool call is not made", "a tool call cannot be made"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("at %v nothing is logged of %q:\n%s", level, line, &log)
			}
		}
		if told := strings.Contains(log.String(), word); told != (level == slog.LevelDebug) {
			t.Errorf("at %v the log tells what was said: %v\n%s", level, told, &log)
		}
	}
}
