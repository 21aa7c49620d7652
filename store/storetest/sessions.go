package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// chatPerson is a person at the page.
func chatPerson(id string) tasks.ChatPerson {
	return tasks.ChatPerson{Person: bot.Person{Platform: "test", ID: id, Name: "N"}, Chat: chat(id), Team: "T", External: true}
}

// noSession expects ErrNoSession.
func (b *env) noSession(what string, err error) {
	b.Helper()
	if !errors.Is(err, tasks.ErrNoSession) {
		b.Errorf("%s: got %v, want ErrNoSession", what, err)
	}
}

// session expects a session, or none for a zero one.
func (b *env) session(id string, want tasks.Session) {
	b.Helper()
	got, err := b.store.Session(b.Context(), id)
	if want.ID == "" {
		b.noSession("reading session "+id, err)
		return
	}
	b.ok(err)
	b.same("session "+id, got, want)
}

func (b *env) sessions(person string, want ...string) {
	b.Helper()
	list, err := b.store.Sessions(b.Context(), person)
	b.ok(err)
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	b.same("sessions of "+person, ids, want)
}

func testSessions(b *env) {
	now := b.clock.now()
	one := tasks.Session{ID: "one", ChatPerson: chatPerson("ann"), Token: "ops", TokenHash: "00", Issuer: "https://login.example.com", Claims: []string{"group:ops"}, Addr: "10.0.0.1", Agent: "Browser"}
	b.ok(b.store.PutSession(b.Context(), one))
	one.Made, one.Used = now, now
	b.session("one", one)
	b.session("two", tasks.Session{})
	b.clock.add(time.Hour)
	b.ok(b.store.PutSession(b.Context(), tasks.Session{ID: "two", ChatPerson: chatPerson("ann")}))
	b.ok(b.store.PutSession(b.Context(), tasks.Session{ID: "bob's", ChatPerson: chatPerson("bob")}))
	b.ok(b.store.UseSession(b.Context(), "one"))
	one.Used = b.clock.now()
	b.store = b.reopen()
	b.session("one", one)
	b.sessions("test:ann", "two", "one")
	b.sessions("test:eve")
	b.ok(b.store.DropSession(b.Context(), "two"))
	b.noSession("ending it again", b.store.DropSession(b.Context(), "two"))
	b.noSession("using it", b.store.UseSession(b.Context(), "two"))
	b.session("two", tasks.Session{})
	b.sessions("", "bob's", "one")
	_, err := b.store.Erase(b.Context(), "test:ann")
	b.ok(err)
	b.sessions("", "bob's")
}

// testSessionTimes: a session ends without use, and after a week.
func testSessionTimes(b *env) {
	put := func(id string) { b.ok(b.store.PutSession(b.Context(), tasks.Session{ID: id, ChatPerson: chatPerson("ann")})) }
	put("idle")
	put("used")
	b.clock.add(tasks.SessionIdle - time.Second)
	b.ok(b.store.UseSession(b.Context(), "used"))
	b.clock.add(time.Second)
	b.session("idle", tasks.Session{})
	b.sessions("", "used")
	b.noSession("using it", b.store.UseSession(b.Context(), "idle"))
	for range int(tasks.SessionTime / tasks.SessionIdle * 2) {
		if b.store.UseSession(b.Context(), "used") != nil {
			break
		}
		b.clock.add(tasks.SessionIdle / 2)
	}
	b.session("used", tasks.Session{})
	var want []string
	for i := range tasks.MaxSessions + 5 { // the oldest make room
		b.clock.add(time.Second)
		id := fmt.Sprintf("s%d", i)
		put(id)
		if i >= 5 {
			want = append([]string{id}, want...)
		}
	}
	b.sessions("", want...)
}

// testLinks: a link works once, for some minutes, and a person has one.
func testLinks(b *env) {
	put := func(id, person string) {
		b.ok(b.store.PutLink(b.Context(), tasks.SignInLink{ID: id, ChatPerson: chatPerson(person)}))
	}
	spend := func(id string, works bool) {
		b.Helper()
		l, err := b.store.SpendLink(b.Context(), id)
		if !works {
			b.noSession("spending "+id, err)
			return
		}
		b.ok(err)
		b.same("link", l.ChatPerson, chatPerson("ann"))
	}
	put("one", "ann")
	put("bob's", "bob")
	put("two", "ann")
	b.store = b.reopen()
	spend("one", false)
	spend("none", false)
	spend("two", true)
	spend("two", false)
	b.clock.add(tasks.LinkTime)
	spend("bob's", false)
	put("race", "ann")
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := b.store.SpendLink(b.Context(), "race"); err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	b.same("who spent it at once", won.Load(), int32(1))
}

// testBadSessions: sessions and links without names, and with long ones.
func testBadSessions(b *env) {
	for _, id := range []string{"", string(make([]byte, 2000))} {
		if b.store.PutSession(b.Context(), tasks.Session{ID: id}) == nil || b.store.PutLink(b.Context(), tasks.SignInLink{ID: id}) == nil {
			b.Errorf("an id of %d bytes was stored", len(id))
		}
	}
}
