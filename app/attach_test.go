package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/app"
	"legwork/app/cli"
	"legwork/conf"
)

// TestAttachedDuringReload: a chat uses the config of a running serve while serve
// reloads it. The race detector watches.
func TestAttachedDuringReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(language string) {
		text := fmt.Sprintf("language: %s\nmodels: {main: {offline: true}}\nservers: {clock: {builtin: clock}}\nhttp: {listen: 127.0.0.1:0, tokens: [{name: a, sha256: %s, role: admin}]}\ndata_dir: %s\n",
			language, conf.HashToken("lw_a"), filepath.Dir(path))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("en")
	env := func(string) (string, bool) { return "", false }
	ctx, cancel := context.WithCancel(t.Context())
	log, logged := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- app.Serve(ctx, path, cli.Console{In: strings.NewReader(""), Out: io.Discard, Err: logged, Env: env})
		_ = logged.Close()
	}()
	lines := bufio.NewScanner(log)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the log ends without %q", text)
	}
	until("serving")
	ask := func() {
		t.Helper()
		if err := app.Chat(ctx, app.ChatOptions{Text: "What time is it in Tokyo?", Name: "main"}, path, cli.Console{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: env}); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	write("ru")
	until("config reloaded")
	ask()
	cancel()
	until("stopped")
	if err := <-served; err != nil {
		t.Error(err)
	}
}
