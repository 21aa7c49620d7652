package alerts_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/fakes/webhookfake"
	"legwork/tasks/alerts"
)

// raises queues that many alerts for the webhooks.
func (e *env) raises(n int) {
	for i := range n {
		e.alerts.Raise(e.Context(), alerts.ReloadFailed, fmt.Sprintf("number %d", i), "", "")
	}
}

// summaries are what requests tell, in order.
func summaries(list []webhookfake.Request) (all []string) {
	for _, q := range list {
		_, rest, _ := strings.Cut(string(q.Body), `"summary":"`)
		text, _, _ := strings.Cut(rest, `"`)
		all = append(all, text)
	}
	return all
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("number %d", i))
	}
	return all
}

// TestAway: a receiver that is unreachable, hangs or asks for a pause gets all
// deliveries later, in order, each once, and one request at a time.
func TestAway(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]webhookfake.Reply{
		"503":        {Status: http.StatusServiceUnavailable},
		"429":        {Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "0"}},
		"hangs":      {Hang: true},
		"a long one": {Status: http.StatusBadGateway, Body: make([]byte, 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := webhookfake.New(t, "", secret)
			var well atomic.Bool
			r.Answers(func(int, webhookfake.Request) webhookfake.Reply {
				if !well.Load() {
					return bad
				}
				return webhookfake.Reply{}
			})
			e := newEnv(t, hook(r))
			if bad.Hang {
				e.restarts(func() { e.options.Timing.Request = time.Second })
			}
			e.raises(5)
			r.Until("it came a few times", func(list []webhookfake.Request) bool { return len(list) >= 4 })
			e.restarts(func() {
				well.Store(true)
				e.options.Timing.Request = time.Hour // what the receiver takes is not cut off
			})
			r.Until("all were taken", func([]webhookfake.Request) bool { return len(r.Taken()) == 5 })
			if got := summaries(r.Taken()); !slices.Equal(got, numbers(5)) {
				t.Errorf("taken in the order %v", got)
			}
			for _, q := range r.Requests()[:4] {
				if q.ID != r.Requests()[0].ID {
					t.Errorf("before the first was taken another one came: %s", webhookfake.Show(r.Requests()))
				}
			}
			if r.MostAtOnce() != 1 {
				t.Errorf("%d requests were under way at once, want 1", r.MostAtOnce())
			}
			e.until("nothing is left", e.nothingLeft)
		})
	}
}

// TestDown: the receiver is down for a while.
func TestDown(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	config, address := hook(r), strings.TrimSuffix(strings.TrimPrefix(r.URL, "http://"), "/hook")
	r.Close()
	e := newEnv(t, config)
	e.raises(3)
	e.until("the log says so", func() bool { return strings.Contains(e.log.String(), "delivery failed") })
	e.restarts(func() {})
	back := webhookfake.New(t, address, secret)
	back.Until("all were taken", func([]webhookfake.Request) bool { return len(back.Taken()) == 3 })
	if got := summaries(back.Taken()); !slices.Equal(got, numbers(3)) {
		t.Errorf("taken in the order %v", got)
	}
	if strings.Contains(e.log.String(), "/hook") {
		t.Errorf("the log holds the address:\n%s", e.log)
	}
}

// TestPoison: a request that is refused again and again does not delay others.
func TestPoison(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	var others atomic.Int64
	r.Answers(func(_ int, q webhookfake.Request) webhookfake.Reply {
		if !strings.Contains(string(q.Body), "number 0") {
			others.Add(1)
		} else if others.Load() < 5 {
			return webhookfake.Reply{Status: http.StatusInternalServerError}
		}
		return webhookfake.Reply{}
	})
	e := newEnv(t, hook(r))
	e.raises(6)
	r.Until("all were taken", func([]webhookfake.Request) bool { return len(r.Taken()) == 6 })
	if got := summaries(r.Taken()); !slices.Equal(got[:5], numbers(6)[1:]) || got[5] != "number 0" {
		t.Errorf("taken in the order %v, want what is refused at the end", got)
	}
}

// TestOneDownOneUp: a receiver that hangs does not delay another one.
func TestOneDownOneUp(t *testing.T) {
	t.Parallel()
	hangs, works := webhookfake.New(t, "", secret), webhookfake.New(t, "", "another secret of 24 characters")
	hangs.Answers(func(int, webhookfake.Request) webhookfake.Reply { return webhookfake.Reply{Hang: true} })
	c := hook(hangs)
	c.Webhooks["works"] = alerts.Webhook{URL: works.URL, Secret: "another secret of 24 characters"}
	e := newEnv(t, c)
	e.restarts(func() { e.options.Timing.Request = time.Second })
	e.raises(150) // more than are read at once
	works.Until("all were taken", func([]webhookfake.Request) bool { return len(slices.Compact(summaries(works.Taken()))) == 150 })
	if len(hangs.Taken()) != 0 || !slices.Equal(slices.Compact(summaries(works.Taken())), numbers(150)) {
		t.Errorf("the other one took %d; this one in the order %v", len(hangs.Taken()), summaries(works.Taken()))
	}
}

