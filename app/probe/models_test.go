package probe_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/app/cli"
	"legwork/app/probe"
	"legwork/conf"
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
)

// TestRolesOfModels: each role is tried by its own call, with its fallbacks; a model
// that only transcribes, paints or speaks is asked nothing.
func TestRolesOfModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		media llmfake.Response
		row   string // result of the three calls that are no chat
		want  error
	}{
		{"they work, and hear no words in silence", llmfake.Response{}, "ok", nil},
		{"the endpoint does not have the calls", llmfake.Status(404), `calling model "ears": not_found`, cli.ErrFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := llmfake.New(t, llmfake.Options{
				Respond: func(llmfake.Request) llmfake.Response { return llmfake.Say("ok") },
				Media:   func(llmfake.Request) llmfake.Response { return c.media },
			})
			model := func(fallback ...string) llm.ModelConfig {
				return llm.ModelConfig{BaseURL: s.URL, APIKey: "sk-secret", Model: "m", Price: &llm.Price{}, Fallback: fallback}
			}
			config := &conf.Config{LLM: llm.Config{
				Models: map[string]llm.ModelConfig{"main": model(), "ears": model("spare"), "spare": model(), "painter": model(), "voice": model(), "idle": model()},
				Roles:  map[string]string{llm.RoleVision: "main", llm.RoleTranscribe: "ears", llm.RoleImage: "painter", llm.RoleSpeech: "voice"},
			}}
			var out strings.Builder
			if err := probe.Run(t.Context(), config, time.Second, cli.Console{Out: &out}); !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v\n%s", err, c.want, out.String())
			}
			var rows []string
			for _, row := range regexp.MustCompile(`(?m)^(\w+) +(\w+) +m `).FindAllStringSubmatch(out.String(), -1) {
				rows = append(rows, row[1]+" "+row[2])
			}
			want := []string{"idle model", "main model", "main vision", "ears transcribe", "spare transcribe", "painter image", "voice speech"}
			if !slices.Equal(rows, want) || !strings.Contains(out.String(), c.row) {
				t.Errorf("rows %v, want %v and %q:\n%s", rows, want, c.row, out.String())
			}
			for _, r := range s.Requests() {
				if r.Call == llmfake.CallTranscribe && r.File != "audio.wav" {
					t.Errorf("the recording is named %q", r.File)
				}
			}
		})
	}
}
