package alerts

import (
	"slices"
	"strings"
)

// The kinds of what is told, which are the types of the payloads.
const (
	TaskFailed  = "task.failed"
	TaskWaiting = "task.waiting" // for a person, for longer than Config.After
	TaskReview  = "task.review"  // its shared state says NEEDS_HUMAN_REVIEW

	ServerDown = "server.down" // an MCP server, for longer than half a minute
	ServerUp   = "server.up"
	ModelDown  = "model.down" // its endpoint failed again and again and is left alone
	ModelUp    = "model.up"

	PlatformDown = "platform.down" // a chat service does not let legwork in, for longer than half a minute
	PlatformUp   = "platform.up"

	BudgetNear    = "budget.near"
	BudgetReached = "budget.reached"
	ReloadFailed  = "reload.failed" // the changed config has mistakes; the one before is in use
	ReloadFixed   = "reload.fixed"
	DiskLow       = "disk.low"      // new work is refused
	BackupFailed  = "backup.failed" // none could be made, or there was no room
	DataDamaged   = "data.damaged"

	// What follows is sent where it was asked for, whatever Webhook.Kinds says.

	TaskDone    = "task.done"    // outcome of a task whose starter wanted it sent; so may TaskFailed be
	TaskStopped = "task.stopped" // likewise
	Ping        = "ping"         // a try; nothing has happened

	webhookFailed = "webhook.failed" // to the admins' chats alone
)

// Kinds lists what Webhook.Kinds can name.
func Kinds() []string {
	return []string{
		TaskFailed, TaskWaiting, TaskReview, ServerDown, ServerUp, ModelDown, ModelUp, PlatformDown, PlatformUp, BudgetNear, BudgetReached,
		ReloadFailed, ReloadFixed, DiskLow, BackupFailed, DataDamaged,
	}
}

// Known reports whether an entry of Webhook.Kinds means any kind.
func Known(entry string) bool {
	family, all := strings.CutSuffix(entry, "*")
	return slices.ContainsFunc(Kinds(), func(kind string) bool {
		return kind == entry || all && strings.HasPrefix(kind, family)
	})
}

// inChats are the kinds that the admins' chats learn of from here. Of the others
// they are told where they happen.
func inChats(kind string) bool {
	return slices.Contains([]string{TaskFailed, TaskWaiting, TaskReview, ServerDown, ServerUp, webhookFailed}, kind)
}
