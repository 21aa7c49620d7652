package api

import (
	"encoding/json"
	"time"

	"legwork/tasks/api"
)

// exampleID is the task of all examples.
const exampleID = "01KAHE0A1B2C3D4E5F6G7H8J9K"

func exampleTime() api.Time { return exampleLater(0) }

func exampleLater(d time.Duration) api.Time {
	return api.Time{Time: time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC).Add(d)}
}

func exampleNewTask() NewTask {
	return NewTask{Goal: "Compare the release dates of Go 1.25 and Go 1.26.", Groups: []string{"web"}, Notify: &Notify{Webhook: "ops"}, IdempotencyKey: "compare-1"}
}

func exampleTask() api.Task {
	began, ended := exampleTime(), exampleLater(time.Minute)
	answer, result := "Go 1.25 came out in August 2025, Go 1.26 in February 2026.", "Go 1.26 was released in February 2026."
	return api.Task{
		ID: exampleID, State: "done", Goal: exampleNewTask().Goal, Chat: "api:ops/" + exampleID, From: "api:ops", Run: true, Rounds: 1,
		Subtasks: []api.Subtask{{
			ID: "1/a", Name: "web", Description: "Find the release dates on go.dev", After: []string{}, State: "done", Round: 1,
			Result: &result, Started: &began, Ended: &ended,
		}},
		Answer: &answer, Notify: json.RawMessage(`{"webhook":"ops"}`), Waiting: []string{}, Usage: exampleSpent(), Version: 0, Seq: 12,
		Created: began, Updated: ended, Finished: &ended, Worked: 41.5,
	}
}

func exampleSpent() api.Usage {
	cost := 0.0031
	return api.Usage{InputTokens: 5210, CachedTokens: 1024, OutputTokens: 811, USD: &cost}
}

func exampleListed() api.TaskSummary {
	return api.TaskSummary{
		ID: exampleID, State: "working", Goal: exampleNewTask().Goal, Chat: "api:ops/" + exampleID, From: "api:ops", Run: true, Groups: []string{"web"}, Rounds: 1,
		Created: exampleTime(), Updated: exampleLater(time.Minute),
	}
}

func exampleMessage() api.Message {
	return api.Message{
		Seq: 3, SenderID: "agent:reviewer", SenderType: "agent", Type: "observation",
		Content: json.RawMessage(`{"text":"Two of the three sources agree."}`), Timestamp: exampleTime(),
	}
}

func exampleContext() api.Context {
	return api.Context{
		TaskID: exampleID, Created: exampleTime(), Messages: []api.Message{exampleMessage()},
		Shared: exampleState().Values, Version: exampleState().Version,
	}
}

func exampleState() api.State {
	return api.State{
		Values:  map[string]json.RawMessage{"status": json.RawMessage(`"NEEDS_HUMAN_REVIEW"`), "sources": json.RawMessage(`["RFC 9110","RFC 9457"]`)},
		Version: 2, Versions: map[string]int{"status": 2, "sources": 1},
	}
}

func exampleApproval() api.Approval {
	expires := exampleLater(72 * time.Hour)
	return api.Approval{
		ID: exampleID + ".7.0", TaskID: exampleID, Kind: "calls", Asked: exampleTime(), Expires: &expires,
		Calls: []api.ApprovalCall{{Tool: "tickets.create", Arguments: json.RawMessage(`{"title":"Broken link"}`), Shown: "{\n  \"title\": \"Broken link\"\n}"}},
		Goal:  "File a ticket about the broken link.", Chat: "slack:C1", AskedFor: "slack:U1",
	}
}

func exampleGroup() api.Group {
	return api.Group{
		Name: "web", Description: "Reads public web pages and returns their text.", Approve: "writes",
		Servers: []api.GroupServer{{
			Name: "web", Healthy: true,
			Tools: []api.GroupTool{{Name: "web.fetch", Description: "Fetches a page as Markdown.", ReadOnly: true}},
		}},
	}
}

func exampleUsage() api.UsageRow {
	return api.UsageRow{User: "api:ops", Day: "2026-11-21", Calls: 4, Usage: exampleSpent()}
}

func exampleAudit() api.AuditEntry {
	return api.AuditEntry{
		Seq: 41, At: exampleTime(), Who: "api:ops", Role: "operator", Action: "task.decide", Target: exampleID, Detail: "calls 7.0, approve, tickets.create", From: "127.0.0.1",
	}
}

func exampleSteps() api.Steps {
	began, read := exampleTime(), exampleLater(2*time.Second)
	ended := exampleLater(5 * time.Second)
	return api.Steps{
		Items: []api.Step{
			{ID: "work 1/a turn 1.0", Kind: "work", Subtask: "1/a", Group: "web", Model: "small", State: "done", After: "plan 1.0", Wanted: began, Started: &began, Ended: &read, Took: 2000, Critical: 2000, Usage: exampleSpent(), Seq: 3},
			{ID: "tool 1/a turn 1 call 1.0", Kind: "tool", Name: "web.fetch", Subtask: "1/a", Group: "web", State: "done", After: "work 1/a turn 1.0", Wanted: read, Started: &read, Ended: &ended, Took: 3000, Critical: 3000, Reply: 3, Call: 1, Seq: 4},
		},
		Seq: 12, Critical: api.Path{All: 41500, Model: 30000, Tool: 11500}, Model: 38000, Tool: 14200,
	}
}
