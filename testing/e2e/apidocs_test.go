package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPITour types what docs/api.md tells a newcomer to type, in a fresh folder
// and with nothing but what it names, and looks at what comes back.
func TestAPITour(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := address.Addr().(*net.TCPAddr).Port
	if err := address.Close(); err != nil { // so that legwork can have it
		t.Fatal(err)
	}
	script := exec.CommandContext(t.Context(), "sh", "-eu", "-c", tour(t))
	script.Dir = dir
	script.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "LEGWORK_BINARY=" + legwork(t),
		fmt.Sprint("PORT=", port),
	}
	out, err := script.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "api-tour", "legwork.log"))
		t.Fatalf("%v: the tour said:\n%s\nlegwork logged:\n%s", err, out, log)
	}
	rest := string(out)
	for _, want := range []string{
		`"name":"ops","role":"operator"`, `"state":"done"`, `"type":"goal"`, "event: goal", "event: end", `"type":"thought"`, `"sender_id":"agent:scout"`,
		`"version":1`, `"code":"precondition_failed"`, `"version":2`, `"draft":"Tides are ..."`, `NEEDS_HUMAN_REVIEW`, `"code":"forbidden"`,
		`"answer":"Tides follow the moon."`, `"state":"done"`, `"answer":"Tides follow the moon."`,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the tour does not say %q where it should; it said:\n%s", want, out)
		}
		rest = after
	}
}

// tour is the shell script of docs/api.md, with the binary of the tests in place
// of one that is built.
func tour(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	blocks := strings.Split(string(text), "```sh\n")[1:]
	for i, block := range blocks {
		lines, _, _ := strings.Cut(block, "```")
		if i == 0 {
			const build = "go build -o legwork ./cmd/legwork"
			if !strings.HasPrefix(lines, build+"\n") {
				t.Fatalf("the tour does not begin with %q", build)
			}
			lines = strings.Replace(lines, build, `ln -s "$LEGWORK_BINARY" legwork`, 1) + "daemon=$!\ntrap 'kill $daemon; wait $daemon' EXIT\n"
		}
		script.WriteString(lines)
	}
	return script.String()
}
