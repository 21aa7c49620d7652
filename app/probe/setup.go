package probe

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"legwork/app/cli"
	"legwork/app/tooladmin"
	"legwork/llm"
	"legwork/tools"
)

// Model calls a model once.
func Model(ctx context.Context, config llm.ModelConfig) error {
	rows, err := probeModels(ctx, llm.Config{Models: map[string]llm.ModelConfig{"main": config}})
	if err == nil && rows[0].problem != "" {
		err = errors.New(rows[0].problem)
	}
	return err
}

// searchWith is the built-in server for the search at url.
func searchWith(url string) tools.ServerConfig {
	return tools.ServerConfig{Builtin: "search", Options: map[string]any{"url": url}}
}

// SearchProblem says why url is not the address of a search; empty when it is one.
func SearchProblem(url string) string {
	if len((tools.Config{Servers: map[string]tools.ServerConfig{"search": searchWith(url)}}).Validate()) > 0 {
		return "is not an address such as https://searx.example.com/search"
	}
	return ""
}

// toModel is the part of a failed search's text that is meant for models. What an
// admin has to do follows it.
const toModel = "work without searching and tell the person that an admin has to "

// Search searches once.
func Search(ctx context.Context, url string) (found string, err error) {
	manager, err := tools.New(tools.Config{Servers: map[string]tools.ServerConfig{"search": searchWith(url)}}, tools.Options{})
	if err != nil {
		return "", err
	}
	ended := tooladmin.During(ctx, manager, func(ctx context.Context) {
		call := tools.Call{Group: "search", Tool: "search.search", Arguments: json.RawMessage(`{"query": "weather", "limit": 1}`)}
		var result tools.Result
		if result, err = manager.Call(ctx, call); err == nil && result.Failed {
			err = errors.New(strings.Replace(cli.OneLine(result.Text), toModel, "", 1))
		}
	})
	return url, errors.Join(err, ended)
}
