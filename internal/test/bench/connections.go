package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"legwork/internal/seal"
	"legwork/internal/test/fakes/oauthfake"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/connections"
	"legwork/tools"
	"legwork/tools/client"
)

const (
	signed        = 10_000 // requests
	connected     = 300    // people with a connection
	tokenBytes    = 4 << 10
	interleavings = 10_000

	maxSign        = 100 * time.Microsecond
	maxStored      = 16 << 10
	maxUnusedBytes = 100 // of memory, which is what the measuring varies by
)

// signInEnv is one server at which people sign in, with the connections on disk.
type signInEnv struct {
	*connections.Connections
	server *oauthfake.Server
	config tools.ServerConfig
	now    time.Time
}

// measureConnections measures what signing in at servers costs.
func measureConnections(ctx context.Context, dir string) (figures []figure, err error) {
	e := &signInEnv{server: oauthfake.Start("crm"), now: time.Now()}
	defer e.server.End()
	e.server.TokenBytes = tokenBytes
	e.config = tools.ServerConfig{URL: e.server.URL + "/mcp", Auth: &tools.Auth{Type: tools.AuthOAuth, Identity: tools.IdentityPerson}}
	store, err := bolt.Open(ctx, dir, bolt.Options{Now: func() time.Time { return e.now }})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e.Connections = connections.New(connections.Config{
		Store: store, Sealer: seal.NewKeyring(nil, seal.NewKey()), Redirect: "http://localhost:1/oauth/callback",
		SignsIn: func(string) bool { return true }, Now: func() time.Time { return e.now },
	})
	e.of("")
	for _, measure := range []func(context.Context, string) ([]figure, error){e.stored, e.unused, e.valid, e.refreshed} {
		more, err := measure(ctx, dir)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	wrong, err := wrongTokens(ctx)
	return append(figures, wrong), err
}

// of signs the requests of a person.
func (e *signInEnv) of(person string) client.Authorizer {
	return e.Authorizer("crm", person, e.config)
}

func (e *signInEnv) sign(ctx context.Context, person string) error {
	return sign(ctx, e.of(person), e.config.URL, person)
}

// sign signs a request of a person.
func sign(ctx context.Context, by client.Authorizer, url, person string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return err
	}
	if err := by.Sign(ctx, r); err != nil {
		return err
	}
	if want := "Bearer secret:crm:" + person + ":"; !strings.HasPrefix(r.Header.Get("Authorization"), want) {
		return fmt.Errorf("a request of %s was not signed with a token of theirs", person)
	}
	return nil
}

func personOf(n int) string { return fmt.Sprintf("slack:U%d", n) }

// stored is how much the files grow for a connection.
func (e *signInEnv) stored(ctx context.Context, dir string) ([]figure, error) {
	before, err := sizeOf(dir)
	if err != nil {
		return nil, err
	}
	for n := range connected {
		person := personOf(n)
		b, err := e.Begin(ctx, connections.Wish{ConnectionID: tasks.ConnectionID{Server: "crm", Person: person}, By: person, Reader: connections.Reader{Language: "en"}})
		if err != nil {
			return nil, err
		}
		back, err := oauthfake.Browse(b.URL, person)
		if err != nil {
			return nil, err
		}
		if _, err := e.Finish(ctx, back.Query(), person); err != nil {
			return nil, err
		}
	}
	after, err := sizeOf(dir)
	each := (after - before) / connected
	return []figure{{
		name: "a connection with two tokens of 4 KiB: the files of the store grow by", measured: fmt.Sprintf("%.1f KiB", float64(each)/1024),
		limit: fmt.Sprintf("%d KiB", maxStored>>10), ok: each <= maxStored,
	}}, err
}

// sizeOf is the size of all files in a folder.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// unused is what is left in memory of people who have made a request.
func (e *signInEnv) unused(ctx context.Context, _ string) ([]figure, error) {
	const people = 10_000
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	before := liveHeap()
	for n := range people {
		if err := e.of(fmt.Sprintf("slack:V%d", n)).Sign(ctx, r); err != nil {
			return nil, err
		}
	}
	each := max(0, liveHeap()-before) / people
	return []figure{{
		name: "the same, in memory when nothing uses it", measured: fmt.Sprintf("%d B", each), limit: fmt.Sprintf("%d B", maxUnusedBytes), ok: each <= maxUnusedBytes,
		machine: fmt.Sprintf("%d people", people),
	}}, nil
}

// liveHeap is what the heap holds after the garbage is collected, with what its cleanups
// free.
func liveHeap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
		runtime.Gosched()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// valid is what a valid token adds to a request of a person whose connection to the
// server is open.
func (e *signInEnv) valid(ctx context.Context, _ string) ([]figure, error) {
	person := personOf(1)
	by := e.of(person)
	if err := sign(ctx, by, e.config.URL, person); err != nil { // once an hour a use is noted, by a commit
		return nil, err
	}
	var took []time.Duration
	before := processorTime()
	for range signed {
		if err := timed(&took, func() error { return sign(ctx, by, e.config.URL, person) }); err != nil {
			return nil, err
		}
	}
	return []figure{within("added to a call of a person with a valid token", median(took), maxSign, short((processorTime()-before)/signed)+" on the processors")}, nil
}

// refreshed is how often a token is renewed for calls that all need that.
func (e *signInEnv) refreshed(ctx context.Context, _ string) ([]figure, error) {
	const calls = 100
	e.now = e.now.Add(2 * time.Hour)
	before := e.server.Given()
	failures := make([]error, calls)
	var all sync.WaitGroup
	for n := range calls {
		all.Go(func() { failures[n] = e.sign(ctx, personOf(0)) })
	}
	all.Wait()
	refreshes := (e.server.Given() - before) / 2 // each gives two tokens
	return []figure{{
		name: fmt.Sprintf("%d calls at once with an expired token: refreshes", calls), measured: fmt.Sprint(refreshes), limit: "1", ok: refreshes == 1,
	}}, errors.Join(failures...)
}

// wrongTokens runs the property test of package connections for long: no request carries
// the token of another person or server.
func wrongTokens(ctx context.Context) (figure, error) {
	c := exec.CommandContext(ctx, "go", "test", "./tasks/connections", "-trimpath", "-count=1", "-run", "^TestIdentities$", fmt.Sprintf("-rapid.checks=%d", interleavings))
	out, err := c.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || !strings.Contains(string(out), "carried the token")) {
		return figure{}, fmt.Errorf("running the property test: %w: %s", err, out)
	}
	f := figure{name: fmt.Sprintf("%d interleavings of people, servers, refreshes, faults and restarts: wrong tokens", interleavings), measured: "0", limit: "0", ok: err == nil}
	if err != nil {
		f.measured = "found"
	}
	return f, nil
}
