package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/app/tooladmin"
	"legwork/llm"
	"legwork/tools"
)

// Model calls a model once. Its error is an *llm.Error.
func Model(ctx context.Context, config llm.ModelConfig) error {
	models, err := llm.New(llm.Config{Models: map[string]llm.ModelConfig{"main": config}}, llm.Options{})
	if err != nil {
		return err
	}
	defer models.Close()
	err = ask(ctx, models, "main")
	var e *llm.Error
	if errors.As(err, &e) { // people know the model by its own name
		named := *e
		named.Model = config.Model
		err = &named
	}
	return err
}

// maxModels bounds the list of an endpoint's models, in bytes.
const maxModels = 8 << 20

// Models lists the names of an endpoint's models. An error that the endpoint answers
// is an *llm.Error.
func Models(ctx context.Context, config llm.ModelConfig) ([]string, error) {
	body, err := get(ctx, config, strings.TrimRight(config.BaseURL, "/")+"/models")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, &llm.Error{Problem: llm.Garbage, Model: config.Model, Status: http.StatusOK, Err: err}
	}
	names := []string{}
	for _, model := range list.Data {
		if model.ID != "" {
			names = append(names, model.ID)
		}
	}
	return names, nil
}

// Window is how many tokens the endpoint keeps of a model's prompt and reply; 0: it
// does not say. Call the model first: Ollama and LM Studio know the window of a model
// that they have loaded.
func Window(ctx context.Context, config llm.ModelConfig) int {
	if found, ok := llm.ProbeOllama(ctx, config); ok {
		return found.Window
	}
	base := strings.TrimRight(config.BaseURL, "/")
	for _, address := range []string{base + "/models", strings.TrimSuffix(base, "/v1") + "/api/v0/models"} {
		var list struct {
			Data []struct {
				ID       string `json:"id"`
				Loaded   int    `json:"loaded_context_length"` // LM Studio, lmstudio.ai/docs/developer/rest/endpoints
				Length   int    `json:"context_length"`        // OpenRouter, openrouter.ai/docs/api-reference/list-available-models
				VLLM     int    `json:"max_model_len"`         // vLLM, its ModelCard
				Provider struct {
					Length int `json:"context_length"` // OpenRouter's first choice of provider
				} `json:"top_provider"`
			} `json:"data"`
		}
		body, err := get(ctx, config, address)
		if err != nil || json.Unmarshal(body, &list) != nil {
			continue
		}
		for _, m := range list.Data {
			if window := cmp.Or(m.Loaded, m.Provider.Length, m.Length, m.VLLM); m.ID == config.Model && window > 0 {
				return window
			}
		}
	}
	return 0
}

// get reads a document of an endpoint.
func get(ctx context.Context, config llm.ModelConfig, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if config.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+config.APIKey)
		if r.URL.Host == "api.anthropic.com" { // this call takes its own headers alone (docs.anthropic.com/en/api/models-list)
			r.Header.Set("X-Api-Key", config.APIKey)
			r.Header.Set("Anthropic-Version", "2023-06-01")
		}
	}
	client := http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // calls follow none
	}
	reply, err := client.Do(r)
	if err != nil {
		if speaksTLS(ctx, config) {
			err = llm.ErrSpeaksTLS
		}
		return nil, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxModels))
	if err != nil {
		return nil, err
	}
	problem := func(kind llm.Problem) error {
		return &llm.Error{Problem: kind, Model: config.Model, Status: reply.StatusCode, Err: fmt.Errorf("GET %s: HTTP %d", address, reply.StatusCode)}
	}
	switch status := reply.StatusCode; {
	case status == http.StatusBadRequest && speaksTLS(ctx, config):
		return nil, llm.ErrSpeaksTLS
	case status/100 == 3 && reply.Header.Get("Location") != "":
		return nil, &llm.Error{Problem: llm.Unreachable, Model: config.Model, Status: status, Hint: strings.TrimSuffix(reply.Header.Get("Location"), "/models")}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, problem(llm.Refused)
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return nil, problem(llm.NotFound)
	case status == http.StatusTooManyRequests:
		return nil, problem(llm.Busy)
	case status != http.StatusOK:
		return nil, problem(llm.Unreachable)
	}
	return body, nil
}

// speaksTLS reports whether a server with an http address speaks TLS. Some of these
// servers answer 400, and some close the connection.
func speaksTLS(ctx context.Context, config llm.ModelConfig) bool {
	u, err := url.Parse(config.BaseURL)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // nothing is sent
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// searchWith is the built-in search server with these options.
func searchWith(options map[string]any) tools.ServerConfig {
	return tools.ServerConfig{Builtin: "search", Options: options}
}

// SearchProblem says what is wrong with the options of a search server; empty when
// nothing is.
func SearchProblem(options map[string]any) string {
	if mistakes := (tools.Config{Servers: map[string]tools.ServerConfig{"search": searchWith(options)}}).Validate(); len(mistakes) > 0 {
		return mistakes[0].Problem
	}
	return ""
}

// Search searches once with these options of a search server.
func Search(ctx context.Context, options map[string]any) error {
	manager, err := tools.New(tools.Config{Servers: map[string]tools.ServerConfig{"search": searchWith(options)}}, tools.Options{})
	if err != nil {
		return err
	}
	ended := tooladmin.During(ctx, manager, func(ctx context.Context) {
		call := tools.Call{Group: "search", Tool: "search.search", Arguments: json.RawMessage(`{"query": "weather", "limit": 1}`), Admin: true}
		var result tools.Result
		if result, err = manager.Call(ctx, call); err == nil && result.Failed {
			err = errors.New(cli.OneLine(result.Text))
		}
	})
	return errors.Join(err, ended)
}