// TestGone: 410 ends a delivery, and the admins are notified once.
func TestGone(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	r.Answers(func(int, webhookfake.Request) webhookfake.Reply { return webhookfake.Reply{Status: http.StatusGone} })
	e := newEnv(t, hook(r))
	e.raises(3)
	e.until("the admins were told", func() bool { return len(e.read()) > 0 })
	e.until("nothing is left", e.nothingLeft)
	if n := len(r.Requests()); n != 3 {
		t.Errorf("%d requests were made for 3 deliveries", n)
	}
	if got := e.read(); len(got) != 1 || got[0].Key != "alert.webhook_failed" || got[0].Data["Name"] != "ops" {
		t.Errorf("the admins read %+v, want once that the webhook takes nothing", got)
	}
}

// TestGivenUp: after a day of tries a delivery is given up, and the admins are
// notified.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	r.Answers(func(int, webhookfake.Request) webhookfake.Reply {
		return webhookfake.Reply{Status: http.StatusFound, Header: map[string]string{"Location": "/elsewhere"}}
	})
	e := newEnv(t, hook(r))
	e.stop()
	e.options.Timing.GiveUp = 300 * time.Millisecond
	e.begin()
	e.raises(1)
	e.until("the admins were told", func() bool { return len(e.read()) == 1 })
	e.until("nothing is left", e.nothingLeft)
	if n := len(r.Requests()); n < 6 {
		t.Errorf("given up after %d requests, want some more", n)
	}
	if !strings.Contains(e.log.String(), "redirects are not followed") {
		t.Errorf("the log does not say what is wrong:\n%s", e.log)
	}
}

// TestRetryAfter: a receiver is left alone for as long as it asks.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]func() string{
		"seconds": func() string { return "1" },
		"a date":  func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := webhookfake.New(t, "", secret)
			r.Answers(func(n int, _ webhookfake.Request) webhookfake.Reply {
				if n == 1 {
					return webhookfake.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": header()}}
				}
				return webhookfake.Reply{}
			})
			e := newEnv(t, hook(r))
			e.raises(2)
			r.Until("both were taken", func([]webhookfake.Request) bool { return len(r.Taken()) == 2 })
			list := r.Requests()
			if waited := list[1].At.Sub(list[0].At); waited < 900*time.Millisecond {
				t.Errorf("it was asked again after %v, want a second at least", waited)
			}
		})
	}
}

// TestLives: over many restarts and with an unreliable receiver no delivery is
// lost, and a repeated delivery has the same id.
func TestLives(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	r.Answers(func(n int, _ webhookfake.Request) webhookfake.Reply {
		switch n % 5 {
		case 0:
			return webhookfake.Reply{Status: http.StatusInternalServerError}
		case 3:
			return webhookfake.Reply{Status: http.StatusServiceUnavailable}
		}
		return webhookfake.Reply{}
	})
	e := newEnv(t, hook(r))
	want := map[string]bool{}
	for life := range 6 {
		for i := range 4 {
			want[string(e.fails(fmt.Sprintf("%d in life %d", i, life), nil))] = true
		}
		e.restarts(func() {})
	}
	taken := func() map[string]string {
		ids := map[string]string{}
		for _, q := range r.Taken() {
			if was, again := ids[q.Task()]; again && was != q.ID {
				t.Errorf("task %s was told as %s and as %s", q.Task(), was, q.ID)
			}
			ids[q.Task()] = q.ID
		}
		return ids
	}
	r.Until("all were told", func([]webhookfake.Request) bool { return len(taken()) == len(want) })
	for id := range taken() {
		if !want[id] {
			t.Errorf("task %q was told, which did not fail", id)
		}
	}
	e.until("the admins read of all", func() bool { return len(e.read()) >= len(want) })
	e.until("nothing is left", e.nothingLeft)
	if n := len(e.read()); n > len(want)+6 {
		t.Errorf("the admins read %d things of %d: more than one again for each life", n, len(want))
	}
}

// TestSecretChanged: a reload signs with the new secret at once.
func TestSecretChanged(t *testing.T) {
	t.Parallel()
	first, second := webhookfake.New(t, "", secret), webhookfake.New(t, "", strings.Repeat("new", 10))
	e := newEnv(t, hook(first))
	e.raises(1)
	first.Until("the first was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	e.alerts.Use(alerts.Config{Webhooks: map[string]alerts.Webhook{"ops": {URL: second.URL, Secret: strings.Repeat("new", 10)}}})
	e.raises(1)
	second.Until("the other was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	if len(first.Requests()) != 1 {
		t.Errorf("the first one heard of it, too: %s", webhookfake.Show(first.Requests()))
	}
	if got := e.alerts.Webhooks(); !slices.Equal(got, []string{"ops"}) {
		t.Errorf("Webhooks = %v", got)
	}
}
