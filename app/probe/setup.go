package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

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

// ask makes one call of a model, as small as it can be.
func ask(ctx context.Context, models *llm.Models, name string) error {
	_, err := models.Call(ctx, llm.Request{
		Role: llm.RoleAnswer, Model: name, Messages: []llm.Message{{Role: llm.User, Content: "Reply with the single word ok."}},
	}, nil)
	return err
}

// maxModels bounds the list of an endpoint's models, in bytes.
const maxModels = 8 << 20

// Models lists the names of an endpoint's models. An error that the endpoint answers
// is an *llm.Error.
func Models(ctx context.Context, config llm.ModelConfig) ([]string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(config.BaseURL, "/")+"/models", nil)
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
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	reply, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxModels))
	if err != nil {
		return nil, err
	}
	problem := func(kind llm.Problem) error {
		return &llm.Error{Problem: kind, Model: config.Model, Status: reply.StatusCode, Err: fmt.Errorf("GET %s/models: HTTP %d", config.BaseURL, reply.StatusCode)}
	}
	switch status := reply.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, problem(llm.Refused)
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return nil, problem(llm.NotFound)
	case status == http.StatusTooManyRequests:
		return nil, problem(llm.Busy)
	case status != http.StatusOK:
		return nil, problem(llm.Unreachable)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, problem(llm.Garbage)
	}
	names := []string{}
	for _, model := range list.Data {
		if model.ID != "" {
			names = append(names, model.ID)
		}
	}
	return names, nil
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
