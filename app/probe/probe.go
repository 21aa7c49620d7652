// Package probe calls every model, platform, webhook and server of a config once,
// for "legwork check --probe" and "legwork init".
package probe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"legwork/app/cli"
	"legwork/app/tooladmin"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/store/postgres"
	"legwork/tasks/alerts"
	"legwork/tools/client"
)

// probeTime bounds one call.
const probeTime = time.Minute

// row is one line of the table.
type row struct {
	name, kind, speaks  string
	tools, ask          string
	roundTrip           time.Duration
	problem             string            // empty: it works
	state               string            // shown when there is no problem; empty: ok
	signedIn            string            // its sign-ins in words; empty: people need not sign in there
	asking, quarantined []string          // tools
	fresh               []string          // tools that no admin has accepted yet
	notOffered          map[string]string // tools that no model can use, and why
}

// Run calls every model, platform and webhook once, starts every server once, and
// prints the results. It returns cli.ErrFailed when one of them does not work.
func Run(ctx context.Context, config *conf.Config, wait time.Duration, c cli.Console) error {
	models, err := probeModels(ctx, config.LLM)
	if err != nil {
		return err
	}
	servers, misspelt, err := probeServers(ctx, config, wait, c)
	if err != nil {
		return err
	}
	rows := slices.Concat(probeStore(ctx, config), models, probePlatforms(ctx, config), servers, probeWebhooks(ctx, config))
	hidden := redact.New(config.Secrets())
	for i := range rows {
		rows[i].problem = hidden.String(rows[i].problem)
	}
	if err := printTable(c.Out, rows); err != nil {
		return err
	}
	for _, notice := range OllamaNotices(ctx, config.LLM) {
		fmt.Fprintln(c.Out, notice)
	}
	for _, pattern := range misspelt {
		fmt.Fprintln(c.Out, cli.OneLine(pattern.Error()))
	}
	if slices.ContainsFunc(rows, func(r row) bool { return r.problem != "" }) {
		return cli.ErrFailed
	}
	return nil
}

// probeStore connects to the database, if it is on a server. It changes nothing.
func probeStore(ctx context.Context, config *conf.Config) []row {
	if config.Store.Type != "postgres" {
		return nil
	}
	return []row{try(ctx, probeTime, "store", "database", "-", func(ctx context.Context) (string, error) {
		version, err := postgres.Try(ctx, config.Store.URL)
		return "Postgres " + version, err
	})}
}

// OllamaNotices says of each model at an Ollama server what has to be changed so that the
// server keeps all that legwork sends. Call the models first: the server knows the
// window of a model that it has loaded.
func OllamaNotices(ctx context.Context, config llm.Config) (notices []string) {
	for _, name := range slices.Sorted(maps.Keys(config.Models)) {
		m := config.Models[name]
		found, ok := llm.ProbeOllama(ctx, m)
		if advice := found.Advice(m); ok && advice != "" {
			notices = append(notices, cli.OneLine(fmt.Sprintf("models.%s: %s See docs/models.md.", name, advice)))
		}
	}
	return notices
}

// probePlatforms asks every platform for the owner of the tokens.
func probePlatforms(ctx context.Context, config *conf.Config) []row {
	tries := map[string]func(context.Context) (string, error){}
	if c := config.Telegram; c != nil {
		tries[telegram.Name] = func(ctx context.Context) (string, error) { return telegram.Try(ctx, *c) }
	}
	if c := config.Slack; c != nil {
		tries[slack.Name] = func(ctx context.Context) (string, error) { return slack.Try(ctx, *c) }
	}
	return sideBySide(slices.Sorted(maps.Keys(tries)), func(name string) row { return try(ctx, probeTime, name, "platform", "-", tries[name]) })
}

// probeWebhooks sends a test delivery to each webhook.
func probeWebhooks(ctx context.Context, config *conf.Config) []row {
	return sideBySide(slices.Sorted(maps.Keys(config.Alerts.Webhooks)), func(name string) row {
		return try(ctx, probeTime, name, "webhook", "signed", func(ctx context.Context) (string, error) {
			return "", alerts.Try(ctx, config.Alerts.Webhooks[name], telemetry.ReadBuild().Version, time.Now)
		})
	})
}

