package tooladmin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/app/control"
	"legwork/app/data"
	"legwork/conf"
	"legwork/tasks"
	"legwork/tools"
)

// AcceptRequest asks for tools that their servers changed, and new ones that wait.
type AcceptRequest struct {
	Tool string // the tool to use, or a server for all of its tools that wait; empty: all changes are shown and nothing else is done
	Yes  bool   // do not ask
	Code string // that legwork showed; empty: ask for it
	Wait time.Duration
}

// Run shows how tools were changed by their servers and, when one is named,
// asks whether to use it as it is now. The process that owns the data knows; when
// there is none, the servers are started here.
func (r AcceptRequest) Run(ctx context.Context, c cli.Console, config *conf.Config) error {
	owner := control.NewClient(config.DataDir)
	defer owner.Close()
	var changes []tools.Change
	err := owner.Call(ctx, http.MethodPost, pathChanges, struct{}{}, &changes)
	if errors.Is(err, control.ErrNoProcess) {
		return r.here(ctx, c, config)
	}
	if err != nil {
		return err
	}
	return r.review(ctx, c, changes, func(ctx context.Context, ids []string) error {
		return r.confirm(ctx, c, func(code string) (accepted bool, err error) {
			err = owner.Call(ctx, http.MethodPost, pathAccept, acceptance{IDs: ids, Code: code}, &accepted)
			return accepted, err
		})
	})
}

// confirm accepts with the code that the running legwork shows to people.
func (r AcceptRequest) confirm(ctx context.Context, c cli.Console, accept func(code string) (bool, error)) error {
	if accepted, err := accept(r.Code); err != nil || accepted {
		return err
	}
	fmt.Fprintln(c.Err, "The running legwork has shown a code to its admins and in its terminal. It is valid for 10 minutes.")
	p := newPrompter(c, false)
	if p.in == nil {
		return fmt.Errorf("accepting %s: run the command again with --code CODE", cli.OneLine(r.Tool))
	}
	code, err := p.line(ctx, "Code: ")
	if errors.Is(err, io.EOF) || err == nil && code == "" {
		fmt.Fprintln(c.Out, "It stays quarantined.")
		return cli.ErrFailed
	}
	if err != nil {
		return err
	}
	_, err = accept(code)
	return err
}

// here starts the servers to compare their tools with what is stored.
func (r AcceptRequest) here(ctx context.Context, c cli.Console, config *conf.Config) error {
	holds := func(s tools.ServerConfig) bool { return s.HoldNewTools }
	if data.Empty(config) && !slices.ContainsFunc(slices.Collect(maps.Values(config.Tools.Servers)), holds) {
		return r.review(ctx, c, nil, nil) // no tool was ever seen
	}
	store, err := data.Open(ctx, config, "legwork tools accept", nil, c.Log(config))
	if err != nil {
		return err
	}
	return errors.Join(r.compare(ctx, c, config, store), store.Close())
}

func (r AcceptRequest) compare(ctx context.Context, c cli.Console, config *conf.Config, store tasks.Store) error {
	servers := r.servers(config.Tools.Servers)
	pages, err := read(ctx, store, slices.Sorted(maps.Keys(servers)))
	if err != nil {
		return err
	}
	copied := tools.NewMemoryKnown(pages)
	options := Options(config, slog.New(slog.DiscardHandler))
	options.Known = copied
	manager, err := tools.New(tools.Config{Servers: servers}, options)
	if err != nil {
		return fmt.Errorf("preparing tools: %w", err)
	}
	work := cli.ErrFailed
	err = During(ctx, manager, func(ctx context.Context) {
		for _, s := range manager.Probe(ctx, r.Wait) {
			switch {
			case s.Problem != "":
				fmt.Fprintf(c.Err, "legwork: the server %q cannot be used: %s\n", s.Name, cli.OneLine(trouble(s, r.Wait)))
			case s.SignIn:
				fmt.Fprintf(c.Err, "legwork: the tools of %q are behind a sign-in, and only a running legwork sees them\n", s.Name)
			}
		}
		work = r.review(ctx, c, manager.Changes(ctx), func(ctx context.Context, ids []string) error {
			for _, id := range ids {
				change, err := manager.Accept(ctx, id)
				if err != nil {
					return err
				}
				server, _, _ := strings.Cut(change.Tool, ".")
				page, _ := copied.Load(ctx, server)
				if err := (Stored{store}).Save(ctx, server, page); err != nil {
					return err
				}
				data.Record(ctx, store, options.Log, data.ByHand("tool.accept", change.Tool, "change "+id))
			}
			return nil
		})
	})
	return errors.Join(work, err)
}

// servers is the server that the named tool belongs to, or all of them.
func (r AcceptRequest) servers(all map[string]tools.ServerConfig) map[string]tools.ServerConfig {
	name, _, _ := strings.Cut(r.Tool, ".")
	if server, ok := all[name]; ok {
		return map[string]tools.ServerConfig{name: server}
	}
	return all
}

// review shows the changes, and accepts those of the named tool or server after a yes.
func (r AcceptRequest) review(ctx context.Context, c cli.Console, changes []tools.Change, accept func(ctx context.Context, ids []string) error) error {
	if r.Tool == "" {
		for _, change := range changes {
			fmt.Fprintf(c.Out, "%s\n%s\n", cli.OneLine(change.Tool), change.Difference)
		}
		if len(changes) == 0 {
			fmt.Fprintln(c.Out, "No tool is quarantined.")
		}
		return nil
	}
	var names, ids []string
	for _, change := range changes {
		if server, _, _ := strings.Cut(change.Tool, "."); change.Tool == r.Tool || server == r.Tool {
			fmt.Fprintln(c.Out, change.Difference)
			names, ids = append(names, change.Tool), append(ids, change.ID)
		}
	}
	if len(ids) == 0 {
		return r.notHeld(changes)
	}
	list := cli.OneLine(strings.Join(names, ", "))
	if !r.Yes {
		p := newPrompter(c, false)
		if p.in == nil {
			return fmt.Errorf("accepting %s: there is no terminal; call it in a terminal, or with --yes", list)
		}
		question := "Use " + list + " as it is now?"
		if len(ids) > 1 {
			question = fmt.Sprintf("Use these %d tools as they are now (%s)?", len(ids), list)
		}
		yes, err := p.confirm(ctx, question)
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintln(c.Out, "It stays quarantined.")
			return cli.ErrFailed
		}
	}
	if err := accept(ctx, ids); err != nil {
		return err
	}
	fmt.Fprintln(c.Out, "Accepted:", list)
	return nil
}

func (r AcceptRequest) notHeld(changes []tools.Change) error {
	names := map[string]bool{}
	for _, change := range changes {
		names[change.Tool] = true
	}
	all := slices.Sorted(maps.Keys(names))
	if len(all) == 0 {
		return fmt.Errorf("%q is not quarantined, nor is any other tool", r.Tool)
	}
	return fmt.Errorf("%q is not quarantined; quarantined: %s", r.Tool, cli.OneLine(strings.Join(all, ", ")))
}
