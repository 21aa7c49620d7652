package builtin_test

import (
	"context"
	"testing"
	"time"

	"legwork/internal/test/servers"
	"legwork/tools/builtin"
)

// caller connects to a built-in server and returns a function that calls its
// tools: the text of the result, and whether it is an error.
func caller(t testing.TB, name string, now func() time.Time) func(tool string, args map[string]any) (string, bool) {
	t.Helper()
	s, err := builtin.New(name, nil, builtin.Env{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	c := servers.Connect(t, s)
	return func(tool string, args map[string]any) (string, bool) {
		res, err := servers.Call(context.Background(), c, tool, args, nil)
		if err != nil {
			return err.Error(), true
		}
		return servers.Text(res), res.IsError
	}
}
