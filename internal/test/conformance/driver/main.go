// Driver is legwork's MCP client as the official conformance suite starts it,
// with the address of a server: it connects, calls every tool that the server
// offers, says yes to what it is asked without filling anything in, and ends
// with 0 when all of that went well.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"legwork/internal/form"
	"legwork/tools/client"
)

func main() {
	protocol := flag.String("protocol", "", "the MCP revision to speak; empty: what the server knows")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: driver [-protocol REVISION] URL")
		os.Exit(2)
	}
	if err := run(context.Background(), client.Config{Name: "suite", URL: flag.Arg(0), Protocol: *protocol}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg client.Config) error {
	s, err := client.New(cfg, client.Options{Version: "conformance", Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return fmt.Errorf("preparing the client: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, 25*time.Second)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Run(ctx)
	}()
	defer func() {
		stop()
		<-stopped
	}()
	if err := s.WaitReady(ctx); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	fmt.Println("revision", s.Status().Protocol)
	offered := s.Catalog().Tools
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if err := call(ctx, s, name, offered[name].InputSchema); err != nil {
			return fmt.Errorf("calling %s: %w", name, err)
		}
	}
	return nil
}

// call calls a tool and goes on as long as it asks.
func call(ctx context.Context, s *client.Server, name string, schema json.RawMessage) error {
	args, err := example(schema)
	if err != nil {
		return err
	}
	c := client.Call{Tool: name, Arguments: args, Timeout: 20 * time.Second, Keep: 1 << 20, Ask: func(context.Context, form.Question) (form.Answer, error) {
		return form.Answer{Action: form.Accept}, nil
	}}
	for {
		r, err := s.Call(ctx, c)
		switch {
		case err != nil:
			return err
		case r.Failed:
			return errors.New(r.Text)
		case r.Question == nil:
			fmt.Printf("%s: %s\n", name, r.Text)
			return nil
		}
		c.Resume = &client.Resume{State: r.State, Answer: form.Answer{Action: form.Accept}}
	}
}

// example makes arguments that fit the schemas of the suite: a number for each
// number that is required, a word for each string.
func example(schema json.RawMessage) (json.RawMessage, error) {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	args := map[string]any{}
	for i, name := range s.Required {
		switch s.Properties[name].Type {
		case "number", "integer":
			args[name] = i + 2
		case "string":
			args[name] = "word"
		case "boolean":
			args[name] = true
		default:
			return nil, fmt.Errorf("the type of %q is %q, for which there is no example", name, s.Properties[name].Type)
		}
	}
	return json.Marshal(args)
}
