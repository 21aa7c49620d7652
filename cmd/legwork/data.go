package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"legwork/app/cli"
	"legwork/app/data"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/store"
	"legwork/store/bolt"
)

// dataCommand works on the stored data, through the process that holds them or
// without one.
type dataCommand struct {
	Backup  backupCommand  `cmd:"" help:"Copy the data to a file, also while legwork runs, and read the copy again."`
	Verify  verifyCommand  `cmd:"" help:"Read all of the data, or of one file such as a backup, and print the damage."`
	Compact compactCommand `cmd:"" help:"Make the data files as small as they can be, also while legwork runs."`
	Forget  forgetCommand  `cmd:"" help:"Delete everything that is stored about a person or a chat."`
	Restore restoreCommand `cmd:"" help:"Go back to a backup: it replaces the data file. Everything stored after it is lost."`
	Copy    copyCommand    `cmd:"" help:"Copy the data to another store, a folder or a Postgres database, and compare both. Interrupted, the same command continues."`
	Rekey   rekeyCommand   `cmd:"" help:"Change the key that encrypts the stored sign-ins at tool servers, also while legwork runs."`
}

// dataConfig names the config of the data.
type dataConfig struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// owner reaches the data of the config.
func (of dataConfig) owner(c cli.Console) (data.Owner, error) {
	config, _, err := c.LoadConfig(of.Config)
	if err != nil {
		return data.Owner{}, err
	}
	return data.Owner{Config: config, Log: c.Log(config)}, nil
}

type backupCommand struct {
	dataConfig
	File string `arg:"" help:"The file to write. The notes of the memory server go to a second file beside it."`
}

// Run makes a backup at once.
func (command backupCommand) Run(ctx context.Context, c cli.Console) error {
	path, err := filepath.Abs(command.File)
	if err != nil {
		return fmt.Errorf("finding the folder of the backup: %w", err)
	}
	owner, err := command.owner(c)
	if err != nil {
		return err
	}
	list, err := owner.Backup(ctx, path)
	for _, f := range list {
		fmt.Fprintf(c.Out, "%s: %s, read again and good.\n", f.Path, size(f.Bytes))
	}
	if err == nil && len(list) == 0 {
		fmt.Fprintln(c.Out, "There is no data yet.")
	}
	return err
}

type verifyCommand struct {
	dataConfig
	Quick bool   `help:"With FILE: do not check the checksums of the records."`
	File  string `arg:"" optional:"" help:"A data file that no process uses, such as a backup. Default: the data of the config."`
}

// Run prints and returns the damage. The store also starts it as a child process,
// because reading a damaged file can crash the process.
func (command verifyCommand) Run(ctx context.Context, c cli.Console) error {
	if command.File == "" {
		return command.all(ctx, c)
	}
	info, err := os.Stat(command.File)
	if err != nil {
		return fmt.Errorf("verifying: %w", err)
	}
	if err := data.VerifyFile(command.File, command.Quick); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s: %s, good.\n", command.File, size(info.Size()))
	return nil
}

// all verifies the data of a config.
func (command verifyCommand) all(ctx context.Context, c cli.Console) error {
	owner, err := command.owner(c)
	if err != nil {
		return err
	}
	list, err := owner.Verify(ctx)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Problem != "" {
			fmt.Fprintf(c.Out, "%s: %s, damaged: %s\n", f.Name, size(f.Bytes), f.Problem)
			err = cli.ErrFailed
			continue
		}
		fmt.Fprintf(c.Out, "%s: %s, good.\n", f.Name, size(f.Bytes))
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Out, "There is no data yet.")
	}
	return err
}

type rekeyCommand struct {
	dataConfig
	To  string `placeholder:"FILE" help:"The file with the new key; it is made when there is none. Default: a new key, or with --old the key in use."`
	Old string `placeholder:"FILE" help:"A file with an earlier key that some sign-ins are still sealed with."`
}

// Run changes the sealing key.
func (command rekeyCommand) Run(ctx context.Context, c cli.Console) error {
	owner, err := command.owner(c)
	if err != nil {
		return err
	}
	var in data.RekeyRequest
	for path, to := range map[string]*string{command.To: &in.To, command.Old: &in.Old} {
		if path != "" {
			if *to, err = filepath.Abs(path); err != nil {
				return fmt.Errorf("finding the folder of the key: %w", err)
			}
		}
	}
	out, err := owner.Rekey(ctx, in)
	if err != nil {
		return err
	}
	if out.Key == "" {
		fmt.Fprintln(c.Out, "There is no data yet.")
		return nil
	}
	fmt.Fprintf(c.Out, "Sealed %d sign-ins with the key %s.\n", out.Connections-out.Lost, out.Key)
	if out.File != "" {
		fmt.Fprintf(c.Out, "The key is in %s.\n", out.File)
	}
	for _, advice := range out.Advice() {
		fmt.Fprintln(c.Out, "warning:", advice)
	}
	return nil
}

