package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"legwork/conf"
	"legwork/internal/clock"
	"legwork/internal/telemetry"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tasks"
)

// Open opens the store of a config. command is what a second process reads
// while the store is in use. A damaged file is replaced by the newest good
// backup. Age is measured by a clock that cannot be set. metrics may be nil.
func Open(ctx context.Context, config *conf.Config, command string, metrics *telemetry.Metrics, log *slog.Logger) (*Store, error) {
	return OpenStandby(ctx, config, command, metrics, log, nil)
}

// OpenStandby opens a store as Open does. While another process holds a database on
// a server, it calls standby once with a description of that process, and waits.
func OpenStandby(ctx context.Context, config *conf.Config, command string, metrics *telemetry.Metrics, log *slog.Logger, standby func(holder string)) (*Store, error) {
	o, err := options(config.DataDir, command, log)
	if err != nil {
		return nil, err
	}
	o.Now, o.Metrics = clock.New().Now, metrics
	if onServer(config) {
		if err := os.MkdirAll(config.DataDir, 0o700); err != nil { // for notes, backups and the control socket
			return nil, FolderError(config.DataDir, fmt.Errorf("creating data directory: %w", err))
		}
		return openServerStore(ctx, config.Store.URL, o, standby)
	}
	store, err := bolt.Open(ctx, config.DataDir, o)
	if errors.Is(err, tasks.ErrDamaged) {
		return nil, fmt.Errorf("%w; \"legwork data restore --from FILE\" takes a backup that is elsewhere; or move %s and its backups away to start with empty data", err, bolt.FileName)
	}
	if err == nil && store.Loss() != nil {
		log.ErrorContext(ctx, "data file replaced by a backup", "loss", LossText(*store.Loss()))
	}
	if err != nil {
		return nil, FolderError(config.DataDir, err)
	}
	return &Store{Store: store.Store, file: store}, nil
}

// FolderError adds to an error of the data directory what to do, where this user cannot
// have or write such a folder.
func FolderError(dir string, err error) error {
	for _, cause := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w; let this user write to the folder %s and to the files in it, or choose another data_dir", err, dir)
		}
	}
	return err
}

// onServer reports whether the data is in a database on a server.
func onServer(config *conf.Config) bool { return config.Store.Type == "postgres" }

// Restore replaces the data file, which no process may be using, by the first good
// backup of from, or by the newest good one when from is empty. Everything stored
// after it is lost. It calls agree before it changes anything; an error of agree ends it.
func Restore(ctx context.Context, config *conf.Config, from []string, agree func(bolt.Loss) error, log *slog.Logger) (*bolt.Loss, error) {
	const command = "legwork data restore"
	if onServer(config) {
		return nil, errors.New("the data is in a Postgres database: restore a backup of the server, or copy a backup of legwork to an empty database with \"legwork data copy --from FILE --to URL\"")
	}
	o, err := options(config.DataDir, command, log)
	if err != nil {
		return nil, err
	}
	if len(from) == 0 {
		from = o.Backups()
	}
	o.Agree = agree
	loss, err := bolt.Restore(ctx, config.DataDir, from, o)
	if err != nil {
		return loss, err
	}
	store, err := Open(ctx, config, command, nil, log)
	if err != nil {
		return loss, err
	}
	Record(ctx, store, log, ByHand("data.restore", "", LossText(*loss)))
	return loss, store.Close()
}

func options(dir, command string, log *slog.Logger) (bolt.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return bolt.Options{}, fmt.Errorf("finding the path of this program: %w", err)
	}
	return bolt.Options{
		Command: command, Log: log,
		CheckCommand:  []string{self, "data", "verify", "--quick"},
		VerifyCommand: []string{self, "data", "verify"},
		Backups:       func() []string { return backup.Paths(backup.List(BackupFolder(dir), bolt.FileName)) },
	}, nil
}

// LossText tells operators what was lost when a backup replaced the data file.
func LossText(l bolt.Loss) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s replaced the data file; everything stored after %s is lost", l.Backup, l.From.Local().Format(time.DateTime))
	if n := len(l.Dropped); n > 0 {
		fmt.Fprintf(&b, "; %d tasks were running then and cannot continue: %s", n, IDList(l.Dropped))
	}
	if l.Missing > 0 {
		fmt.Fprintf(&b, "; %d files are missing, because their contents are not beside the backup", l.Missing)
	}
	if l.Aside != "" {
		fmt.Fprintf(&b, "; the replaced file is kept as %s", l.Aside)
	}
	return b.String()
}

// IDList lists the ids of tasks, at most twenty.
func IDList(ids []tasks.ID) string {
	words := make([]string, 0, len(ids))
	for _, id := range ids[:min(20, len(ids))] {
		words = append(words, string(id))
	}
	if more := len(ids) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
