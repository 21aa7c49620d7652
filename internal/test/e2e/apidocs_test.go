package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

// TestAPITour types what docs/api.md tells a newcomer to type, in a fresh folder
// and with nothing but what it names, and looks at what comes back.
func TestAPITour(t *testing.T) {
	t.Parallel()
	follows(t, "docs/api.md", "api-tour", "go build -o legwork ./cmd/legwork", `ln -s "$LEGWORK" legwork`,
		`"name":"ops","role":"operator"`, `"state":"done"`, `"type":"goal"`, "event: goal", "event: end", `"type":"thought"`, `"sender_id":"agent:scout"`,
		`"version":1`, `"code":"precondition_failed"`, `"version":2`, `"draft":"Tides are ..."`, `NEEDS_HUMAN_REVIEW`, `"code":"forbidden"`,
		`"answer":"Tides follow the moon."`, `"state":"done"`, `"answer":"Tides follow the moon."`)
}

// TestAgentsTour does the same with the example's README.
func TestAgentsTour(t *testing.T) {
	t.Parallel()
	need.Command(t, "python3", "apt-get install python3")
	follows(t, "examples/agents/README.md", "agents-tour", "go build -o agents-tour/ ./cmd/legwork ./examples/agents/reviewer", `ln -s "$LEGWORK" agents-tour/legwork && ln -s "$REVIEWER" agents-tour/reviewer && ln -s "$ROOT/examples" .`,
		`"status":"NEEDS_HUMAN_REVIEW"`, `"state":"working"`, `"state":"done"`, "## Cost", `"sender_id":"agent:reviewer"`, `"type":"delegation"`, `"sender_id":"agent:writer"`, `"comment":"Say what they cost, too."`)
}

// follows runs the shell script of a page, with the programs of the tests in place
// of those that it builds, and looks for what it must say, in that order.
func follows(t *testing.T, page, folder, build, instead string, says ...string) {
	t.Helper()
	dir := t.TempDir()
	address, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := address.Addr().(*net.TCPAddr).Port
	if err := address.Close(); err != nil { // so that legwork can have it
		t.Fatal(err)
	}
	script := exec.CommandContext(t.Context(), "sh", "-eu", "-c", typed(t, page, build, instead))
	script.Dir = dir
	script.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "PYTHONDONTWRITEBYTECODE=1",
		"LEGWORK=" + legwork(t), "REVIEWER=" + programs.Path(t, "legwork/examples/agents/reviewer"), "ROOT=" + need.Root(t),
		fmt.Sprint("PORT=", port),
	}
	var told strings.Builder
	script.Stderr = &told
	out, err := script.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, folder, "legwork.log"))
		t.Fatalf("%v: the tour said:\n%s\n%s\nlegwork logged:\n%s", err, out, told.String(), log)
	}
	rest := string(out)
	for _, want := range says {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the tour does not say %q where it should; it said:\n%s", want, out)
		}
		rest = after
	}
}

// typed is the shell script of a page.
func typed(t *testing.T, page, build, instead string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(need.Root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	blocks := strings.Split(string(text), "```sh\n")[1:]
	for i, block := range blocks {
		lines, _, _ := strings.Cut(block, "```")
		if i == 0 {
			if !strings.Contains(lines, build+"\n") {
				t.Fatalf("the tour does not begin with %q", build)
			}
			lines = strings.Replace(lines, build, instead, 1) + "daemon=$!\ntrap 'kill $daemon; wait $daemon' EXIT\n"
		}
		script.WriteString(lines)
	}
	return script.String()
}
