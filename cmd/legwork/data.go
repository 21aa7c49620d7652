package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"legwork/app/control"
	"legwork/internal/redact"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tools/builtin/memory"
)

// dataCommand holds what works on the stored data: beside the process that holds
// them, or without one.
type dataCommand struct {
	Backup  backupCommand  `cmd:"" help:"Copy the data to a file, also while legwork runs, and read the copy again."`
	Verify  verifyCommand  `cmd:"" help:"Read all of the data, or of one file such as a backup, and tell what is damaged."`
	Compact compactCommand `cmd:"" help:"Make the data files as small as they can be, also while legwork runs."`
	Forget  forgetCommand  `cmd:"" help:"Delete all there is of a person or a chat."`
	Restore restoreCommand `cmd:"" help:"Go back to a backup: it replaces the data file. Everything stored after it is lost."`
}

// dataConfig is the config whose data is meant.
type dataConfig struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// The calls of the control socket about the data.
const (
	pathBackup  = "/data/backup"
	pathVerify  = "/data/verify"
	pathCompact = "/data/compact"
	pathForget  = "/data/forget"
)

// atDesk does something with the data: in the process that holds them, or here
// when there is none.
func atDesk[In, Out any](ctx context.Context, of dataConfig, c console, path string, in In, do func(desk, context.Context, In) (Out, error)) (out Out, err error) {
	config, _, err := loadConfig(of.Config, c)
	if err != nil {
		return out, err
	}
	owner := control.NewClient(config.DataDir)
	defer owner.Close()
	err = owner.Call(ctx, http.MethodPost, path, in, &out)
	if !errors.Is(err, control.ErrNobody) {
		return out, err
	}
	if empty(config.DataDir) {
		return out, nil // and none are made: "good" would be a lie
	}
	log := newLog(config.Log, c.err, redact.New(config.Secrets()))
	store, err := openStore(ctx, config, "legwork"+strings.ReplaceAll(path, "/", " "), log)
	if err != nil {
		return out, err
	}
	out, err = do(desk{dir: config.DataDir, store: store, log: slog.New(slog.DiscardHandler)}, ctx, in)
	return out, errors.Join(err, store.Close())
}

// empty reports that a directory holds neither data nor backups of them.
func empty(dir string) bool {
	for _, name := range []string{filepath.Join(dir, bolt.FileName), filepath.Join(dir, memory.FileName), backupsOf(dir)} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// handleData lets a second process work on the data.
func (a *app) handleData(mux *http.ServeMux) {
	d := a.desk(a.config.DataDir)
	serveDesk(mux, pathBackup, d.backup)
	serveDesk(mux, pathVerify, func(ctx context.Context, _ struct{}) ([]copied, error) { return d.verify(ctx) })
	serveDesk(mux, pathCompact, d.compactByHand)
	serveDesk(mux, pathForget, d.forget)
}

func serveDesk[In, Out any](mux *http.ServeMux, path string, do func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(io.LimitReader(r.Body, 64<<10)).Decode(&in); err != nil {
			http.Error(w, "reading what to do: "+err.Error(), http.StatusBadRequest)
			return
		}
		out, err := do(r.Context(), in)
		control.Reply(w, out, err)
	})
}

type backupCommand struct {
	dataConfig
	File string `arg:"" help:"The file to be made. The notes of the memory server go to one beside it."`
}

// Run makes a backup at once.
func (command backupCommand) Run(ctx context.Context, c console) error {
	path, err := filepath.Abs(command.File)
	if err != nil {
		return fmt.Errorf("finding the folder of the backup: %w", err)
	}
	list, err := atDesk(ctx, command.dataConfig, c, pathBackup, path, desk.backup)
	for _, f := range list {
		fmt.Fprintf(c.out, "%s: %s, read again and good.\n", f.Path, size(f.Bytes))
	}
	if err == nil && len(list) == 0 {
		fmt.Fprintln(c.out, "There is no data yet.")
	}
	return err
}

type verifyCommand struct {
	dataConfig
	Quick bool   `help:"Of a file: only walk through it; leave the sums of the records out."`
	File  string `arg:"" optional:"" help:"A data file that nobody is using, such as a backup. Default: the data of the config."`
}

