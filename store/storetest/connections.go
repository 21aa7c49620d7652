package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"legwork/tasks"
)

// connection is a sign-in of a person at a server; of everybody, when person is empty.
func connection(server, person string) tasks.Connection {
	c := tasks.Connection{ConnectionID: tasks.ConnectionID{Server: server}, Kind: "oauth", By: "test:admin", Scopes: []string{"read"}, Sealed: []byte("secret of " + server + person)}
	if person != "" {
		c.Person, c.By = "test:"+person, "test:"+person
	}
	return c
}

// noConnection expects ErrNoConnection.
func (b *env) noConnection(what string, err error) {
	b.Helper()
	if !errors.Is(err, tasks.ErrNoConnection) {
		b.Errorf("%s: got %v, want ErrNoConnection", what, err)
	}
}

// connections expects these connections, and no others.
func (b *env) connections(what string, want ...tasks.Connection) {
	b.Helper()
	list, err := b.store.Connections(b.Context())
	b.ok(err)
	b.same("connections "+what, list, want)
}

func testConnections(b *env) {
	shared, ann, bob := connection("mail", ""), connection("mail", "ann"), connection("mail", "bob")
	other := connection("mai", "l") // its name is the beginning of another
	for _, c := range []*tasks.Connection{&bob, &ann, &other, &shared} {
		b.ok(b.store.PutConnection(b.Context(), *c))
		c.Since = b.clock.now()
	}
	b.connections("at first", other, shared, ann, bob)
	got, err := b.store.Connection(b.Context(), ann.ConnectionID)
	b.ok(err)
	b.same("one", got, ann)
	_, err = b.store.Connection(b.Context(), tasks.ConnectionID{Server: "mail", Person: "test:eve"})
	b.noConnection("another person's", err)

	renew := func(old, sealed string) error {
		return b.store.RenewConnection(b.Context(), ann.ConnectionID, []byte(old), []byte(sealed), []string{"read", "write"})
	}
	b.ok(renew(string(ann.Sealed), "newer"))
	b.noConnection("renewing what was renewed", renew(string(ann.Sealed), "lost"))
	ann.Sealed, ann.Scopes = []byte("newer"), []string{"read", "write"}
	b.clock.add(90 * time.Minute)
	for range 3 {
		b.ok(b.store.UseConnection(b.Context(), ann.ConnectionID))
		ann.Used = b.clock.now().Truncate(time.Hour)
		b.clock.add(10 * time.Minute)
	}
	b.store = b.reopen()
	b.connections("after use", other, shared, ann, bob)

	b.ok(b.store.PutConnection(b.Context(), ann))
	ann.Since, ann.Used = b.clock.now(), time.Time{}
	b.ok(b.store.DropConnection(b.Context(), bob.ConnectionID))
	b.connections("after another sign-in", other, shared, ann)
	b.noConnection("ending it again", b.store.DropConnection(b.Context(), bob.ConnectionID))
	b.noConnection("using it", b.store.UseConnection(b.Context(), bob.ConnectionID))
	b.noConnection("renewing it", b.store.RenewConnection(b.Context(), bob.ConnectionID, bob.Sealed, bob.Sealed, nil))
}

// testRenewals: of many renewals at once, one wins.
func testRenewals(b *env) {
	c := connection("mail", "ann")
	b.ok(b.store.PutConnection(b.Context(), c))
	var won atomic.Int32
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			err := b.store.RenewConnection(b.Context(), c.ConnectionID, c.Sealed, fmt.Append(nil, n), nil)
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, tasks.ErrNoConnection) {
				b.Error(err)
			}
		})
	}
	all.Wait()
	b.same("renewals that won", won.Load(), int32(1))
}

// testConnectionsForgotten: a person's sign-ins go with their data, also one that
// everybody shares, and all at a server with the server.
func testConnectionsForgotten(b *env) {
	byAnn := connection("wiki", "")
	byAnn.By = "test:ann"
	shared, ann, bob, code := connection("mail", ""), connection("mail", "ann"), connection("mail", "bob"), connection("code", "bob")
	for _, c := range []*tasks.Connection{&byAnn, &shared, &ann, &bob, &code} {
		b.ok(b.store.PutConnection(b.Context(), *c))
		c.Since = b.clock.now()
	}
	for _, by := range []string{"ann", "bob"} {
		b.ok(b.store.PutAttempt(b.Context(), attempt("of "+by, "code", by)))
	}
	b.same("deleted", b.erase("test:ann"), tasks.Deleted{Connections: 2})
	b.connections("after a person", code, shared, bob)
	_, err := b.store.SpendAttempt(b.Context(), "of ann", "test:ann")
	b.noConnection("finishing a sign-in that was forgotten", err)
	b.same("deleted with a server", b.erase("server:mail"), tasks.Deleted{Connections: 2})
	b.connections("after a server", code)
	b.same("deleted with a chat", b.erase("test:C1"), tasks.Deleted{})
	_, err = b.store.SpendAttempt(b.Context(), "of bob", "test:bob")
	b.ok(err)
}

