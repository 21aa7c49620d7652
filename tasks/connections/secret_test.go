package connections_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"legwork/internal/seal"
	"legwork/tasks"
	"legwork/tasks/connections"
	"legwork/tools"
)

const canary = "canary-of-ann-7f3a"

// secretEnv is an env in which people give secrets for the wiki.
func secretEnv(t *testing.T) *env {
	e := newEnv(t, nil)
	e.movesSecret("https://wiki.example.com/mcp")
	return e
}

func secretConfig(address string) tools.ServerConfig {
	return tools.ServerConfig{URL: address, Auth: &tools.Auth{Type: tools.AuthSecret, Identity: tools.IdentityPerson, Header: "X-Key: Token {secret}"}}
}

// movesSecret changes the address of the wiki in the config.
func (e *env) movesSecret(address string) {
	e.addresses["wiki"] = address
	e.Authorizer("wiki", "", secretConfig(address))
}

// header is the one with which a request of an identity is signed, and how the wiki's 401
// to it is handled.
func (e *env) header(id tasks.ConnectionID) (header string, refused error) {
	e.t.Helper()
	a := e.Authorizer(id.Server, id.Person, secretConfig(e.addresses[id.Server]))
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, e.addresses[id.Server], http.NoBody)
	if err == nil {
		err = a.Sign(context.Background(), r)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return r.Header.Get("X-Key"), a.Refused(context.Background(), r, &http.Response{StatusCode: http.StatusUnauthorized})
}

func (e *env) give(id tasks.ConnectionID, secret string) {
	e.t.Helper()
	if err := e.GiveSecret(e.t.Context(), id, id.Person, secret); err != nil {
		e.t.Fatal(err)
	}
}

// TestSecrets: the requests of each person carry their own secret, over a restart and
// until they end it.
func TestSecrets(t *testing.T) {
	e := secretEnv(t)
	ann, ben := connection("wiki", "telegram:7"), connection("wiki", "slack:U2")
	if h, err := e.header(ann); h != "" || !isSignIn(err) || !strings.Contains(err.Error(), "the person has to write /connect wiki") {
		t.Errorf("without a secret: got header %q and %v", h, err)
	}
	e.give(ann, "  "+canary+"\n")
	e.give(ben, "of-ben")
	e.restart()
	e.movesSecret(e.addresses["wiki"])
	for id, want := range map[tasks.ConnectionID]string{ann: "Token " + canary, ben: "Token of-ben", connection("wiki", ""): ""} {
		if h, _ := e.header(id); h != want {
			t.Errorf("%v: got header %q, want %q", id, h, want)
		}
	}
	if _, err := e.header(ann); !isSignIn(err) || !strings.Contains(err.Error(), "the secret for wiki was not accepted") || strings.Contains(err.Error(), canary) {
		t.Errorf("a refused secret: got %v", err)
	}
	list, err := e.store.Connections(t.Context())
	if err != nil || len(list) != 2 || list[1].Kind != "secret" || list[1].By != "telegram:7" || list[1].Used.IsZero() {
		t.Errorf("got %+v, %v, want the connections of both", list, err)
	}
	if bytes.Contains(list[1].Sealed, []byte(canary)) || strings.Contains(e.log.String(), canary) {
		t.Error("the secret is stored or logged in the clear")
	}
	if len(e.changed) != 2 {
		t.Errorf("got changes of %v, want two", e.changed)
	}
	if revoked, err := e.Disconnect(t.Context(), ann); revoked || err != nil {
		t.Errorf("disconnecting: got %v, %v", revoked, err)
	}
	if h, _ := e.header(ann); h != "" {
		t.Errorf("got header %q after the end", h)
	}
}

