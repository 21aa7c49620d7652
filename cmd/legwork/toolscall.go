package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/internal/form"
	"legwork/internal/nearest"
	"legwork/tools"
	"legwork/tools/client"
)

type toolsCallCommand struct {
	Server    string        `arg:"" help:"A server of the config."`
	Tool      string        `arg:"" help:"One of its tools."`
	Arguments string        `arg:"" optional:"" placeholder:"JSON" help:"A JSON object; - reads it from standard input. Default: {}."`
	Config    string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Group     string        `placeholder:"NAME" help:"Call it by the rules of this group. Default: the first one that offers the tool."`
	Yes       bool          `help:"Call it without asking for approval."`
	Out       string        `placeholder:"DIR" help:"Save the images of the result as files in this folder."`
	Chat      string        `placeholder:"KEY" help:"Built-in servers work for this chat, such as telegram:-100987. Default: that of legwork chat."`
	Wait      time.Duration `default:"30s" help:"How long the server may take to start."`
}

// Run calls a tool by the rules of the config, with a person at the terminal in
// the place of the model. The result goes to standard output, all else to
// standard error.
func (command toolsCallCommand) Run(ctx context.Context, c console) error {
	arguments, err := command.arguments(c)
	if err != nil {
		return err
	}
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	config, _, err := loadConfig(command.Config, c)
	if err != nil {
		return err
	}
	if _, ok := config.Tools.Servers[command.Server]; !ok {
		return noServer(command.Server, config)
	}
	one, err := command.alone(config.Tools)
	if err != nil {
		return err
	}
	options := toolOptions(config, slog.New(slog.DiscardHandler))
	options.Known = recalled(ctx, config, c)
	manager, err := tools.New(one, options)
	if err != nil {
		return fmt.Errorf("preparing the server %q: %w", command.Server, err)
	}
	p := newPrompter(c, command.Arguments == "-")
	work := errFailed
	err = during(ctx, manager, func(ctx context.Context) {
		work = command.call(ctx, c, manager, p, arguments)
	})
	return cmp.Or(work, err)
}

// arguments are those of the call, checked as far as they can be without the
// server.
func (command toolsCallCommand) arguments(c console) (json.RawMessage, error) {
	text := cmp.Or(command.Arguments, "{}")
	if text == "-" {
		var err error
		if text, err = readInput(c); err != nil {
			return nil, err
		}
	}
	raw := bytes.TrimSpace([]byte(text))
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		why := ""
		if err != nil && !json.Valid(raw) {
			why = fmt.Sprintf(" (%v)", err)
		}
		return nil, misuse(fmt.Sprintf(`the arguments are not a JSON object%s; write one such as '{"city": "Rome"}', or - to read it from standard input`, why))
	}
	return raw, nil
}

// alone is a config without the other servers: they are not started.
func (command toolsCallCommand) alone(c tools.Config) (tools.Config, error) {
	one := tools.Config{Servers: map[string]tools.ServerConfig{command.Server: c.Servers[command.Server]}, Groups: map[string]tools.GroupConfig{}}
	for name, g := range c.Groups {
		if slices.Contains(g.Servers, command.Server) || len(g.Servers) == 0 && name == command.Server {
			g.Servers, g.Prompt = []string{command.Server}, ""
			one.Groups[name] = g
		}
	}
	if len(one.Groups) == 0 {
		one.Groups[command.Server] = tools.GroupConfig{}
	}
	if command.Group == "" {
		return one, nil
	}
	g, ok := one.Groups[command.Group]
	if !ok {
		return one, fmt.Errorf("the server %q is in no group %q; it is in %s", command.Server, command.Group, strings.Join(slices.Sorted(maps.Keys(one.Groups)), ", "))
	}
	one.Groups = map[string]tools.GroupConfig{command.Group: g}
	return one, nil
}

// maxQuestions is how often a server may answer a call by a question.
const maxQuestions = 20

