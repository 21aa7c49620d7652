package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"legwork/app/control"
	"legwork/conf"
	"legwork/store/bolt"
	"legwork/tools"
)

type toolsAcceptCommand struct {
	Tool   string        `arg:"" optional:"" placeholder:"SERVER.TOOL" help:"The tool to use again. Without one, all changes are shown and nothing else is done."`
	Config string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Yes    bool          `help:"Accept without asking."`
	Wait   time.Duration `default:"30s" help:"How long a server may take to answer, when no legwork is running that knows."`
}

// changer is where changed tools are held: another process, or this one.
type changer interface {
	Changes(ctx context.Context) ([]tools.Change, error)
	Accept(ctx context.Context, id string) error
}

// Run shows how tools were changed by their servers and, for one that is named,
// asks whether it is to be used as it is now.
func (command toolsAcceptCommand) Run(ctx context.Context, c console) error {
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	config, _, err := loadConfig(command.Config, c)
	if err != nil {
		return err
	}
	p := newPrompter(c, false)
	owner := control.NewClient(config.DataDir)
	defer owner.Close()
	switch _, err := owner.Status(ctx); {
	case err == nil:
		return command.review(ctx, c, p, elsewhere{owner})
	case !errors.Is(err, control.ErrNobody):
		return err
	}
	return command.here(ctx, c, p, config)
}

// here starts the servers to see how their tools are, with the data of the
// config.
func (command toolsAcceptCommand) here(ctx context.Context, c console, p *prompter, config *conf.Config) error {
	if _, err := os.Stat(filepath.Join(config.DataDir, bolt.FileName)); errors.Is(err, fs.ErrNotExist) {
		return command.review(ctx, c, p, nothing{})
	}
	store, err := openStore(ctx, config, "legwork tools accept", nil)
	if err != nil {
		return err
	}
	options := toolOptions(config, slog.New(slog.DiscardHandler))
	sparing := &careful{known: known{store}}
	options.Known = sparing
	manager, err := tools.New(command.one(config.Tools), options)
	if err != nil {
		return errors.Join(fmt.Errorf("preparing tools: %w", err), store.Close())
	}
	work := errFailed
	err = during(ctx, manager, func(ctx context.Context) {
		for _, s := range manager.Probe(ctx, command.Wait) {
			if s.Problem != "" {
				fmt.Fprintf(c.err, "legwork: the server %q cannot be looked at: %s\n", s.Name, flat(trouble(s, command.Wait)))
			}
		}
		work = command.review(ctx, c, p, own{manager, sparing})
	})
	return errors.Join(work, err, store.Close())
}

// one is the config of the server that the named tool belongs to; all of it when
// no tool is named.
func (command toolsAcceptCommand) one(c tools.Config) tools.Config {
	name, _, _ := strings.Cut(command.Tool, ".")
	server, ok := c.Servers[name]
	if !ok {
		return tools.Config{Servers: c.Servers}
	}
	return tools.Config{Servers: map[string]tools.ServerConfig{name: server}}
}

// review shows the changes, and accepts that of the named tool after a yes.
func (command toolsAcceptCommand) review(ctx context.Context, c console, p *prompter, held changer) error {
	changes, err := held.Changes(ctx)
	if err != nil {
		return err
	}
	if command.Tool == "" {
		for _, change := range changes {
			fmt.Fprintf(c.out, "%s\n%s\n", flat(change.Tool), change.Difference)
		}
		if len(changes) == 0 {
			fmt.Fprintln(c.out, "No tool is held back.")
		}
		return nil
	}
	i := slices.IndexFunc(changes, func(change tools.Change) bool { return change.Tool == command.Tool })
	if i < 0 {
		return command.notHeld(changes)
	}
	fmt.Fprintln(c.out, changes[i].Difference)
	if !command.Yes {
		if p.in == nil {
			return fmt.Errorf("accepting the change of %s: nobody is here to ask; call it in a terminal, or with --yes", command.Tool)
		}
		yes, err := p.confirm(ctx, "Use "+flat(command.Tool)+" as it is now?")
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintln(c.out, "It stays held back.")
			return errFailed
		}
	}
	if err := held.Accept(ctx, changes[i].ID); err != nil {
		return err
	}
	fmt.Fprintln(c.out, "Accepted:", flat(command.Tool))
	return nil
}

func (command toolsAcceptCommand) notHeld(changes []tools.Change) error {
	names := map[string]bool{}
	for _, change := range changes {
		names[change.Tool] = true
	}
	all := slices.Sorted(maps.Keys(names))
	if len(all) == 0 {
		return fmt.Errorf("%q is not held back, nor is any other tool", command.Tool)
	}
	return fmt.Errorf("%q is not held back; held back: %s", command.Tool, flat(strings.Join(all, ", ")))
}

// elsewhere is the process that owns the data.
type elsewhere struct{ owner *control.Client }

func (e elsewhere) Changes(ctx context.Context) (list []tools.Change, err error) {
	err = e.owner.Call(ctx, http.MethodGet, pathChanges, nil, &list)
	return list, err
}

func (e elsewhere) Accept(ctx context.Context, id string) error {
	return e.owner.Call(ctx, http.MethodPost, pathAccept, id, nil)
}

// own is this process.
type own struct {
	manager *tools.Manager
	known   *careful
}

func (o own) Changes(ctx context.Context) ([]tools.Change, error) { return o.manager.Changes(ctx), nil }

func (o own) Accept(ctx context.Context, id string) error {
	o.known.agreed.Store(true)
	accepted, err := o.manager.Accept(ctx, id)
	if err == nil {
		record(ctx, o.known.store, slog.New(slog.DiscardHandler), byHand("tool.accept", accepted.Tool, "change "+id))
	}
	return err
}

// careful saves nothing but what the person agrees to: not that changes were
// told, since no admin in the chats was, and no tools that were never seen at
// work.
type careful struct {
	known
	agreed atomic.Bool
}

// Save implements tools.Known.
func (k *careful) Save(ctx context.Context, server string, data []byte) error {
	if !k.agreed.Load() {
		return nil
	}
	stored, err := k.Load(ctx, server)
	if err != nil || len(stored) == 0 {
		return err
	}
	var before, now map[string]json.RawMessage // by the names of tools
	if err := errors.Join(json.Unmarshal(stored, &before), json.Unmarshal(data, &now)); err != nil {
		return fmt.Errorf("reading what is known of the server %q: %w", server, err)
	}
	maps.DeleteFunc(now, func(tool string, _ json.RawMessage) bool { return before[tool] == nil })
	if data, err = json.Marshal(now); err != nil {
		return err
	}
	return k.known.Save(ctx, server, data)
}

// nothing is where no tools were ever seen.
type nothing struct{}

func (nothing) Changes(context.Context) ([]tools.Change, error) { return nil, nil }

func (nothing) Accept(context.Context, string) error { return nil }
