package conf_test

import (
	"path/filepath"
	"strings"
	"testing"

	"legwork/conf"
)

// TestBudgetWithoutPrice: a budget in money that somebody wrote down and that no
// model counts for is told of; the default ones are not.
func TestBudgetWithoutPrice(t *testing.T) {
	const priced = "models: {main: {model: m, price: {input: 1, output: 2}}}\n"
	const plain = "models: {main: {model: m}}\n"
	for _, c := range []struct{ text, want string }{
		{plain, ""},
		{plain + "budget: {task_tokens: 5, day_usd: 0}\n", ""},
		{plain + "budget: {day_usd: 3, task_usd: 0.25}\n", ":2:1: budget: day_usd, task_usd: no model has a price"},
		{priced + "budget: {day_usd: 3}\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		writeFile(t, path, []byte(c.text))
		config, err := conf.Load(path, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("loading %q: %v", c.text, err)
		}
		if got := config.Warnings().Error(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("warnings of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestBudgetDefaults: what is not written down has its default, and 0 is no
// limit.
func TestBudgetDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	writeFile(t, path, []byte("models: {main: {model: m}}\nbudget: {task_usd: 0, day_tokens: 7, extend: asker}\n"))
	config, err := conf.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	want := conf.Budget{TaskTokens: 1000000, UserDayUSD: 1, ChatDayUSD: 2, DayUSD: 5, DayTokens: 7, Extend: conf.ExtendAsker}
	if config.Budget != want {
		t.Errorf("budget = %+v, want %+v", config.Budget, want)
	}
}