// sideBySide probes all of a list at the same time.
func sideBySide[T any](list []T, probe func(T) row) []row {
	rows := make([]row, len(list))
	var calls sync.WaitGroup
	for i, one := range list {
		calls.Go(func() { rows[i] = probe(one) })
	}
	calls.Wait()
	return rows
}

// try makes one call. speaks is shown unless the call says more.
func try(ctx context.Context, within time.Duration, name, kind, speaks string, call func(context.Context) (who string, err error)) row {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	start := time.Now()
	who, err := call(ctx)
	r := row{name: name, kind: kind, speaks: cmp.Or(who, speaks), tools: "-", ask: "-", roundTrip: time.Since(start)}
	if err != nil {
		r.problem = err.Error()
	}
	return r
}

// probeServers starts the servers, waits for what they offer and stops them.
// misspelt are the patterns of groups that match no tool.
func probeServers(ctx context.Context, config *conf.Config, wait time.Duration, c cli.Console) (rows []row, misspelt conf.Errors, err error) {
	if len(config.Tools.Servers) == 0 {
		return nil, nil, nil
	}
	i, err := tooladmin.Take(ctx, config, wait, c)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range i.Groups {
		misspelt = append(misspelt, g.Misspelt...)
	}
	rows = make([]row, len(i.Servers))
	for n, s := range i.Servers {
		r := row{
			name: s.Name, kind: s.Kind, speaks: cmp.Or(s.Protocol, "-"), tools: strconv.Itoa(s.Tools), ask: strconv.Itoa(len(s.Asks)),
			asking: s.Asks, quarantined: s.Quarantined, fresh: s.New, notOffered: s.NotOffered, problem: s.Problem, roundTrip: time.Duration(s.RoundTrip * float64(time.Millisecond)),
		}
		if s.State != client.Ready {
			r.tools, r.ask = "-", "-"
		}
		if s.BehindSignIn() {
			r.state = tooladmin.BehindSignIn
		}
		if s.SignIn != nil {
			r.signedIn = s.SignIn.Line(s.Name)
		}
		rows[n] = r
	}
	probeSearches(ctx, config, rows)
	return rows, misspelt, nil
}

// probeSearches lets each search server that started search once, because only that
// shows whether its provider takes the key.
func probeSearches(ctx context.Context, config *conf.Config, rows []row) {
	var calls sync.WaitGroup
	for i := range rows {
		server := config.Tools.Servers[rows[i].name]
		if server.Builtin != "search" || rows[i].problem != "" {
			continue
		}
		calls.Go(func() {
			tried := try(ctx, probeTime, "", "", "", func(ctx context.Context) (string, error) { return "", Search(ctx, server.Options) })
			rows[i].problem, rows[i].roundTrip = tried.problem, tried.roundTrip
		})
	}
	calls.Wait()
}

func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tSPEAKS\tTOOLS\tASK\tROUND TRIP\tRESULT")
	for _, r := range rows {
		result := cmp.Or(r.state, "ok")
		if r.problem != "" {
			result = cli.OneLine(r.problem)
		}
		roundTrip := "-"
		if r.roundTrip > 0 {
			roundTrip = r.roundTrip.Round(time.Millisecond / 10).String()
		}
		fmt.Fprintln(table, strings.Join([]string{r.name, r.kind, r.speaks, r.tools, r.ask, roundTrip, result}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.signedIn != "" {
			fmt.Fprintln(out, r.signedIn)
		}
		if len(r.asking) > 0 {
			fmt.Fprintf(out, "%s: these ask for approval: %s\n", r.name, cli.OneLine(strings.Join(r.asking, ", ")))
		}
		if len(r.quarantined) > 0 {
			fmt.Fprintf(out, "%s: these are quarantined, because the server changed them: %s; \"legwork tools accept\" shows how\n", r.name, cli.OneLine(strings.Join(r.quarantined, ", ")))
		}
		if len(r.fresh) > 0 {
			fmt.Fprintln(out, tooladmin.Waiting(r.name, r.fresh))
		}
		for _, tool := range slices.Sorted(maps.Keys(r.notOffered)) {
			fmt.Fprintf(out, "%s: models do not get %s: %s\n", r.name, cli.OneLine(tool), r.notOffered[tool])
		}
	}
	return nil
}
