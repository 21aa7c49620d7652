// Driver is legwork's MCP client as the official conformance suite starts it,
// with the address of a server: it connects, calls every tool that the server
// offers, reads every skill, says yes to what it is asked without filling anything in,
// and ends with 0 when all of that went well. MCP_CONFORMANCE_CONTEXT may hold the arguments
// of some calls; a tool that wants a schema gets that of another tool.
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
	"strings"
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
	var given scenarioContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			fmt.Fprintln(os.Stderr, "reading MCP_CONFORMANCE_CONTEXT:", err)
			os.Exit(2)
		}
	}
	cfg := client.Config{Name: "suite", URL: flag.Arg(0), Protocol: *protocol}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") {
		signIn := newSignIn(given, cfg.URL)
		cfg.Auth = signIn.session
		given.signIn = signIn
	}
	if err := run(context.Background(), given, cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// scenarioContext is what the suite tells the driver about a scenario.
type scenarioContext struct {
	Calls []struct {
		Name      string                     `json:"name"`
		Arguments map[string]json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`

	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	PrivateKey       string `json:"private_key_pem"`
	SigningAlgorithm string `json:"signing_algorithm"`
	IDToken          string `json:"idp_id_token"`
	ProviderTokenURL string `json:"idp_token_endpoint"`
	ProviderClientID string `json:"idp_client_id"`
	Assertion        string `json:"valid_jwt"`

	signIn *signIn // nil for a scenario without authorisation
}

// arguments are those of the calls of one tool: as given, or one example. A null is
// left out, as legwork does with what models write.
func (c scenarioContext) arguments(name string, offered map[string]*client.Definition) ([]json.RawMessage, error) {
	var list []json.RawMessage
	for _, one := range c.Calls {
		if one.Name != name {
			continue
		}
		maps.DeleteFunc(one.Arguments, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		args, err := json.Marshal(one.Arguments)
		if err != nil {
			return nil, err
		}
		list = append(list, args)
	}
	if len(list) > 0 {
		return list, nil
	}
	args, err := example(name, offered)
	return []json.RawMessage{args}, err
}

func run(ctx context.Context, given scenarioContext, cfg client.Config) error {
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
	for {
		err := s.WaitReady(ctx)
		if err == nil {
			break
		}
		if needs, ok := errors.AsType[*client.SignInError](err); ok && given.signIn.consents(ctx, needs) {
			s.RetryNow()
			continue
		}
		return fmt.Errorf("connecting: %w", err)
	}
	fmt.Println("revision", s.Status().Protocol)
	offered := s.Catalog().Tools
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if offered[name].Skill != nil {
			continue
		}
		calls, err := given.arguments(name, offered)
		if err != nil {
			return fmt.Errorf("calling %s: %w", name, err)
		}
		for _, args := range calls {
			err := call(ctx, s, name, args)
			if needs, ok := errors.AsType[*client.SignInError](err); ok && given.signIn.consents(ctx, needs) {
				err = call(ctx, s, name, args)
			}
			if errors.Is(err, client.ErrArguments) {
				fmt.Printf("%s: not called, as the example does not fit: %v\n", name, err)
			} else if err != nil {
				return fmt.Errorf("calling %s: %w", name, err)
			}
		}
	}
	return readSkills(ctx, s, offered)
}

// readSkills reads every file of every skill, as a model would that goes on after
// failures. One scenario is about a host that reads none.
func readSkills(ctx context.Context, s *client.Server, offered map[string]*client.Definition) error {
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "sep-2640-client-no-prefetch" {
		return nil
	}
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		of := offered[name].Skill
		if of == nil {
			continue
		}
		failures = append(failures, call(ctx, s, name, nil))
		for _, f := range of.Files {
			args, err := json.Marshal(map[string]string{"file": f.URI})
			failures = append(failures, err, call(ctx, s, name, args))
		}
	}
	return errors.Join(failures...)
}

// call calls a tool and goes on as long as it asks.
func call(ctx context.Context, s *client.Server, name string, args json.RawMessage) error {
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
// number that is required, a word for each string, the schema of another tool for
// an object named schema.
func example(name string, offered map[string]*client.Definition) (json.RawMessage, error) {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(offered[name].InputSchema, &s); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	args := map[string]any{}
	for i, property := range s.Required {
		switch kind := s.Properties[property].Type; {
		case kind == "number", kind == "integer":
			args[property] = i + 2
		case kind == "string":
			args[property] = "word"
		case kind == "boolean":
			args[property] = true
		case kind == "object" && property == "schema" && len(offered) > 1:
			for _, other := range slices.Sorted(maps.Keys(offered)) {
				if other != name {
					args[property] = offered[other].InputSchema
				}
			}
		default:
			return nil, fmt.Errorf("the type of %q is %q, for which there is no example", property, kind)
		}
	}
	return json.Marshal(args)
}
