package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"legwork/llm"
)

// ollama serves the three calls of Ollama's API that tell the window of a model, with
// the fields of its documentation, and refuses everything else.
func ollama(t *testing.T, parameters, running string) llm.ModelConfig {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.12.6"}`) })
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Model string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Model != "qwen3:8b" && in.Model != "llama3.2" {
			http.Error(w, `{"error":"model not found"}`, http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"modelfile":"","parameters":%q,"template":"","details":{"family":"qwen3"},"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960,"qwen3.block_count":36}}`, parameters)
	})
	mux.HandleFunc("GET /api/ps", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"models":[%s]}`, running) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return llm.ModelConfig{BaseURL: s.URL + "/v1/", Model: "qwen3:8b", ContextTokens: 32000}
}

func TestOllamaWindow(t *testing.T) {
	t.Parallel()
	const (
		small = `{"name":"qwen3:8b","model":"qwen3:8b","size":5137025024,"digest":"x","context_length":4096}`
		large = `{"name":"qwen3:8b","model":"qwen3:8b","context_length":32000}`
		other = `{"name":"gemma3:4b","model":"gemma3:4b","context_length":131072}`
	)
	for name, c := range map[string]struct {
		parameters, running string
		edit                func(*llm.ModelConfig)
		want                string
	}{
		"loaded with too little": {
			"stop \"<|im_end|>\"", other + "," + small, nil,
			"Ollama keeps 4096 tokens, but context_tokens is 32000. Ollama cuts off longer prompts without an error. Start Ollama with OLLAMA_CONTEXT_LENGTH=32000, or set context_tokens to 4096.",
		},
		"num_ctx of the Modelfile": {
			"num_ctx                        8192\nstop                           \"<|im_end|>\"", "", nil,
			"Ollama keeps 8192 tokens, but context_tokens is 32000. Ollama cuts off longer prompts without an error. Set num_ctx to 32000 in its Modelfile, or set context_tokens to 8192.",
		},
		"not loaded": {
			"", other, nil,
			"Ollama does not say how many tokens it keeps. Ollama cuts off longer prompts without an error. Start Ollama with OLLAMA_CONTEXT_LENGTH=32000, as many as context_tokens.",
		},
		"more than the model can": {
			"", large, func(m *llm.ModelConfig) { m.ContextTokens = 0 },
			"The model holds 40960 tokens at most, but context_tokens is 128000. Set context_tokens to 40960, and start Ollama with OLLAMA_CONTEXT_LENGTH=40960.",
		},
		"num_ctx, and more than the model can": {
			"num_ctx 8192", "", func(m *llm.ModelConfig) { m.ContextTokens = 0 },
			"The model holds 40960 tokens at most, but context_tokens is 128000. Set context_tokens to 40960, and set num_ctx to 40960 in its Modelfile.",
		},
		"num_ctx of all that the model can": {
			"num_ctx 40960", "", func(m *llm.ModelConfig) { m.ContextTokens = 0 },
			"The model holds 40960 tokens at most, but context_tokens is 128000. Set context_tokens to 40960.",
		},
		"a small window that the config knows": {
			"", small, func(m *llm.ModelConfig) { m.ContextTokens = 4096 },
			"Ollama keeps 4096 tokens, which is little for plans and results. Start Ollama with OLLAMA_CONTEXT_LENGTH=16000, and set context_tokens to 16000.",
		},
		"enough": {"num_ctx 32000", large, nil, ""},
		"the newest tag": {
			"", `{"name":"llama3.2:latest","model":"llama3.2:latest","context_length":64000}`,
			func(m *llm.ModelConfig) { m.Model = "llama3.2" }, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := ollama(t, c.parameters, c.running)
			if c.edit != nil {
				c.edit(&m)
			}
			found, ok := llm.ProbeOllama(t.Context(), m)
			if got := found.Advice(m); !ok || got != c.want {
				t.Errorf("found %+v (%v): advice\n%s\nwant\n%s", found, ok, got, c.want)
			}
		})
	}
}

func TestOtherServersAreNotTakenForOllama(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	unknown := ollama(t, "", "")
	unknown.Model = "other"
	for name, m := range map[string]llm.ModelConfig{
		"a server without these calls": {BaseURL: s.URL + "/v1", Model: "m"},
		"another path":                 {BaseURL: s.URL + "/api/paas", Model: "m"},
		"no address":                   {Model: "m"},
		"a model that it has not":      unknown,
	} {
		if found, ok := llm.ProbeOllama(t.Context(), m); ok {
			t.Errorf("%s: found %+v, want none", name, found)
		}
	}
}