type compactCommand struct{ dataConfig }

// Run compacts the files.
func (command compactCommand) Run(ctx context.Context, c cli.Console) error {
	owner, err := command.owner(c)
	if err != nil {
		return err
	}
	list, err := owner.Compact(ctx)
	for _, f := range list {
		fmt.Fprintf(c.Out, "%s: %s before, %s after; took %v, writes waited for %v.\n",
			f.Name, size(f.Before), size(f.After), f.Took.Round(time.Millisecond), f.Waited.Round(100*time.Microsecond))
	}
	if err == nil && len(list) == 0 {
		fmt.Fprintln(c.Out, "There is no data yet.")
	}
	return err
}

type restoreCommand struct {
	dataConfig
	From []string `placeholder:"FILE" help:"The backup. Default: the newest good one of data_dir/backups."`
	Yes  bool     `help:"Do not ask."`
}

// Run replaces the data file. No process may be using it.
func (command restoreCommand) Run(ctx context.Context, c cli.Console) error {
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	loss, err := data.Restore(ctx, config, command.From, func(l bolt.Loss) error {
		return confirm(c, command.Yes, fmt.Sprintf("%s replaces %s, which is kept under another name. Everything stored after %s is lost.",
			l.Backup, filepath.Join(config.DataDir, bolt.FileName), l.From.Local().Format(time.DateTime)))
	}, c.Log(config))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s.\n", data.LossText(*loss))
	return nil
}

type copyCommand struct {
	From        string `required:"" placeholder:"FOLDER|FILE|URL" help:"A data folder, also while legwork runs; a backup file; or postgres://USER@HOST/DATABASE."`
	To          string `required:"" placeholder:"FOLDER|URL" help:"A new or empty folder, or the URL of an empty Postgres database. No legwork may be using it."`
	SkipDamaged bool   `help:"Leave out damaged records, and list them. Otherwise the first one ends the copy."`
	JSON        bool   `help:"For programs: one JSON object at the end."`
}

// Run copies a store. The error says why it is not complete.
func (command copyCommand) Run(ctx context.Context, c cli.Console) error {
	in := data.CopyRequest{From: command.From, To: command.To, SkipDamaged: command.SkipDamaged}
	screen, ok := c.Err.(*os.File)
	shows := ok && terminal.IsTerminal(screen, screen)
	if shows {
		in.Progress = func(p store.CopyProgress) {
			doing := "Copying"
			if p.Comparing {
				doing = "Comparing both sides"
			}
			fmt.Fprintf(c.Err, "\r\x1b[K%s: %d records so far, now those of %q", doing, p.Records, p.Table)
		}
	}
	log := cli.NewLog(conf.Log{Level: "warn"}, c.Err, redact.New(nil))
	r, err := data.Copy(ctx, in, log)
	if shows {
		fmt.Fprint(c.Err, "\r\x1b[K")
	}
	switch {
	case r.Unfinished:
		fmt.Fprintf(c.Err, "The copy in %s is not complete. Run the same command again to continue it.\n", r.To)
	case err == nil && command.JSON:
		fmt.Fprintln(c.Out, cli.JSON(r))
	case err == nil:
		return printCopied(c, r)
	}
	return err
}

// printCopied lists the tables of a copy that are not empty, and says what it means for the source.
func printCopied(c cli.Console, r data.CopyReport) error {
	rows := [][2]string{{"table", "records  SHA-256 of both sides"}}
	for _, t := range r.Tables {
		if t.Records > 0 {
			rows = append(rows, [2]string{t.Table, fmt.Sprintf("%7d  %.16s", t.Records, t.SHA256)})
		}
	}
	if err := table(c.Out, rows); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	if r.Continued {
		fmt.Fprintf(c.Out, "An unfinished copy was continued: %d records were different or missing.\n", r.Changed)
	}
	fmt.Fprintf(c.Out, "Copied %d records from %s to %s in %v, and compared them: they are equal.\n", r.Records, r.From, r.To, r.Took.Round(time.Millisecond))
	if r.Contents > 0 {
		fmt.Fprintf(c.Out, "Copied the contents of %d files, and compared them with their hashes.\n", r.Contents)
	}
	for _, record := range r.LeftOut {
		fmt.Fprintln(c.Out, "Damaged and left out:", record)
	}
	switch {
	case r.NotesCopied:
		fmt.Fprintf(c.Out, "The notes of the memory server are not in the database; their file was copied too: %s.\n", r.Notes)
	case r.Notes != "":
		fmt.Fprintf(c.Out, "The notes of the memory server are not in the database; they stay in %s, which belongs into data_dir.\n", r.Notes)
	}
	if r.Live {
		fmt.Fprintf(c.Out, "The source is in use. The copy shows it as it was at %s, and drops the tasks that were running.\n", r.Began.Local().Format(time.DateTime))
	} else {
		fmt.Fprintln(c.Out, "Start legwork with one of them only: both would continue the same tasks.")
	}
	return nil
}

