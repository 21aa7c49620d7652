package conf_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/conf"
	"legwork/tasks/alerts"
)

func TestAlerts(t *testing.T) {
	const secret, address = "0123456789-0123456789-0123456789", "https://ops.example.com/hook/private-part"
	path := filepath.Join(t.TempDir(), "config.yaml")
	load := func(text string) *conf.Config {
		if err := os.WriteFile(path, []byte("models: {main: {model: m}}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := conf.Load(path, variables(map[string]string{"HOOK": secret, "WHERE": address}))
		if err != nil {
			t.Fatalf("loading %q: %v", text, err)
		}
		return c
	}
	usual := load("")
	if diff := cmp.Diff(alerts.Config{After: 10 * time.Minute, Chat: true}, usual.Alerts); diff != "" {
		t.Errorf("without the section (-want +got):\n%s", diff)
	}
	set := load("alerts: {after: 0s, chat: false, webhooks: {ops: {url: \"${WHERE}\", secret: \"${HOOK}\", kinds: [task.failed]}}}")
	want := alerts.Config{Webhooks: map[string]alerts.Webhook{"ops": {URL: address, Secret: secret, Kinds: []string{"task.failed"}}}}
	if diff := cmp.Diff(want, set.Alerts); diff != "" {
		t.Errorf("with the section (-want +got):\n%s", diff)
	}
	for _, hidden := range []string{secret, address} {
		if !slices.Contains(set.Secrets(), hidden) {
			t.Errorf("Secrets() lacks %q", hidden)
		}
	}
	if got := conf.Changed(usual, set); !slices.Equal(got, []string{"alerts"}) {
		t.Errorf("Changed = %v, want alerts", got)
	}
	if got := conf.Restart(usual, set); len(got) != 0 {
		t.Errorf("Restart = %v, want nothing: a reload changes it", got)
	}
}