// call makes the call when everybody agrees to it.
func (command toolsCallCommand) call(ctx context.Context, c console, manager *tools.Manager, p *prompter, arguments json.RawMessage) error {
	group, verdict, err := command.judge(ctx, manager)
	if err != nil {
		return err
	}
	full := command.Server + "." + command.Tool
	if verdict.Ask && !command.Yes {
		err := p.approve(ctx, full, group, arguments)
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted; it was not called")
		}
		if err != nil {
			return err
		}
	}
	person := bot.Person{Platform: terminal.Name, ID: terminal.Login()}
	own := bot.Chat{Platform: terminal.Name, ID: "main", Private: true}
	call := tools.Call{Chat: cmp.Or(command.Chat, own.Key()), Person: person.Key(), Private: command.Chat == ""}
	call.Tool, call.Arguments, call.Definition, call.Progress = full, arguments, verdict.Definition, p.progress
	call.Ask = func(ctx context.Context, q form.Question) (form.Answer, error) {
		return p.answer(ctx, command.Server, q)
	}
	for range maxQuestions {
		result, err := manager.Set().Call(ctx, group, call)
		if err != nil {
			return errors.New("interrupted; it is not known whether the call took effect")
		}
		if result.Question == nil {
			return command.show(c, result)
		}
		answer, err := p.answer(ctx, command.Server, *result.Question)
		if err != nil {
			return err
		}
		call.Resume = &client.Resume{State: result.State, Answer: answer}
	}
	return fmt.Errorf("the server %q asks more than %d questions for one call; it is given up, and it is not known whether it took effect", command.Server, maxQuestions)
}

// judge finds the group by whose rules the tool is called. Of several, one that
// asks decides.
func (command toolsCallCommand) judge(ctx context.Context, manager *tools.Manager) (group string, verdict tools.Verdict, err error) {
	set, full := manager.Set(), command.Server+"."+command.Tool
	for _, server := range manager.Probe(ctx, command.Wait) {
		if server.Problem != "" && ctx.Err() == nil {
			return "", verdict, fmt.Errorf("the server %q cannot be used: %s", command.Server, flat(trouble(server, command.Wait)))
		}
	}
	for _, g := range set.Groups() {
		v := set.Verdict(ctx, g.Name, full)
		switch {
		case ctx.Err() != nil:
			return "", v, ctx.Err()
		case v.Held:
			return "", v, fmt.Errorf("%s is held back, because its server has changed it; \"legwork tools accept %[1]s\" shows how", full)
		case v.Refusal == "" && (group == "" || v.Ask && !verdict.Ask):
			group, verdict = g.Name, v
		}
	}
	if group == "" {
		return "", verdict, command.noTool(ctx, set)
	}
	return group, verdict, nil
}

// noTool says what there is instead.
func (command toolsCallCommand) noTool(ctx context.Context, set *tools.Set) error {
	offered := map[string]bool{}
	var groups []string
	for _, g := range set.Groups() {
		groups = append(groups, g.Name)
		list, err := set.Tools(ctx, g.Name)
		if err != nil {
			return err
		}
		for _, t := range list {
			_, name, _ := strings.Cut(t.Name, ".")
			offered[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(offered))
	perhaps := ""
	if near := nearest.Typo(command.Tool, names); near != "" {
		perhaps = fmt.Sprintf(", the nearest one is %q", near)
	}
	return errors.New(bot.Visible(fmt.Sprintf("no tool %q of the server %q is offered by its groups (%s)%s; offered: %s",
		command.Tool, command.Server, strings.Join(groups, ", "), perhaps, cmp.Or(strings.Join(names, ", "), "none"))))
}

// show prints a result. What a tool says about its failure is an error.
func (command toolsCallCommand) show(c console, r tools.Result) error {
	text := r.Text
	if r.Failed {
		return errors.New(bot.Visible(strings.TrimSpace(text)))
	}
	if out, ok := c.out.(*os.File); ok && terminal.IsTerminal(out, out) {
		text = bot.Visible(text)
	}
	if _, err := fmt.Fprintln(c.out, strings.TrimSuffix(text, "\n")); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if r.Bytes > 0 {
		fmt.Fprintf(c.err, "The result has %d bytes; max_result_bytes of the group keeps %d of them.\n", r.Bytes, len(r.Text))
	}
	if len(r.Images) > 0 && command.Out == "" {
		fmt.Fprintf(c.err, "Images in the result: %d. --out DIR saves them.\n", len(r.Images))
		return nil
	}
	return command.save(c, r.Images)
}

// save writes images to files of their own.
func (command toolsCallCommand) save(c console, images []client.Image) error {
	if len(images) == 0 {
		return nil
	}
	if err := os.MkdirAll(command.Out, 0o755); err != nil {
		return fmt.Errorf("making the folder for images: %w", err)
	}
	n := 0
	for _, image := range images {
		_, kind, _ := strings.Cut(image.Type, "/")
		file, err := create(command.Out, command.Server+"."+command.Tool, "."+cmp.Or(kind, "bin"), &n)
		if err != nil {
			return fmt.Errorf("saving an image: %w", err)
		}
		_, err = file.Write(image.Data)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("saving an image: %w", err)
		}
		fmt.Fprintln(c.err, "Saved:", file.Name())
	}
	return nil
}