// TestNewSecret: a request that was signed with an earlier secret is sent again.
func TestNewSecret(t *testing.T) {
	e := secretEnv(t)
	ann := connection("wiki", "telegram:7")
	e.give(ann, "old")
	a := e.Authorizer("wiki", ann.Person, secretConfig(e.addresses["wiki"]))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.addresses["wiki"], http.NoBody)
	if err == nil {
		err = a.Sign(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.give(ann, "new")
	if err := a.Refused(t.Context(), r, &http.Response{StatusCode: http.StatusUnauthorized}); err != nil {
		t.Errorf("got %v, want another try", err)
	}
	if h, _ := e.header(ann); h != "Token new" {
		t.Errorf("got header %q", h)
	}
}

// TestSecretOfMovedServer: a secret for one address is not sent to another one that has the
// server's name later; and what one kind of sign-in stored is nothing to the other.
func TestSecretOfMovedServer(t *testing.T) {
	e := secretEnv(t)
	ann := connection("wiki", "telegram:7")
	e.give(ann, canary)
	e.movesSecret("https://evil.example/mcp")
	if h, err := e.header(ann); h != "" || !isSignIn(err) || strings.Contains(err.Error(), "not accepted") {
		t.Errorf("got header %q and %v, want none and a request for a secret", h, err)
	}
	e.movesSecret("https://wiki.example.com/mcp")
	oauth := tools.ServerConfig{URL: e.addresses["wiki"], Auth: &tools.Auth{Type: tools.AuthOAuth, Identity: tools.IdentityPerson}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.addresses["wiki"], http.NoBody)
	if err == nil {
		err = e.Authorizer("wiki", ann.Person, oauth).Sign(t.Context(), r)
	}
	if err != nil || len(r.Header) != 0 {
		t.Errorf("as OAuth: got headers %v, %v, want none", r.Header, err)
	}
	if e.TakesSecret("wiki") {
		t.Error("the wiki takes secrets still")
	}
	if err := e.GiveSecret(t.Context(), ann, ann.Person, "x"); !errors.Is(err, tasks.ErrNoSignIn) {
		t.Errorf("got %v, want ErrNoSignIn", err)
	}
}

// TestSecretSealed: sealing again with a new key takes secrets along, and a sealed secret
// cannot be moved to another person.
func TestSecretSealed(t *testing.T) {
	e := secretEnv(t)
	ann, ben := connection("wiki", "telegram:7"), connection("wiki", "slack:U2")
	e.give(ann, canary)
	e.give(ben, "of-ben")
	next := seal.NewKeyring(nil, seal.NewKey())
	if err := e.store.Reseal(t.Context(), func(id tasks.ConnectionID, sealed []byte) ([]byte, error) {
		plain, err := e.key.Open(sealed, id.About())
		if err != nil {
			return nil, err
		}
		return next.Seal(plain, id.About())
	}); err != nil {
		t.Fatal(err)
	}
	e.key = next
	e.restart()
	e.movesSecret(e.addresses["wiki"])
	if h, _ := e.header(ann); h != "Token "+canary {
		t.Errorf("after sealing again: got header %q", h)
	}
	stolen, err := e.store.Connection(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	stolen.ConnectionID = ben
	if err := e.store.PutConnection(t.Context(), stolen); err != nil {
		t.Fatal(err)
	}
	a := e.Authorizer("wiki", ben.Person, secretConfig(e.addresses["wiki"]))
	if err := a.Sign(t.Context(), &http.Request{Header: http.Header{}}); err == nil {
		t.Error("ben's request was signed with ann's secret")
	}
}

func TestBadSecrets(t *testing.T) {
	e := secretEnv(t)
	ann := connection("wiki", "telegram:7")
	for text, want := range map[string]string{
		"": "empty", " \n": "empty", strings.Repeat("x", tasks.MaxSecret+1): "long", "a\nb": "control", "a\x00b": "control", "a\x7fb": "control",
	} {
		err := e.GiveSecret(t.Context(), ann, ann.Person, text)
		if bad, ok := errors.AsType[*tasks.SecretError](err); !ok || bad.Problem != want {
			t.Errorf("%.10q: got %v, want %s", text, err, want)
		}
	}
	e.give(ann, strings.Repeat("x", tasks.MaxSecret))
}

// TestSecretOnce: a secret is entered once in a page, in time and for the server for which
// the page was opened.
func TestSecretOnce(t *testing.T) {
	for name, c := range map[string]struct {
		between func(e *env, state string)
		want    error
	}{
		"in time":          {func(*env, string) {}, nil},
		"after a restart":  {func(e *env, _ string) { e.restart(); e.movesSecret(e.addresses["wiki"]) }, nil},
		"a bad one before": {func(e *env, state string) { _, _ = e.FinishSecret(e.t.Context(), state, "a\nb") }, nil},
		"twice":            {func(e *env, state string) { _, _ = e.FinishSecret(e.t.Context(), state, "first") }, tasks.ErrNoConnection},
		"too late":         {func(e *env, _ string) { e.now = e.now.Add(tasks.AttemptTime) }, tasks.ErrNoConnection},
		"the server moved": {func(e *env, _ string) { e.movesSecret("https://evil.example/mcp") }, tasks.ErrNoConnection},
		"the server left":  {func(e *env, _ string) { delete(e.addresses, "wiki") }, tasks.ErrNoSignIn},
	} {
		t.Run(name, func(t *testing.T) {
			e := secretEnv(t)
			id := connection("wiki", "slack:U1")
			begun, err := e.Begin(t.Context(), connections.Wish{ConnectionID: id, By: "slack:U1", Reader: connections.Reader{Name: "Ann", Language: "en"}})
			if err != nil || begun.URL != "" {
				t.Fatalf("got %+v, %v, want no address", begun, err)
			}
			c.between(e, begun.State)
			if _, err := e.FinishSecret(t.Context(), begun.State, canary); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
			stored, err := e.store.Connections(t.Context())
			if want := c.want == nil || name == "twice"; err != nil || (len(stored) == 1) != want {
				t.Errorf("got %v, %v", stored, err)
			}
		})
	}
}
