package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"legwork/app/cli"
	"legwork/app/control"
	"legwork/app/data"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/llm/offline"
	"legwork/tasks"
	"legwork/tasks/commands"
	"legwork/tasks/inbox"
)

// ChatOptions are what "legwork chat" was asked for.
type ChatOptions struct {
	Text  string   // the only question; empty for a chat
	Name  string   // of the conversation
	Files []string // paths of files that go along with the first question
	JSON  bool     // lines of JSON instead of texts
	Log   bool     // write the log to standard error, also for one question
}

const chatCommand = "legwork chat"

// Chat works in the terminal with the models and tools of the config at path until
// the person leaves. Tasks that an earlier run left unfinished continue. Beside a
// running daemon, it is a terminal of that daemon.
func Chat(ctx context.Context, o ChatOptions, path string, c cli.Console) error {
	if err := hideProcess(); err != nil {
		return err
	}
	config, _, err := c.LoadConfig(path)
	if err != nil {
		return err
	}
	talk := conversation{ChatOptions: o, command: chatCommand, banner: []string{"terminal.banner", "terminal.hint"}}
	client := control.NewClient(config.DataDir)
	defer client.Close()
	if running, err := client.Status(ctx); err == nil && running.Chats {
		return talk.attach(ctx, c, config, client)
	}
	log, closeLog, err := talk.log(config, c)
	if err != nil {
		return err
	}
	defer closeLog()
	models, err := newModels(config.LLM, offline.Options{}, log, func(string, map[string]any) {}, nil) // the person reads problems in the answer
	if err != nil {
		return err
	}
	defer models.close()
	return talk.run(ctx, c, config, models, log)
}

// conversation is one run of "legwork chat" or "legwork demo".
type conversation struct {
	ChatOptions
	command string
	banner  []string // keys of the texts that open an interactive chat
	model   string   // named in the banner
}

// interactive reports whether a person types and reads in a terminal.
func (talk conversation) interactive(c cli.Console) bool {
	in, isIn := c.In.(*os.File)
	out, isOut := c.Out.(*os.File)
	return talk.Text == "" && !talk.JSON && isIn && isOut && terminal.IsTerminal(in, out)
}

// logsToFile reports whether log lines would disturb what a person reads: the screen of
// an interactive chat, or the progress of a single question.
func (talk conversation) logsToFile(c cli.Console) bool {
	return talk.interactive(c) || talk.Text != "" && !talk.JSON && !talk.Log
}

// logName is the name of the log file in the data directory.
const logName = "legwork.log"

// log returns the logger: on standard error, or in the data directory.
func (talk conversation) log(config *conf.Config, c cli.Console) (*slog.Logger, func(), error) {
	if !talk.logsToFile(c) {
		return cli.NewLog(config.Log, c.Err, redact.New(config.Secrets())), func() {}, nil
	}
	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return nil, nil, data.FolderError(config.DataDir, fmt.Errorf("creating data directory: %w", err))
	}
	file, err := os.OpenFile(filepath.Join(config.DataDir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, data.FolderError(config.DataDir, fmt.Errorf("opening log: %w", err))
	}
	return cli.NewLog(config.Log, file, redact.New(config.Secrets())), func() { _ = file.Close() }, nil
}

// screen is the terminal of the conversation, without what depends on the store.
func (talk conversation) screen(c cli.Console, config *conf.Config) (terminal.Config, error) {
	screen := terminal.Config{
		In: c.In, Out: c.Out, Err: c.Err, Chat: talk.Name, JSON: talk.JSON, Text: talk.Text, Interactive: talk.interactive(c),
		Person: terminal.Login(), MaxText: inbox.MaxGoal, History: filepath.Join(config.DataDir, "input_history"),
	}
	for _, path := range talk.Files {
		a, err := terminal.Attach(path)
		if err != nil {
			return screen, cli.MisuseError(err.Error())
		}
		screen.Files = append(screen.Files, a)
	}
	for _, name := range commands.Names() {
		screen.Commands = append(screen.Commands, "/"+name)
	}
	if talk.JSON && talk.Text != "" {
		line, err := json.Marshal(map[string]any{"id": rand.Text(), "text": talk.Text, "files": talk.Files})
		if err != nil {
			return screen, fmt.Errorf("writing the question: %w", err)
		}
		screen.In, screen.Text = bytes.NewReader(line), ""
	}
	return screen, nil
}

