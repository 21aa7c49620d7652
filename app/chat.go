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
	"time"

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
	"legwork/web"
	webapi "legwork/web/api"
)

// ChatOptions are what "legwork chat" was asked for.
type ChatOptions struct {
	Text  string   // the only question; empty for a chat
	Name  string   // of the conversation
	Files []string // paths of files that go along with the first question
	JSON  bool     // lines of JSON instead of texts
	Log   bool     // write the log to standard error, also for one question
}

const chatCommand, demoCommand = "legwork chat", "legwork demo"

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
	models, err := newModels(config.LLM, log, func(string, map[string]any) {}, nil) // the person reads problems in the answer
	if err != nil {
		return err
	}
	defer models.close()
	return talk.run(ctx, c, config, models, log)
}

// demoPace is slow enough to see the sub-tasks run side by side and the answer
// stream.
var demoPace = offline.Options{Delay: 400 * time.Millisecond, WordDelay: 15 * time.Millisecond}

// Demo answers one question, or chats when text is empty, with the offline
// stand-in and the built-in tools in a fresh data directory.
func Demo(ctx context.Context, text string, files []string, c cli.Console) error {
	if err := hideProcess(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "legwork-demo-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	config := conf.Demo(dir)
	config.Log.Level = slog.LevelWarn.String()
	config.Timezone = cli.Timezone(c.Env)
	pace := offline.Options{}
	if text == "" {
		pace = demoPace
	}
	talk := conversation{
		ChatOptions: ChatOptions{Text: text, Files: files}, command: demoCommand,
		banner: []string{"demo.banner", "demo.hint", "terminal.hint"}, model: "llm/offline",
	}
	log, closeLog, err := talk.log(config, c)
	if err != nil {
		return err
	}
	defer closeLog()
	return talk.run(ctx, c, config, offline.New(pace), log)
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
	a, err := openCore(ctx, config, talk.command, talk.instruments(config), log, talk.standby(c))
	if err != nil {
		return err
	}
	a.unattended = talk.Text != "" && (talk.JSON || !terminal.Attended(c.In, c.Err))
	t := talk.terminal(ctx, a, screen)
	config.Access.Admins = append(slices.Clip(config.Access.Admins), t.Person().Key()) // the person at this terminal owns the data
	page, err := talk.connect(ctx, c, a, model, t)
	if err == nil {
		err = talk.serve(ctx, a, t, page)
	}
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

// instruments counts calls where the page shows them.
func (talk conversation) instruments(config *conf.Config) instruments {
	w := instruments{hidden: redact.New(config.Secrets())}
	if talk.command == demoCommand && talk.Text == "" {
		w.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{Build: telemetry.ReadBuild(), Now: time.Now})
	}
	return w
}

// connect connects core to the terminal. A demo without a question also serves the page, for
// the person at this machine, and prints a link that signs them in.
func (talk conversation) connect(ctx context.Context, c cli.Console, a *core, model llm.Model, t *terminal.Terminal) (page *web.Server, err error) {
	if talk.command != demoCommand || talk.Text != "" {
		a.connect(model, t)
		return nil, nil
	}
	a.config.HTTP.Listen = "127.0.0.1:0"
	a.webChat = a.newWebChat(ctx.Done())
	a.connect(model, t, a.webChat)
	if page, err = a.openServer(a.serverConfig(ctx, a.config, nil, webapi.Config{Operations: a.operations(demoModels, func() map[string]error { return nil })})); err != nil {
		return nil, err
	}
	link, err := a.ownerLink(ctx)
	if err != nil {
		return nil, errors.Join(err, page.Close())
	}
	out := c.Err
	if talk.interactive(c) {
		out = c.Out
	}
	_, err = fmt.Fprintln(out, a.texts.Text(a.config.Language, "demo.page", map[string]any{"Link": link}))
	return page, err
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
func (talk conversation) serve(ctx context.Context, a *core, t *terminal.Terminal, page *web.Server) error {
	var parts lifecycle
	defer parts.stop(a.log)
	a.start(&parts)
	if page != nil {
		parts.start("http", page.Run)
	}
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
