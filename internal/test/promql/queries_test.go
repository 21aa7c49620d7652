// Package promql_test holds the dashboard and the alert rules against a real
// scrape, with the parsers of Prometheus. It is a module of its own, so that
// nothing of those is near legwork's.
package promql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

var deploy = filepath.Join("..", "..", "..", "deploy")

// known are the names of a scrape with the labels that each can have; of
// histograms those of their series.
func known(t *testing.T) map[string][]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "scrape.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read := expfmt.NewTextParser(model.LegacyValidation)
	families, err := read.TextToMetricFamilies(f)
	if err != nil {
		t.Fatalf("the scrape is not in the format of Prometheus: %v", err)
	}
	names := map[string][]string{"up": {"job", "instance"}}
	for name, family := range families {
		lint(t, family)
		labels := []string{"job", "instance"} // which the scrape adds
		for _, pair := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		names[name] = labels
		if family.GetType() == dto.MetricType_HISTOGRAM {
			names[name+"_sum"], names[name+"_count"], names[name+"_bucket"] = labels, labels, append(slices.Clone(labels), "le")
			delete(names, name)
		}
	}
	return names
}

// lint holds the names to the rules of Prometheus and of legwork's contract.
func lint(t *testing.T, family *dto.MetricFamily) {
	t.Helper()
	name := family.GetName()
	counter := family.GetType() == dto.MetricType_COUNTER
	switch {
	case !regexp.MustCompile(`^(legwork|go|process)_[a-z_]+$`).MatchString(name):
		t.Errorf("%s is no name of legwork's", name)
	case counter != strings.HasSuffix(name, "_total"):
		t.Errorf("%s is a %v: counters, and no others, end in _total", name, family.GetType())
	case !strings.HasPrefix(name, "legwork_"): // the words are those of Prometheus' own library
	case len(family.GetHelp()) < 10 || !strings.HasSuffix(family.GetHelp(), "."):
		t.Errorf("%s has no sentence that explains it: %q", name, family.GetHelp())
	case regexp.MustCompile(`_(milliseconds|ms|minutes|hours|kilobytes|kb|mb|percent)(_|$)`).MatchString(name):
		t.Errorf("%s is not in a base unit", name)
	}
	for _, pair := range family.GetMetric()[0].GetLabel() {
		if slices.Contains([]string{"user", "chat", "task", "person", "token", "id", "job", "instance"}, pair.GetName()) {
			t.Errorf("%s has the label %s", name, pair.GetName())
		}
	}
}

// check parses a query and looks up every name and label in it.
func check(t *testing.T, names map[string][]string, where, query string) {
	t.Helper()
	for variable, value := range map[string]string{"$__rate_interval": "5m", "$__interval": "1m", "$job": "legwork", "$instance": ".*"} {
		query = strings.ReplaceAll(query, variable, value)
	}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, query)
		return
	}
	var labels []string // of all that is selected
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			has, found := names[v.Name]
			if !found {
				t.Errorf("%s: there is no metric %s", where, v.Name)
			}
			for _, m := range v.LabelMatchers {
				if m.Name != "__name__" && !slices.Contains(has, m.Name) {
					t.Errorf("%s: %s has no label %s, only %s", where, v.Name, m.Name, has)
				}
			}
			labels = append(labels, has...)
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if a, ok := node.(*parser.AggregateExpr); ok {
			for _, by := range a.Grouping {
				if !slices.Contains(labels, by) {
					t.Errorf("%s: nothing in %s has the label %s", where, query, by)
				}
			}
		}
		return nil
	})
}

type dashboard struct {
	Templating struct {
		List []struct{ Definition string }
	}
	Annotations struct {
		List []struct{ Expr string }
	}
	Panels []struct {
		ID                       int
		Title, Type, Description string
		GridPos                  struct{ H, W, X, Y int }
		Targets                  []struct{ Expr, LegendFormat string }
	}
}

// TestDashboard: every query of the dashboard can be answered, panels do not lie
// upon each other, and each says what it shows.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(deploy, "grafana", "legwork.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	names := known(t)
	seen, taken := map[int]bool{}, map[string]string{}
	for _, p := range d.Panels {
		if seen[p.ID] {
			t.Errorf("panel %q has the id %d of another one", p.Title, p.ID)
		}
		seen[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				place := fmt.Sprint(x, " ", y)
				if other := taken[place]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies upon %q at %s", p.Title, other, place)
				}
				taken[place] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q says nothing", p.Title)
		}
		for _, target := range p.Targets {
			check(t, names, "panel "+p.Title, target.Expr)
		}
	}
	for _, a := range d.Annotations.List {
		check(t, names, "an annotation", a.Expr)
	}
	for _, v := range d.Templating.List {
		if query, isQuery := strings.CutPrefix(v.Definition, "label_values("); isQuery {
			check(t, names, "a variable", query[:strings.LastIndex(query, ",")])
		}
	}
	if len(d.Panels) < 20 {
		t.Errorf("there are %d panels", len(d.Panels))
	}
}

// TestRules: Prometheus takes the rules, and every query of theirs can be
// answered.
func TestRules(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(deploy, "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(raw, false, model.LegacyValidation, parser.NewParser(parser.Options{}))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	names, count := known(t), 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			count++
			check(t, names, "rule "+r.Alert, r.Expr)
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("rule %s does not say how bad it is, what it is, or what to do", r.Alert)
			}
		}
	}
	if count < 9 {
		t.Errorf("there are %d rules", count)
	}
}
