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
		ID: exampleID, State: "working", Goal: exampleNewTask().Goal, Chat: "api:ops/" + exampleID, From: "api:ops", Run: true, Rounds: 1,
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

func exampleServer() api.Server {
	return api.Server{
		Name: "web", Kind: "stdio", State: "ready", Protocol: "2025-11-25", RoundTripMS: 3.4, Groups: []string{"web"}, ToolCount: 1, Quarantined: 1, Calls: 41, Failed: 2,
		Latency: api.Latency{Count: 41, MeanMS: 480.5, MedianMS: 310, P95MS: 1900},
	}
}

func exampleServerDetails() api.ServerDetails {
	return api.ServerDetails{
		Server: exampleServer(),
		Tools: []api.ServerTool{{
			Name: "fetch", Description: "Fetches a page as Markdown.", Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`),
			Says: api.Annotations{ReadOnly: true}, Rules: []api.ToolRule{}, Quarantined: true, Calls: map[string]int{"ok": 39, "failed": 2},
		}},
		Changes: []api.ToolChange{{ID: "5f1c0a9be2d34f67", Tool: "web.fetch", Difference: "--- web.fetch as accepted\n+++ web.fetch now\n@@ -1,2 +1,2 @@\n description:\n-Fetches a page.\n+Fetches a page as Markdown.\n"}},
		Errors:  []api.CallFailure{{At: exampleTime(), Tool: "web.fetch", Outcome: "failed", Text: "The page does not exist (404)."}},
	}
}

func exampleTried() api.TriedCall {
	return api.TriedCall{Group: "web", Text: "# Release history", TookMS: 512.5, Images: []api.TriedImage{}, Files: []api.TriedContent{}}
}

func exampleModel() api.Model {
	return api.Model{
		Name: "main", Model: "gpt-5-mini", Endpoint: "api.openai.com", Roles: []string{"plan", "review", "work", "answer"}, Fallback: []string{"backup"}, Context: 128000, MaxOutput: 8000,
		Price: &api.Price{Input: 0.25, Output: 2}, Since: exampleTime(), Calls: map[string]int{"ok": 120, "busy": 1}, Attempts: map[string]int{"ok": 120, "busy": 4},
		Latency: api.Latency{Count: 121, MeanMS: 4100, MedianMS: 2900, P95MS: 14000}, First: api.Latency{Count: 120, MeanMS: 700, MedianMS: 550, P95MS: 1800},
	}
}

func exampleHealth() api.Health {
	return api.Health{
		Version: "1.2.0", Commit: "de5e5c4b", Started: exampleTime(), Ready: true,
		Parts:   []api.HealthPart{{Name: "servers", State: "degraded", Problem: "down: wiki"}, {Name: "store", State: "ok"}},
		Store:   api.StoreHealth{Type: "bolt", Bytes: 7340032, Files: 1048576},
		Backups: api.Backups{EverySeconds: 86400, Keep: 7, Items: []api.Backup{{Name: "legwork-20261121-030000.db", At: exampleTime(), Bytes: 6291456}}},
		Alerts:  api.AlertHealth{Webhooks: []string{"ops"}, Recent: []api.Alert{{At: exampleTime(), Kind: "server.down", Summary: "The tool server wiki does not work.", Problem: "it cannot be reached"}}},
		Queue:   api.Queue{Tasks: map[string]int{"working": 2, "done": 310}, Slots: 32, Working: 2, Approvals: 1, ApprovalsS: 95},
		Budgets: []api.DayBudget{{Name: "day_usd", Unit: "usd", Limit: 5, Spent: 1.25}},
	}
}

func examplePeople() api.People {
	return api.People{
		Admins: []string{"telegram:12345"}, Rules: []api.AccessRule{{Platform: "telegram", Users: []string{"12345"}, Chats: []string{}, Teams: []string{}}},
		People:   []api.PersonAccess{{Key: "telegram:777", Name: "Ann", Access: "allow", Chats: []string{}}},
		Requests: []api.PersonAsks{{Key: "telegram:888", Name: "Bob", Chat: "telegram:888", At: exampleTime()}},
	}
}

func exampleSchedule() api.Schedule {
	next, last := exampleLater(24*time.Hour), exampleTime()
	return api.Schedule{
		ID: "smfqwc2lbmvzg", Goal: "Sum up the news about Go.", When: "every day at 9:30", Timezone: "UTC", Chat: "telegram:12345", From: "telegram:12345", FromName: "Ann",
		State: "active", Next: &next, Last: &last, LastTask: exampleID, LastDone: "done", MayEdit: true,
	}
}
