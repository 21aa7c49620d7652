package main

import (
	"context"
	"fmt"
	"strings"
)

type forgetCommand struct {
	dataConfig
	Who     string `arg:"" help:"A person or a chat, such as telegram:12345 or slack:C012AB3CD, as /settings and the log name them."`
	Backups bool   `help:"Delete the backups made so far as well, once there is a new one."`
	Yes     bool   `help:"Do not ask."`
}

// Run deletes all there is of a person or a chat and says what that was.
func (command forgetCommand) Run(ctx context.Context, c console) error {
	platform, id, ok := strings.Cut(command.Who, ":")
	if !ok || platform == "" || id == "" {
		return misuse(fmt.Sprintf("%q is no person and no chat; write platform:id, such as telegram:12345 or slack:C012AB3CD", command.Who))
	}
	what := fmt.Sprintf("Everything that is stored of %s is deleted for good: tasks, history, settings, schedules, notes. Tasks that run are stopped.", command.Who)
	if err := confirm(c, command.Yes, what); err != nil {
		return err
	}
	out, err := atDesk(ctx, command.dataConfig, c, pathForget, forgetting{command.Who, command.Backups}, desk.forget)
	if err != nil {
		return err
	}
	return out.print(c, command.Who)
}

// print says what was deleted, and what is left.
func (f forgotten) print(c console, who string) error {
	rows := [][2]string{
		{"tasks with all they did", fmt.Sprint(f.Tasks)},
		{"questions and answers", fmt.Sprint(f.Turns)},
		{"summaries", fmt.Sprint(f.Summaries)},
		{"settings and permissions", fmt.Sprint(f.Settings)},
		{"schedules", fmt.Sprint(f.Schedules)},
		{"rows of what was spent", fmt.Sprint(f.Spent)},
		{"notes", fmt.Sprint(f.Notes)},
	}
	if f.Input {
		rows = append(rows, [2]string{"what was typed in the terminal", "all"})
	}
	for _, file := range f.Files {
		rows = append(rows, [2]string{file.Name, fmt.Sprintf("%s before, %s after", size(file.Before), size(file.After))})
	}
	fmt.Fprintf(c.out, "Deleted of %s:\n", who)
	if err := table(c.out, rows); err != nil {
		return fmt.Errorf("writing what was deleted: %w", err)
	}
	if f.Stopped > 0 {
		fmt.Fprintf(c.out, "%d running tasks were stopped for it.\n", f.Stopped)
	}
	switch {
	case f.Gone:
		fmt.Fprintf(c.out, "%d backups and damaged files of before were deleted.\n", len(f.Backups))
		if f.Fresh != "" {
			fmt.Fprintf(c.out, "The only backup is %s.\n", f.Fresh)
		}
	case len(f.Backups) > 0:
		fmt.Fprintln(c.out, "These were made before and may still hold it; --backups deletes them:")
		for _, path := range f.Backups {
			fmt.Fprintln(c.out, " ", path)
		}
	}
	if len(f.Live) > 0 {
		fmt.Fprintf(c.out, "These tasks have not ended yet; call the command again: %s\n", idList(f.Live))
		return errFailed
	}
	return nil
}
