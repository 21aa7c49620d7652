package tooladmin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/internal/form"
	"legwork/internal/nearest"
	"legwork/llm"
	"legwork/tools"
)

// CallRequest is one call of a tool by the rules of the config, with a person at
// the terminal in place of the model.
type CallRequest struct {
	Server, Tool string
	Arguments    json.RawMessage
	StdinUsed    bool          // the arguments came from standard input
	Group        string        // whose rules apply; empty: the first group that offers the tool
	Yes          bool          // do not ask for approval
	Out          string        // folder for the images of the result; empty: they are not saved
	Chat         string        // for which built-in servers work; empty: that of "legwork chat"
	Wait         time.Duration // for the server to start
}

// Run calls the tool. The result goes to standard output, everything else to
// standard error.
func (r CallRequest) Run(ctx context.Context, c cli.Console, config *conf.Config) error {
	if _, ok := config.Tools.Servers[r.Server]; !ok {
		return noServer(r.Server, config)
	}
	one, err := r.alone(config.Tools)
	if err != nil {
		return err
	}
	options := Options(config, slog.New(slog.DiscardHandler))
	options.Known = loadKnown(ctx, config, c)
	manager, err := tools.New(one, options)
	if err != nil {
		return fmt.Errorf("preparing the server %q: %w", r.Server, err)
	}
	p := newPrompter(c, r.StdinUsed)
	work := cli.ErrFailed
	err = During(ctx, manager, func(ctx context.Context) {
		work = r.make(ctx, c, manager, p)
	})
	return cmp.Or(work, err)
}

// alone is a config without the other servers: they are not started.
func (r CallRequest) alone(c tools.Config) (tools.Config, error) {
	one := tools.Config{Servers: map[string]tools.ServerConfig{r.Server: c.Servers[r.Server]}, Groups: map[string]tools.GroupConfig{}}
	for name, g := range c.Groups {
		if slices.Contains(g.Servers, r.Server) || len(g.Servers) == 0 && name == r.Server {
			g.Servers, g.Prompt = []string{r.Server}, ""
			one.Groups[name] = g
		}
	}
	if len(one.Groups) == 0 {
		one.Groups[r.Server] = tools.GroupConfig{}
	}
	if r.Group == "" {
		return one, nil
	}
	g, ok := one.Groups[r.Group]
	if !ok {
		return one, fmt.Errorf("the server %q is in no group %q; it is in %s", r.Server, r.Group, strings.Join(slices.Sorted(maps.Keys(one.Groups)), ", "))
	}
	one.Groups = map[string]tools.GroupConfig{r.Group: g}
	return one, nil
}

// The requests of the protocol that can be called like tools.
const (
	methodResources = "resources/list"
	methodResource  = "resources/read"
	methodPrompts   = "prompts/list"
	methodPrompt    = "prompts/get"
)

// maxQuestions is how often a server may answer a call by a question.
const maxQuestions = 20

// call makes the call when everybody agrees to it.
func (r CallRequest) make(ctx context.Context, c cli.Console, manager *tools.Manager, p *prompter) error {
	server, err := r.ready(ctx, manager)
	if err != nil {
		return err
	}
	switch r.Tool {
	case methodPrompts, methodPrompt:
		return r.prompt(ctx, c, manager, entryOf(server, r.Wait).Prompts)
	case methodResources, methodResource:
		if !server.Resources {
			return fmt.Errorf("the server %q has no resources", r.Server)
		}
		r.Tool = map[string]string{methodResources: "list_resources", methodResource: "read_resource"}[r.Tool]
	}
	group, verdict, err := r.judge(ctx, manager)
	if err != nil {
		return err
	}
	full := r.Server + "." + r.Tool
	if verdict.Ask && !r.Yes {
		err := p.approve(ctx, full, group, r.Arguments)
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted; it was not called")
		}
		if err != nil {
			return err
		}
	}
	person := bot.Person{Platform: terminal.Name, ID: terminal.Login()}
	own := bot.Chat{Platform: terminal.Name, ID: "main", Private: true}
	call := tools.Call{Group: group, Chat: cmp.Or(r.Chat, own.Key()), Person: person.Key(), Private: r.Chat == "", Admin: true}
	call.Tool, call.Arguments, call.Definition, call.Progress = full, r.Arguments, verdict.Definition, p.progress
	call.Ask = func(ctx context.Context, q form.Question) (form.Answer, error) {
		return p.answer(ctx, r.Server, q)
	}
	for range maxQuestions {
		result, err := manager.Call(ctx, call)
		if err != nil {
			return errors.New("interrupted; it is not known whether the call took effect")
		}
		if result.Question == nil {
			return r.show(c, result)
		}
		answer, err := p.answer(ctx, r.Server, *result.Question)
		if err != nil {
			return err
		}
		call.Resume = &tools.Resume{State: result.State, Answer: answer}
	}
	return fmt.Errorf("the server %q asks more than %d questions for one call; it is given up, and it is not known whether it took effect", r.Server, maxQuestions)
}

// ready waits for the server.
func (r CallRequest) ready(ctx context.Context, manager *tools.Manager) (server tools.Probed, err error) {
	for _, server = range manager.Probe(ctx, r.Wait) { // it is the only one
		problem := trouble(server, r.Wait)
		if server.SignIn {
			problem = cmp.Or(problem, "it requires the sign-in of a person, which this command does not use; ask in a chat")
		}
		if problem != "" && ctx.Err() == nil {
			return server, fmt.Errorf("the server %q cannot be used: %s", r.Server, cli.OneLine(problem))
		}
	}
	return server, ctx.Err()
}