// Run fails with what is wrong. It also serves the store, which lets a process
// of its own look at a file that may end the one that reads it.
func (command verifyCommand) Run(ctx context.Context, c console) error {
	if command.File == "" {
		return command.all(ctx, c)
	}
	info, err := os.Stat(command.File)
	if err != nil {
		return fmt.Errorf("verifying: %w", err)
	}
	read := bolt.Verify
	switch {
	case strings.Contains(filepath.Base(command.File), strings.TrimSuffix(memory.FileName, ".db")) && !bolt.Holds(command.File):
		read = memory.Verify
	case command.Quick:
		read = bolt.VerifyQuick
	}
	if err := read(command.File); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s: %s, good.\n", command.File, size(info.Size()))
	return nil
}

// all reads the data of a config.
func (command verifyCommand) all(ctx context.Context, c console) error {
	list, err := atDesk(ctx, command.dataConfig, c, pathVerify, struct{}{}, func(d desk, ctx context.Context, _ struct{}) ([]copied, error) { return d.verify(ctx) })
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Problem != "" {
			fmt.Fprintf(c.out, "%s: %s, damaged: %s\n", f.Name, size(f.Bytes), f.Problem)
			err = errFailed
			continue
		}
		fmt.Fprintf(c.out, "%s: %s, good.\n", f.Name, size(f.Bytes))
	}
	if len(list) == 0 {
		fmt.Fprintln(c.out, "There is no data yet.")
	}
	return err
}

type compactCommand struct{ dataConfig }

// Run makes the files small.
func (command compactCommand) Run(ctx context.Context, c console) error {
	list, err := atDesk(ctx, command.dataConfig, c, pathCompact, struct{}{}, desk.compactByHand)
	for _, f := range list {
		fmt.Fprintf(c.out, "%s: %s before, %s after; took %v, of which nothing could be written for %v.\n",
			f.Name, size(f.Before), size(f.After), f.Took.Round(time.Millisecond), f.Waited.Round(100*time.Microsecond))
	}
	if err == nil && len(list) == 0 {
		fmt.Fprintln(c.out, "There is no data yet.")
	}
	return err
}

type restoreCommand struct {
	dataConfig
	From []string `placeholder:"FILE" help:"The backup. Default: the newest good one of data_dir/backups."`
	Yes  bool     `help:"Do not ask."`
}

// Run replaces the data file. Nobody may be using it.
func (command restoreCommand) Run(ctx context.Context, c console) error {
	config, _, err := loadConfig(command.Config, c)
	if err != nil {
		return err
	}
	from := command.From
	if len(from) == 0 {
		from = backup.Paths(backup.List(backupsOf(config.DataDir), bolt.FileName))
	}
	file := filepath.Join(config.DataDir, bolt.FileName)
	if err := confirm(c, command.Yes, fmt.Sprintf("The newest good backup replaces %s, which is kept under another name. Everything stored after that backup is lost.", file)); err != nil {
		return err
	}
	o, err := storeOptions(config.DataDir, "legwork data restore", newLog(config.Log, c.err, redact.New(config.Secrets())))
	if err != nil {
		return err
	}
	loss, err := bolt.Restore(ctx, config.DataDir, from, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s.\n", lossText(*loss))
	store, err := openStore(ctx, config, "legwork data restore", newLog(config.Log, c.err, redact.New(config.Secrets())))
	if err != nil {
		return err
	}
	record(ctx, store, newLog(config.Log, c.err, redact.New(config.Secrets())), byHand("data.restore", "", lossText(*loss)))
	return store.Close()
}

// confirm asks whether to go on.
func confirm(c console, yes bool, what string) error {
	if yes {
		return nil
	}
	fmt.Fprintf(c.err, "%s\nWrite \"yes\" to go on: ", what)
	var answer string
	if _, err := fmt.Fscanln(c.in, &answer); err != nil || !strings.EqualFold(answer, "yes") {
		return misuse("nothing was changed; write yes when you are asked, or call the command with --yes")
	}
	return nil
}

// size is a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
}

// table writes rows of two columns.
func table(out io.Writer, rows [][2]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r[0], r[1])
	}
	return w.Flush()
}
