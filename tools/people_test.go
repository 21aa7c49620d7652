package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"legwork/tools"
	"legwork/tools/client"
)

// signers sign requests with a header that holds the person.
type signers struct{}

func (signers) Authorizer(_, person string, _ tools.ServerConfig) client.Authorizer {
	return signer(person)
}

type signer string

func (s signer) Sign(_ context.Context, r *http.Request) error {
	r.Header.Set("X-Person", string(s))
	return nil
}

func (s signer) Refused(context.Context, *http.Request, *http.Response) error {
	return client.ErrNotAuth
}

// TestPeopleBeforeRun: a person's call that comes before Run waits for it.
func TestPeopleBeforeRun(t *testing.T) {
	shop := newEnv(t)
	shop.addTool("buy", "Buys a thing.")
	cfg := one(tools.ServerConfig{URL: shop.url, Auth: &tools.Auth{Type: "oauth", Identity: tools.IdentityPerson}})
	m, err := tools.New(cfg, tools.Options{Authorizers: signers{}})
	if err != nil {
		t.Fatal(err)
	}
	early, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Tools(early, "g", "slack:U1"); !errors.Is(err, context.Canceled) {
		t.Errorf("before Run: got %v, want %v", err, context.Canceled)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	if list, err := m.Tools(t.Context(), "g", "slack:U1"); err != nil || len(list) != 1 {
		t.Errorf("got the tools %v, %v, want one", list, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := m.Tools(t.Context(), "g", "slack:U2"); !errors.Is(err, tools.ErrStopped) {
		t.Errorf("after Run: got %v, want %v", err, tools.ErrStopped)
	}
}

// TestPeople: where each person signs in, each has connections of their own, at once and
// over a reload.
func TestPeople(t *testing.T) {
	shop := newEnv(t)
	shop.addTool("buy", "Buys a thing.")
	config := func(protocol string) tools.Config {
		return one(tools.ServerConfig{URL: shop.url, Protocol: protocol, Auth: &tools.Auth{Type: "oauth", Identity: tools.IdentityPerson}})
	}
	m := run(t, config(""), func(o *tools.Options) { o.Authorizers = signers{} })
	buy := func() {
		var calls sync.WaitGroup
		for _, person := range []string{"slack:U1", "slack:U2", "slack:U1", ""} {
			calls.Go(func() {
				if list, err := m.Tools(t.Context(), "g", person); err != nil || len(list) != 1 {
					t.Errorf("%s: got the tools %v, %v, want one", person, list, err)
				}
				r, err := m.Call(t.Context(), tools.Call{Group: "g", Tool: "s.buy", Person: person, Arguments: json.RawMessage("{}")})
				if err != nil || r.Text != "sold" {
					t.Errorf("%s: got %+v, %v, want the result", person, r, err)
				}
			})
		}
		calls.Wait()
	}
	buy()
	if err := m.Reload(t.Context(), config("2025-11-25")); err != nil {
		t.Fatal(err)
	}
	buy()
	var got []string
	for _, c := range shop.calls() {
		got = append(got, c.Header.Get("X-Person"))
	}
	slices.Sort(got)
	if want := []string{"", "", "slack:U1", "slack:U1", "slack:U1", "slack:U1", "slack:U2", "slack:U2"}; !slices.Equal(got, want) {
		t.Errorf("the server was called by %q, want %q", got, want)
	}
}