// run works until the person leaves.
func (talk conversation) run(ctx context.Context, c cli.Console, config *conf.Config, model llm.Model, log *slog.Logger) error {
	screen, err := talk.screen(c, config)
	if err != nil {
		return err
	}
	a, err := openCore(ctx, config, talk.command, instruments{hidden: redact.New(config.Secrets())}, log, talk.standby(c))
	if err != nil {
		return err
	}
	a.unattended = talk.Text != "" && (talk.JSON || !terminal.Attended(c.In, c.Err))
	t := talk.terminal(ctx, a, screen)
	addOwner(config)
	a.connect(model, t)
	err = talk.serve(ctx, a, t)
	if closed := a.close(); err == nil {
		err = closed
	}
	if err == nil && t.Failed() && !screen.Interactive { // in an interactive chat the person has read it
		if talk.command == chatCommand && talk.logsToFile(c) && ctx.Err() == nil {
			_, _ = fmt.Fprintln(c.Err, a.texts.Text(config.Language, "terminal.log", map[string]any{"Path": filepath.Join(config.DataDir, logName)}))
		}
		return cli.ErrFailed
	}
	return err
}

// standby returns what is called when another process works with the database. It is
// nil for a single question, which fails then: scripts must not wait for ever.
func (talk conversation) standby(c cli.Console) func(holder string) {
	if talk.Text != "" {
		return nil
	}
	return func(holder string) {
		_, _ = fmt.Fprintf(c.Err, "The database is in use by %s.\n%s waits until that process ends. Ctrl-C leaves.\n", holder, talk.command)
	}
}

// serve works until the terminal is left, ctx ends or a part fails, then stops all
// parts.
func (talk conversation) serve(ctx context.Context, a *core, t *terminal.Terminal) error {
	var parts lifecycle
	defer parts.stop(a.log)
	a.start(&parts)
	return a.sit(ctx, &parts, t)
}

// sit works until the terminal is left, ctx ends or a part fails.
func (a *core) sit(ctx context.Context, parts *lifecycle, t *terminal.Terminal) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	left := make(chan error, 1)
	go func() { left <- t.Run(ctx, a.inbox.Handle) }()
	select {
	case err := <-left:
		return err
	case f := <-parts.failed:
		leave()
		return errors.Join(parts.returned(f), <-left)
	}
}

// addOwner makes the person at this machine's terminal, who owns the data, an admin who
// gets notices.
func addOwner(config *conf.Config) {
	config.Access.Admins = append(slices.Clip(config.Access.Admins), owner())
}

// terminal builds the platform of a conversation from screen, which it completes.
func (talk conversation) terminal(ctx context.Context, a *core, screen terminal.Config) *terminal.Terminal {
	screen.Texts, screen.Language = a.texts, func() string { return a.ownersLanguage(ctx, a.config.Language) }
	if live, err := a.store.Live(ctx, ""); err == nil {
		screen.Resumed = len(live)
	}
	screen.Banner = talk.greeting(screen, talk.banner)
	if talk.command == demoCommand {
		screen.Unfinished = func() string { return "" } // its data is deleted
	}
	var t *terminal.Terminal
	screen.Wait = func(ctx context.Context) error {
		if talk.JSON { // a program has several conversations
			return tasks.Idle(ctx, a.store, "")
		}
		return tasks.Idle(ctx, a.store, t.Chat().Key())
	}
	t = terminal.New(screen)
	return t
}

// ownersLanguage is the language that the person at the terminal chose, or usual.
func (a *core) ownersLanguage(ctx context.Context, usual string) string {
	chosen, err := a.store.Setting(ctx, owner(), tasks.SettingLanguage)
	if err != nil {
		return usual
	}
	return cmp.Or(chosen, usual)
}

// greeting is the text that opens a chat; empty for programs and a single question. It
// mentions the tasks that an earlier run left unfinished.
func (talk conversation) greeting(screen terminal.Config, banner []string) string {
	if talk.JSON || talk.Text != "" {
		return ""
	}
	data := map[string]any{"Version": telemetry.ReadBuild().Version, "Model": talk.model}
	var lines []string
	for _, key := range banner {
		lines = append(lines, screen.Texts.Text(screen.Language(), key, data))
	}
	if screen.Resumed > 0 {
		lines = append(lines, screen.Texts.Text(screen.Language(), "terminal.resumed", map[string]any{"Count": screen.Resumed}))
	}
	return strings.Join(lines, "\n\n")
}
