package tools_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools"
)

// TestDetails: the details of a server have its tools with what the server and the
// groups say about them, its quarantined tools, and its newest failures.
func TestDetails(t *testing.T) {
	s := newEnv(t)
	s.addTool("pay", "Pays a bill.", mcp.WithDestructiveHintAnnotation(true))
	s.addTool("list", "Lists bills.", mcp.WithReadOnlyHintAnnotation(true))
	now := time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)
	m, _ := s.run(t, tools.Options{Now: func() time.Time { return now }})
	names(t, m) // waits for the server
	all := m.Details()
	if len(all) != 1 || len(all[0].Tools) != 2 || all[0].Problem != "" || fmt.Sprint(all[0].Groups) != "[g]" || all[0].State != "ready" {
		t.Fatalf("the details are %+v, want one ready server with two tools in the group g", all)
	}
	list, pay := all[0].Tools[0], all[0].Tools[1]
	if !list.Annotations.ReadOnly || list.Groups[0].ReadOnly {
		t.Errorf("list is %+v, want a tool whose annotation is shown but not believed", list)
	}
	if pay.Annotations.Destructive == nil || !*pay.Annotations.Destructive || !strings.Contains(string(pay.Schema), "object") {
		t.Errorf("pay is %+v, want it destructive and with a schema", pay)
	}
	for i := range 12 {
		if _, err := m.Call(t.Context(), tools.Call{Group: "g", Tool: "s.pay", Arguments: []byte(fmt.Sprintf(`[%d]`, i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Call(t.Context(), tools.Call{Group: "g", Tool: "s.invented"}); err != nil {
		t.Fatal(err)
	}
	failures := m.Details()[0].Failures
	if len(failures) != 10 || failures[0].Tool != "s.pay" || failures[0].Outcome != "refused" || !failures[0].At.Equal(now) || failures[0].Text == "" {
		t.Errorf("the failures are %+v, want the newest ten of s.pay", failures)
	}
	s.change(t, "pay", "Pays two bills.", "the tool is quarantined", func() bool { return len(m.Details()[0].Changes) == 1 })
	details := m.Details()[0]
	if pay := details.Tools[1]; !pay.Quarantined || len(pay.Groups) > 0 || !strings.Contains(details.Changes[0].Difference, "+Pays two bills.") {
		t.Errorf("after the change, the tool is %+v and the changes are %+v", pay, details.Changes)
	}
	if _, err := m.Accept(t.Context(), details.Changes[0].ID); err != nil || m.Details()[0].Tools[1].Quarantined {
		t.Error(errors.Join(errors.New("the accepted tool is still quarantined"), err))
	}
}