// confirm asks whether to go on.
func confirm(c cli.Console, yes bool, what string) error {
	if yes {
		return nil
	}
	fmt.Fprintf(c.Err, "%s\nType \"yes\" to continue: ", what)
	var answer string
	if _, err := fmt.Fscanln(c.In, &answer); err != nil || !strings.EqualFold(answer, "yes") {
		return cli.MisuseError("nothing was changed; type yes when you are asked, or use --yes")
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

type forgetCommand struct {
	dataConfig
	Who     string `arg:"" help:"A person or a chat, such as telegram:12345 or slack:C012AB3CD, as /settings and the log name them; or server:NAME for all sign-ins at a tool server."`
	Backups bool   `help:"Delete the older backups too, after making a new one."`
	Yes     bool   `help:"Do not ask."`
}

// Run deletes everything about a person or a chat and prints a summary.
func (command forgetCommand) Run(ctx context.Context, c cli.Console) error {
	platform, id, ok := strings.Cut(command.Who, ":")
	if !ok || platform == "" || id == "" {
		return cli.MisuseError(fmt.Sprintf("%q is neither a person nor a chat; write platform:id, such as telegram:12345 or slack:C012AB3CD", command.Who))
	}
	what := fmt.Sprintf("legwork stops the running tasks of %[1]s and deletes everything about %[1]s for good: tasks, history, settings, schedules, notes, files, sign-ins at servers.", command.Who)
	if err := confirm(c, command.Yes, what); err != nil {
		return err
	}
	owner, err := command.owner(c)
	if err != nil {
		return err
	}
	out, err := owner.Forget(ctx, data.ForgetRequest{Who: command.Who, Backups: command.Backups})
	if err != nil {
		return err
	}
	return printForgotten(c, command.Who, out)
}

// printForgotten lists the deleted records, and the files that may still hold some.
func printForgotten(c cli.Console, who string, f data.Forgotten) error {
	rows := [][2]string{
		{"tasks with their steps", fmt.Sprint(f.Tasks)},
		{"questions and answers", fmt.Sprint(f.Turns)},
		{"summaries", fmt.Sprint(f.Summaries)},
		{"settings and permissions", fmt.Sprint(f.Settings)},
		{"schedules", fmt.Sprint(f.Schedules)},
		{"usage records", fmt.Sprint(f.Spent)},
		{"files", fmt.Sprint(f.Contents)},
		{"notes", fmt.Sprint(f.Notes)},
		{"sign-ins at servers", fmt.Sprint(f.Connections)},
	}
	if f.Input {
		rows = append(rows, [2]string{"input history of the terminal", "all"})
	}
	for _, file := range f.Files {
		rows = append(rows, [2]string{file.Name, fmt.Sprintf("%s before, %s after", size(file.Before), size(file.After))})
	}
	if f.Empty() && f.Notes == 0 && !f.Input && len(f.Live) == 0 {
		fmt.Fprintf(c.Out, "legwork stores nothing about %s. /settings in a chat shows its ids.\n", who)
		rows = rows[len(rows)-len(f.Files):]
	} else {
		fmt.Fprintf(c.Out, "Deleted of %s:\n", who)
	}
	if err := table(c.Out, rows); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	if f.Stopped > 0 {
		fmt.Fprintf(c.Out, "legwork stopped %d running tasks first.\n", f.Stopped)
	}
	switch {
	case f.Gone:
		fmt.Fprintf(c.Out, "legwork deleted %d older backups and damaged files.\n", len(f.Backups))
		if f.Fresh != "" {
			fmt.Fprintf(c.Out, "The only backup is %s.\n", f.Fresh)
		}
	case len(f.Backups) > 0:
		fmt.Fprintln(c.Out, "These older files may still hold it; --backups deletes them:")
		for _, path := range f.Backups {
			fmt.Fprintln(c.Out, " ", path)
		}
	}
	if len(f.Live) > 0 {
		fmt.Fprintf(c.Out, "These tasks are still running; run the command again: %s\n", data.IDList(f.Live))
		return cli.ErrFailed
	}
	return nil
}
