package probe_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"legwork/app/cli"
	"legwork/app/probe"
	"legwork/conf"
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
)

// TestOllamaWithASmallWindowIsReported: the probe loads the model by a call, asks Ollama
// for its window and says what to change.
func TestOllamaWithASmallWindowIsReported(t *testing.T) {
	t.Parallel()
	model := llmfake.New(t, llmfake.Options{Respond: llmfake.Script(llmfake.Say("ok"))})
	mux := http.NewServeMux()
	mux.Handle("/v1/", model)
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.12.6"}`) })
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"parameters":"","model_info":{"qwen3.context_length":40960}}`)
	})
	mux.HandleFunc("GET /api/ps", func(w http.ResponseWriter, _ *http.Request) {
		if len(model.Requests()) == 0 {
			fmt.Fprint(w, `{"models":[]}`)
			return
		}
		fmt.Fprint(w, `{"models":[{"name":"fake","model":"fake","context_length":4096}]}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	var out bytes.Buffer
	config := &conf.Config{LLM: llm.Config{Models: map[string]llm.ModelConfig{"local": {BaseURL: s.URL + "/v1", APIKey: "k", Model: "fake", ContextTokens: 32000}}}}
	if err := probe.Run(t.Context(), config, 0, cli.Console{Out: &out, Err: &out}); err != nil {
		t.Fatalf("the probe failed: %v\n%s", err, out.String())
	}
	const want = "models.local: Ollama keeps 4096 tokens, but context_tokens is 32000. Ollama cuts off longer prompts without an error. Start Ollama with OLLAMA_CONTEXT_LENGTH=32000, or set context_tokens to 4096. See docs/models.md.\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant the line\n%s", out.String(), want)
	}
}
