package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"legwork/app/cli"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/llm/offline"
)

const demoCommand = "legwork demo"

// demoPace is slow enough to see the sub-tasks run side by side and the answer
// stream.
var demoPace = offline.Options{Delay: 400 * time.Millisecond, WordDelay: 15 * time.Millisecond}

// Demo answers one question with the offline stand-in and the built-in tools, in a fresh
// data directory. When text is empty, it is a daemon with a chat in this terminal, and
// prints a link to its page.
func Demo(ctx context.Context, text string, files []string, c cli.Console) error {
	if err := hideProcess(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "legwork-demo-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	path, err := conf.WriteDemo(dir, cli.Timezone(c.Env))
	if err != nil {
		return err
	}
	config, source, err := c.LoadConfig(path)
	if err != nil {
		return err
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
	if text != "" {
		return talk.run(ctx, c, config, offline.New(offline.Options{}), log)
	}
	screen, err := talk.screen(c, config)
	if err != nil {
		return err
	}
	addOwner(config)
	here := &seat{talk: talk, screen: screen}
	d, err := newDaemon(ctx, config, source, c, redact.New(config.Secrets()), log, here)
	if err != nil {
		return err
	}
	if err := errors.Join(d.run(ctx), d.core.close()); err != nil {
		return err
	}
	if here.terminal.Failed() && !screen.Interactive { // in an interactive chat the person has read it
		return cli.ErrFailed
	}
	return nil
}

// seat is the terminal of a daemon that works for the person who sits there.
type seat struct {
	talk     conversation
	screen   terminal.Config
	terminal *terminal.Terminal // nil until daemon.listen
}

// notes is where legwork writes besides the chat: an answer in a pipe stays alone.
func (s *seat) notes(c cli.Console) io.Writer {
	if s.screen.Interactive {
		return c.Out
	}
	return c.Err
}
