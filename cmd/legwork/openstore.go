package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"legwork/conf"
	"legwork/internal/clock"
	"legwork/internal/telemetry"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tasks"
)

// openStore opens the data for a command that others read of while it holds
// them. A damaged file is replaced by the newest good backup. What the store
// forgets by age it forgets by a clock that nobody can set.
func openStore(ctx context.Context, config *conf.Config, command string, log *slog.Logger) (*bolt.Store, error) {
	return openWatched(ctx, config, command, nil, log)
}

// openWatched is openStore, counted.
func openWatched(ctx context.Context, config *conf.Config, command string, metrics *telemetry.Metrics, log *slog.Logger) (*bolt.Store, error) {
	o, err := storeOptions(config.DataDir, command, log)
	if err != nil {
		return nil, err
	}
	o.Now, o.Metrics = clock.New().Now, metrics
	store, err := bolt.Open(ctx, config.DataDir, o)
	if errors.Is(err, tasks.ErrDamaged) {
		return nil, fmt.Errorf("%w; \"legwork data restore --from FILE\" takes a backup that is elsewhere; or move %s and its backups away to start with empty data", err, bolt.FileName)
	}
	if err == nil && store.Loss() != nil {
		log.ErrorContext(ctx, "data file replaced by a backup", "loss", lossText(*store.Loss()))
	}
	return store, err
}

func storeOptions(dir, command string, log *slog.Logger) (bolt.Options, error) {
	check, err := os.Executable()
	if err != nil {
		return bolt.Options{}, fmt.Errorf("finding the own program: %w", err)
	}
	return bolt.Options{
		Command: command, Log: log,
		CheckCommand:  []string{check, "data", "verify", "--quick"},
		VerifyCommand: []string{check, "data", "verify"},
		Backups:       func() []string { return backup.Paths(backup.List(backupsOf(dir), bolt.FileName)) },
	}, nil
}

// lossText tells operators what was lost when a backup replaced the data file.
func lossText(l bolt.Loss) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s replaced the data file; everything stored after %s is lost", l.Backup, l.From.Local().Format(time.DateTime))
	if n := len(l.Dropped); n > 0 {
		fmt.Fprintf(&b, "; %d tasks were running then and cannot continue: %s", n, idList(l.Dropped))
	}
	if l.Aside != "" {
		fmt.Fprintf(&b, "; the replaced file is kept as %s", l.Aside)
	}
	return b.String()
}

// idList names tasks, at most twenty.
func idList(ids []tasks.ID) string {
	words := make([]string, 0, len(ids))
	for _, id := range ids[:min(20, len(ids))] {
		words = append(words, string(id))
	}
	if more := len(ids) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