// attempt is a sign-in of a person that has begun.
func attempt(id, server, by string) tasks.Attempt {
	return tasks.Attempt{ConnectionID: tasks.ConnectionID{Server: server, Person: "test:" + by}, ID: id, By: "test:" + by, Task: "t", Sealed: []byte("verifier of " + id)}
}

// testAttempts: a sign-in is finished once, by its person, within some minutes, and a
// person has one at a server.
func testAttempts(b *env) {
	put := func(id, server, by string) { b.ok(b.store.PutAttempt(b.Context(), attempt(id, server, by))) }
	spend := func(id, server, by string, works bool) {
		b.Helper()
		a, err := b.store.SpendAttempt(b.Context(), id, "test:"+by)
		if !works {
			b.noConnection("finishing "+id, err)
			return
		}
		b.ok(err)
		want := attempt(id, server, by)
		want.Until = b.clock.now().Add(tasks.AttemptTime)
		b.same("sign-in", a, want)
	}
	put("one", "mail", "ann")
	put("bob's", "mail", "bob")
	put("wiki", "wiki", "ann")
	put("two", "mail", "ann")
	b.store = b.reopen()
	spend("one", "", "ann", false)
	spend("none", "", "ann", false)
	spend("two", "", "bob", false)
	spend("two", "mail", "ann", true)
	spend("two", "", "ann", false)
	spend("wiki", "wiki", "ann", true)
	b.clock.add(tasks.AttemptTime)
	d, err := b.store.Retain(b.Context(), time.Time{}, time.Time{})
	b.ok(err)
	b.same("counted", d, tasks.Deleted{})
	spend("bob's", "", "bob", false)
	put("race", "mail", "ann")
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := b.store.SpendAttempt(b.Context(), "race", "test:ann"); err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	b.same("who finished it at once", won.Load(), int32(1))
}

// testReseal: all secrets change, or none, and sign-ins that have begun end.
func testReseal(b *env) {
	var want []tasks.Connection
	for _, person := range []string{"", "ann", "bob"} {
		c := connection("mail", person)
		b.ok(b.store.PutConnection(b.Context(), c))
		c.Since = b.clock.now()
		want = append(want, c)
	}
	b.ok(b.store.PutAttempt(b.Context(), attempt("a", "mail", "ann")))
	broken := errors.New("broken")
	err := b.store.Reseal(b.Context(), func(id tasks.ConnectionID, sealed []byte) ([]byte, error) {
		if id.Person == "test:bob" {
			return nil, broken
		}
		return []byte("other"), nil
	})
	if !errors.Is(err, broken) {
		b.Fatalf("Reseal: got %v, want the error of seal", err)
	}
	b.connections("after an error", want...)
	b.ok(b.store.Reseal(b.Context(), func(id tasks.ConnectionID, sealed []byte) ([]byte, error) {
		return append(id.About(), sealed...), nil
	}))
	for i := range want {
		want[i].Sealed = append(want[i].About(), want[i].Sealed...)
	}
	b.store = b.reopen()
	b.connections("after", want...)
	_, err = b.store.SpendAttempt(b.Context(), "a", "test:ann")
	b.noConnection("finishing a sign-in from before", err)
}

// testBadConnections: connections and sign-ins without names or secrets, and long ones.
func testBadConnections(b *env) {
	long := string(make([]byte, 2000))
	for what, change := range map[string]func(*tasks.Attempt){
		"no server": func(a *tasks.Attempt) { a.Server = "" }, "a long server": func(a *tasks.Attempt) { a.Server = long },
		"a long person": func(a *tasks.Attempt) { a.Person = long }, "no asker": func(a *tasks.Attempt) { a.By = "" },
		"no secret": func(a *tasks.Attempt) { a.Sealed = nil }, "a long secret": func(a *tasks.Attempt) { a.Sealed = bytes.Repeat([]byte("x"), tasks.MaxConnection+1) },
		"no id": func(a *tasks.Attempt) { a.ID = "" },
	} {
		a := attempt("a", "mail", "ann")
		change(&a)
		if b.store.PutAttempt(b.Context(), a) == nil {
			b.Errorf("a sign-in with %s was stored", what)
		}
		if what != "no id" && b.store.PutConnection(b.Context(), tasks.Connection{ConnectionID: a.ConnectionID, By: a.By, Sealed: a.Sealed}) == nil {
			b.Errorf("a connection with %s was stored", what)
		}
	}
	c := connection("mail", "ann")
	b.ok(b.store.PutConnection(b.Context(), c))
	if b.store.RenewConnection(b.Context(), c.ConnectionID, c.Sealed, nil, nil) == nil {
		b.Error("a renewal without a secret was stored")
	}
}
