package app

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"legwork/app/data"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/store/backup"
	"legwork/tasks/api"
	"legwork/web"
)

// operations is what operators and admins see of the process, and can do. models
// describes the models; parts returns the problems of the parts, as daemon.health does.
func (a *core) operations(models func() []api.Model, parts func() map[string]error) *api.Operations {
	started := time.Now()
	return api.NewOperations(api.OperationsConfig{
		Inbox: a.inbox, Tools: redactedTools{a.tools, a.credentials}, Confirm: a.confirmChanges,
		ReadUses: a.metrics.Uses, ReadModels: models,
		ReadHealth: func(ctx context.Context) (api.Health, error) { return a.readHealth(ctx, started, parts()) },
	})
}

// describe describes the models of the config, without secrets.
func (m *models) describe() []api.Model {
	current := m.current.Load()
	config, health := current.Config(), current.Health()
	list := make([]api.Model, 0, len(config.Models))
	for name, c := range config.Models {
		h := health[name]
		one := api.Model{
			Name: name, Model: c.Model, Offline: c.Offline, Roles: []string{}, Fallback: append([]string{}, c.Fallback...), Context: c.ContextTokens, MaxOutput: c.MaxOutputTokens,
			Down: h.Down, RoleDown: h.RoleDown, Since: api.Time{Time: h.Since}, Problem: string(h.Problem), Cause: h.Cause, Hint: h.Hint,
		}
		for _, role := range llm.Roles() {
			if config.Roles[role] == name {
				one.Roles = append(one.Roles, role)
			}
		}
		if u, err := url.Parse(c.BaseURL); err == nil && !c.Offline {
			one.Endpoint = u.Host
		}
		if p := c.Price; p != nil {
			one.Price = &api.Price{Input: p.Input, CachedInput: p.CachedInput, Output: p.Output, Image: p.Image, AudioMinute: p.AudioMinute, Speech1K: p.Speech1K}
		}
		list = append(list, one)
	}
	return list
}

// readHealth reads the state of the process and of its data.
func (a *core) readHealth(ctx context.Context, started time.Time, parts map[string]error) (api.Health, error) {
	build := telemetry.ReadBuild()
	h := api.Health{
		Version: build.Version, Commit: build.Commit, Started: api.Time{Time: started}, Ready: true, Parts: []api.HealthPart{},
		Store: api.StoreHealth{Type: a.config.Store.Type}, Backups: a.backups(),
		Alerts: api.AlertHealth{Webhooks: append([]string{}, a.alerts.Webhooks()...), Recent: a.alerts.Recent()},
		Queue:  api.Queue{Slots: a.config.Limits.ConcurrentTasks, WaitingS: a.engine.QueueDelay().Seconds()}, Budgets: []api.DayBudget{},
	}
	if by, on := a.pause.State(); on {
		h.Paused = fmt.Sprintf("by %s since %s", by.Name, by.At.UTC().Format(time.RFC3339))
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		part := api.HealthPart{Name: name, State: "ok"}
		if err := parts[name]; err != nil {
			part.State, part.Problem = "degraded", err.Error()
			if !web.IsDegraded(err) {
				part.State, h.Ready = "down", false
			}
		}
		h.Parts = append(h.Parts, part)
	}
	var now telemetry.Readings
	if err := a.readStore(ctx, &now); err != nil {
		return h, fmt.Errorf("reading the store: %w", err)
	}
	h.Store.Bytes, h.Store.Files = now.StoreBytes, now.FileBytes
	h.Queue.Tasks, h.Queue.Approvals, h.Queue.ApprovalsS = now.Tasks, now.Approvals.Waiting, now.Approvals.Oldest.Seconds()
	h.Queue.Working = a.engine.Load()
	h.Alerts.Waiting, h.Alerts.OldestS = now.Deliveries.Waiting, now.Deliveries.Oldest.Seconds()
	for _, b := range now.Budgets {
		one := api.DayBudget{Name: b.Name, Unit: "tokens", Limit: float64(b.Limit), Spent: float64(b.Spent)}
		if b.Money {
			one.Unit, one.Limit, one.Spent = "usd", one.Limit/1e6, one.Spent/1e6
		}
		h.Budgets = append(h.Budgets, one)
	}
	return h, nil
}

// backups lists the backups of the data.
func (a *core) backups() api.Backups {
	folder, config := data.BackupFolder(a.config.DataDir), a.config.Backup
	out := api.Backups{EverySeconds: int64(config.Every / time.Second), Keep: config.Keep, Items: []api.Backup{}}
	for _, file := range a.admin().Files() {
		for _, b := range backup.List(folder, file.Name) {
			one := api.Backup{Name: filepath.Base(b.Path), At: api.Time{Time: b.At}}
			if info, err := os.Stat(b.Path); err == nil { // it may be gone by now
				one.Bytes = info.Size()
			}
			out.Items = append(out.Items, one)
		}
	}
	slices.SortStableFunc(out.Items, func(a, b api.Backup) int { return b.At.Compare(a.At.Time) })
	return out
}
