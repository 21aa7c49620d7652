package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/llm"
	"legwork/tools"
	"legwork/tools/client"
)

// probeTime bounds one model call of a probe.
const probeTime = time.Minute

// row is one line of the table of a probe.
type row struct {
	name, kind, speaks string
	tools, ask         string
	roundTrip          time.Duration
	problem            string // empty: it works
	asking             []string
}

// probe calls every model and platform once and starts every server once, and
// prints what came of it.
func probe(ctx context.Context, config *conf.Config, c console) error {
	models, err := probeModels(ctx, config.LLM)
	if err != nil {
		return err
	}
	servers, err := probeServers(ctx, config.Tools)
	if err != nil {
		return err
	}
	rows := slices.Concat(models, probePlatforms(ctx, config), servers)
	if err := printTable(c.out, rows); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(r row) bool { return r.problem != "" }) {
		return errFailed
	}
	return nil
}

// probeModels calls each model by itself, without its fallbacks.
func probeModels(ctx context.Context, config llm.Config) ([]row, error) {
	alone := llm.Config{Models: map[string]llm.ModelConfig{}, Roles: config.Roles}
	for name, m := range config.Models {
		m.Fallback = nil
		alone.Models[name] = m
	}
	models, err := llm.New(alone, llm.Options{})
	if err != nil {
		return nil, err
	}
	defer models.Close()
	names := models.Names()
	rows := make([]row, len(names))
	var calls sync.WaitGroup
	for i, name := range names {
		calls.Go(func() { rows[i] = probeModel(ctx, models, name) })
	}
	calls.Wait()
	return rows, nil
}

func probeModel(ctx context.Context, models *llm.Models, name string) row {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	r := row{name: name, kind: "model", speaks: models.Config().Models[name].Model, tools: "-", ask: "-"}
	start := time.Now()
	_, err := models.Call(ctx, llm.Request{
		Role:     llm.RoleAnswer,
		Model:    name,
		Messages: []llm.Message{{Role: llm.User, Content: "Reply with the single word ok."}},
	}, nil)
	r.roundTrip = time.Since(start)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r.problem = "no reply within " + probeTime.String()
	case err != nil:
		r.problem = err.Error()
	}
	return r
}

// probePlatforms asks every platform whom the tokens belong to.
func probePlatforms(ctx context.Context, config *conf.Config) []row {
	tries := map[string]func(context.Context) (string, error){}
	if c := config.Telegram; c != nil {
		tries[telegram.Name] = func(ctx context.Context) (string, error) { return telegram.Try(ctx, *c) }
	}
	if c := config.Slack; c != nil {
		tries[slack.Name] = func(ctx context.Context) (string, error) { return slack.Try(ctx, *c) }
	}
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(tries)) {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		start := time.Now()
		who, err := tries[name](ctx)
		cancel()
		r := row{name: name, kind: "platform", speaks: cmp.Or(who, "-"), tools: "-", ask: "-", roundTrip: time.Since(start)}
		if err != nil {
			r.problem = err.Error()
		}
		rows = append(rows, r)
	}
	return rows
}

// probeServers starts the servers, waits for what they offer and stops them.
func probeServers(ctx context.Context, config tools.Config) ([]row, error) {
	manager, err := tools.New(config, tools.Options{Log: slog.New(slog.DiscardHandler), Version: readBuild().version})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = manager.Run(ctx) })
	asking := askingTools(ctx, manager.Set())
	status := manager.Status()
	cancel()
	running.Wait()
	if ended != nil {
		return nil, ended
	}
	rows := make([]row, len(status))
	for i, s := range status {
		r := row{
			name: s.Name, kind: s.Kind, speaks: s.Protocol, tools: strconv.Itoa(s.Tools),
			asking: asking[s.Name], ask: strconv.Itoa(len(asking[s.Name])), roundTrip: s.RoundTrip, problem: s.Err,
		}
		if s.State != client.Ready {
			r.problem = cmp.Or(r.problem, fmt.Sprintf("still %s", s.State))
			r.speaks, r.tools, r.ask = cmp.Or(r.speaks, "-"), "-", "-"
		}
		rows[i] = r
	}
	return rows, nil
}

// askingTools waits until every group has listed its tools and returns, by
// server, those that need an approval in some group. What is wrong with a
// server shows in its status.
func askingTools(ctx context.Context, set *tools.Set) map[string][]string {
	var mu sync.Mutex
	asking := map[string][]string{}
	var listings sync.WaitGroup
	for _, group := range set.Groups() {
		listings.Go(func() {
			list, _ := set.Tools(ctx, group.Name)
			mu.Lock()
			defer mu.Unlock()
			for _, tool := range list {
				verdict := set.Verdict(ctx, group.Name, tool.Name)
				server, name, _ := strings.Cut(tool.Name, ".")
				if verdict.Ask && !slices.Contains(asking[server], name) {
					asking[server] = append(asking[server], name)
				}
			}
		})
	}
	listings.Wait()
	return asking
}

func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tSPEAKS\tTOOLS\tASK\tROUND TRIP\tRESULT")
	for _, r := range rows {
		result := "ok"
		if r.problem != "" {
			result = strings.Join(strings.Fields(r.problem), " ")
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
		if len(r.asking) > 0 {
			slices.Sort(r.asking)
			fmt.Fprintf(out, "%s: need approval, which this version cannot ask for, so they are refused: %s\n", r.name, strings.Join(r.asking, ", "))
		}
	}
	return nil
}
