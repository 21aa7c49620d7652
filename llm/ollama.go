package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Ollama is what an Ollama server says about the window of a model: how many tokens
// prompt and reply may hold together. The server cuts off the rest without an error.
type Ollama struct {
	Window int // of the model as it is loaded now, or as its Modelfile says; 0: it is not known
	NumCtx int // of the Modelfile; 0: the server's own default counts
	Most   int // that the model was trained for; 0: it is not known
}

// ollamaTime bounds the questions to an Ollama server together.
const ollamaTime = 5 * time.Second

// ProbeOllama asks the server of a model about its window, by Ollama's own API
// (https://github.com/ollama/ollama/blob/main/docs/api.md). ok is false where the
// server is not Ollama.
func ProbeOllama(ctx context.Context, m ModelConfig) (found Ollama, ok bool) {
	root, v1 := strings.CutSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1")
	if !v1 {
		return Ollama{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, ollamaTime)
	defer cancel()
	o := ollama{config: m, client: &http.Client{Transport: newTransport()}}
	defer o.client.CloseIdleConnections()
	var version struct{ Version string }
	if o.ask(ctx, http.MethodGet, root+"/api/version", nil, &version) != nil || version.Version == "" {
		return Ollama{}, false
	}
	var shown struct {
		Parameters string
		ModelInfo  map[string]any `json:"model_info"`
	}
	if o.ask(ctx, http.MethodPost, root+"/api/show", map[string]string{"model": m.Model}, &shown) != nil {
		return Ollama{}, false
	}
	for line := range strings.Lines(shown.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			found.NumCtx, _ = strconv.Atoi(f[1])
		}
	}
	for key, value := range shown.ModelInfo {
		if n, number := value.(float64); number && strings.HasSuffix(key, ".context_length") {
			found.Most = int(n)
		}
	}
	found.Window = found.NumCtx
	var running struct {
		Models []struct {
			Name, Model   string
			ContextLength int `json:"context_length"`
		}
	}
	if o.ask(ctx, http.MethodGet, root+"/api/ps", nil, &running) == nil {
		for _, r := range running.Models {
			if name := strings.TrimSuffix(m.Model, ":latest"); r.ContextLength > 0 && (strings.TrimSuffix(r.Model, ":latest") == name || strings.TrimSuffix(r.Name, ":latest") == name) {
				found.Window = r.ContextLength
			}
		}
	}
	return found, true
}

// ollama is an Ollama server.
type ollama struct {
	config ModelConfig
	client *http.Client
}

// ask makes one request. body is nil for none.
func (o ollama) ask(ctx context.Context, method, url string, body, answer any) error {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return err
	}
	if o.config.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+o.config.APIKey)
	}
	resp, err := o.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(answer)
}

// Advice says what an admin has to change so that the server keeps as many tokens as
// legwork sends; empty when nothing has to be changed.
func (o Ollama) Advice(m ModelConfig) string {
	want := m.withDefaults().ContextTokens
	raise := func(tokens int) string {
		if o.NumCtx > 0 { // it counts before the server's default
			return fmt.Sprintf("et num_ctx to %d in its Modelfile", tokens)
		}
		return fmt.Sprintf("tart Ollama with OLLAMA_CONTEXT_LENGTH=%d", tokens)
	}
	const cuts = "Ollama cuts off longer prompts without an error."
	switch {
	case o.Most > 0 && want > o.Most:
		advice := fmt.Sprintf("The model holds %d tokens at most, but context_tokens is %d. Set context_tokens to %d", o.Most, want, o.Most)
		if o.Window < o.Most {
			advice += ", and s" + raise(o.Most)
		}
		return advice + "."
	case o.Window == 0:
		return fmt.Sprintf("Ollama does not say how many tokens it keeps. %s S%s, as many as context_tokens.", cuts, raise(want))
	case o.Window < want:
		return fmt.Sprintf("Ollama keeps %d tokens, but context_tokens is %d. %s S%s, or set context_tokens to %d.", o.Window, want, cuts, raise(want), o.Window)
	case o.Window < littleWindow && (o.Most == 0 || o.Most >= goodWindow):
		return fmt.Sprintf("Ollama keeps %d tokens, which is little for plans and results. S%s, and set context_tokens to %d.", o.Window, raise(goodWindow), goodWindow)
	}
	return ""
}

// Below littleWindow a prompt has little room for results; goodWindow works well
// (docs/models.md).
const littleWindow, goodWindow = 8000, 16000