// prompt lists the prompts of the server, or prints one with its arguments filled in.
func (r CallRequest) prompt(ctx context.Context, c cli.Console, manager *tools.Manager, prompts []promptEntry) error {
	if len(prompts) == 0 {
		return fmt.Errorf("the server %q has no prompts", r.Server)
	}
	if r.Tool == methodPrompts {
		for _, p := range prompts {
			fmt.Fprintln(c.Out, p)
		}
		return nil
	}
	var args struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	d := json.NewDecoder(bytes.NewReader(r.Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil || args.Name == "" {
		return fmt.Errorf(`%s needs the name of a prompt and its arguments, which are texts, such as '{"name": %q, "arguments": {"language": "French"}}'`, methodPrompt, prompts[0].Name)
	}
	names := make([]string, len(prompts))
	for i, p := range prompts {
		names[i] = p.Name
	}
	if !slices.Contains(names, args.Name) {
		perhaps := ""
		if near := nearest.Typo(args.Name, names); near != "" {
			perhaps = fmt.Sprintf(", the nearest one is %q", near)
		}
		return errors.New(bot.Visible(fmt.Sprintf("the server %q has no prompt %q%s; it has %s", r.Server, args.Name, perhaps, strings.Join(names, ", "))))
	}
	text, err := manager.Prompt(ctx, manager.Set().Groups()[0].Name, r.Server+"/"+args.Name, args.Arguments)
	if err != nil {
		return err
	}
	return r.show(c, tools.Result{Text: text})
}

// judge finds the group by whose rules the tool is called. Of several, one that
// asks decides.
func (r CallRequest) judge(ctx context.Context, manager *tools.Manager) (group string, verdict tools.Verdict, err error) {
	set, full := manager.Set(), r.Server+"."+r.Tool
	for _, g := range set.Groups() {
		v := set.ToolVerdict(ctx, g.Name, full)
		switch {
		case ctx.Err() != nil:
			return "", v, ctx.Err()
		case v.New:
			return "", v, fmt.Errorf("%s is quarantined, because it is new and no admin has accepted it; \"legwork tools accept %[1]s\" shows how", full)
		case v.Quarantined:
			return "", v, fmt.Errorf("%s is quarantined, because its server has changed it; \"legwork tools accept %[1]s\" shows how", full)
		case v.NotOffered != "":
			return "", v, fmt.Errorf("%s cannot be called: %s", full, v.NotOffered)
		case v.Refusal == "" && (group == "" || v.Ask && !verdict.Ask):
			group, verdict = g.Name, v
		}
	}
	if group == "" {
		return "", verdict, r.noTool(ctx, set)
	}
	return group, verdict, nil
}

// noTool says what there is instead.
func (r CallRequest) noTool(ctx context.Context, set *tools.Set) error {
	offered := map[string]bool{}
	var groups []string
	for _, g := range set.Groups() {
		groups = append(groups, g.Name)
		list, err := set.Tools(ctx, g.Name, "")
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
	if near := nearest.Typo(r.Tool, names); near != "" {
		perhaps = fmt.Sprintf(", the nearest one is %q", near)
	}
	return errors.New(bot.Visible(fmt.Sprintf("no tool %q of the server %q is offered by its groups (%s)%s; offered: %s",
		r.Tool, r.Server, strings.Join(groups, ", "), perhaps, cmp.Or(strings.Join(names, ", "), "none"))))
}

// show prints a result. What a tool says about its failure is an error.
func (r CallRequest) show(c cli.Console, result tools.Result) error {
	text := result.Text
	if result.Failed {
		return errors.New(bot.Visible(strings.TrimSpace(text)))
	}
	if out, ok := c.Out.(*os.File); ok && terminal.IsTerminal(out, out) {
		text = bot.VisibleJSON(json.RawMessage(text)) // other texts are shown by Visible
	}
	if _, err := fmt.Fprintln(c.Out, strings.TrimSuffix(text, "\n")); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if result.Bytes > 0 {
		fmt.Fprintf(c.Err, "The result has %d bytes; max_result_bytes of the group keeps %d of them.\n", result.Bytes, len(result.Text))
	}
	if len(result.Images) > 0 && r.Out == "" {
		fmt.Fprintf(c.Err, "Images in the result: %d. --out DIR saves them.\n", len(result.Images))
		return nil
	}
	return r.save(c, result.Images)
}

// save writes images to files of their own.
func (r CallRequest) save(c cli.Console, images []llm.Image) error {
	if len(images) == 0 {
		return nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return fmt.Errorf("making the folder for images: %w", err)
	}
	n := 0
	for _, image := range images {
		_, kind, _ := strings.Cut(image.Type, "/")
		file, err := create(r.Out, r.Server+"."+r.Tool, "."+cmp.Or(kind, "bin"), &n)
		if err != nil {
			return fmt.Errorf("saving an image: %w", err)
		}
		_, err = file.Write(image.Data)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("saving an image: %w", err)
		}
		fmt.Fprintln(c.Err, "Saved:", file.Name())
	}
	return nil
}

// create makes a new file in a folder, named after a tool and the first number
// behind n that is free.
func create(folder, tool, end string, n *int) (*os.File, error) {
	name := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, tool)
	for {
		*n++
		path := filepath.Join(folder, fmt.Sprintf("%s-%d%s", name[:min(len(name), 100)], *n, end))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// noServer says that a server is not configured.
func noServer(name string, config *conf.Config) error {
	names := slices.Sorted(maps.Keys(config.Tools.Servers))
	switch near := nearest.Typo(name, names); {
	case len(names) == 0:
		return fmt.Errorf("no server %q is configured, nor any other; add it under servers in the config", name)
	case near != "":
		return fmt.Errorf("no server %q is configured, the nearest one is %q; configured: %s", name, near, strings.Join(names, ", "))
	default:
		return fmt.Errorf("no server %q is configured; configured: %s", name, strings.Join(names, ", "))
	}
}
