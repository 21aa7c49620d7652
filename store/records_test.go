package store

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// FuzzListing: no stored row of a list ends the process, and what is read is what
// was written.
func FuzzListing(f *testing.F) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC)
	for _, l := range []listing{
		{},
		{asked: 7, webhook: "ops", Row: tasks.Row{
			Chat: bot.Chat{Platform: "slack", ID: "C1", Thread: "7", Private: true}, From: bot.Person{Platform: "slack", ID: "U1", Name: "Ann"},
			Goal: "größe", Status: "waiting", Round: 3, Opened: at, Changed: at.Add(time.Hour), Waits: true, Since: at, External: true, Groups: []string{"math", "web"},
		}},
	} {
		body, err := encodeListing(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := decodeListing([]byte("t"), body)
		if err != nil {
			return
		}
		stored, err := encodeListing(l)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeListing([]byte("t"), stored); err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("read again: got %+v, %v, want %+v", again, err, l)
		}
	})
}

// FuzzFeed: no record of the feed ends the process.
func FuzzFeed(f *testing.F) {
	f.Add([]byte{1, 1, 't', 1})
	f.Add([]byte{0})
	f.Add([]byte{255, 255, 3})
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := decodeFeed(numberKey(7), body)
		for i, e := range list {
			if err == nil && (e.Cursor != uint64(7+i) || !bytes.Contains(body, []byte(e.Task))) {
				t.Errorf("entry %d of %q: %+v", i, body, e)
			}
		}
	})
}

// TestCacheBounded: tasks that agents make as large as they may do not fill the
// memory; the ones used last stay in the cache.
func TestCacheBounded(t *testing.T) {
	c := newCache()
	large := planner.State{Seq: 1, Phase: planner.PhaseShared, Changes: make([]int, 1000), Shared: map[string]planner.Value{}}
	for n := range 100 {
		large.Shared[fmt.Sprint(n, strings.Repeat("k", 250))] = planner.Value{}
	}
	const all = 2000
	var e effects
	for n := range all {
		c.keep(tasks.ID(fmt.Sprint(n)), large)
		c.keep("small", planner.State{Seq: n + 1, Phase: planner.PhaseShared})
		e.deleted = append(e.deleted, tasks.ID(fmt.Sprint(n)))
	}
	if n := c.live.Len(); n < 100 || n > all/2 || c.size > cachedBytes {
		t.Errorf("the cache holds %d tasks of %d bytes", n, c.size)
	}
	if s, ok := c.state("small"); !ok || s.Seq != all {
		t.Errorf("a small one that is used all the time: got seq %d, %v", s.Seq, ok)
	}
	c.publish(&e)
	c.keep("small", planner.State{Seq: all + 1, Phase: planner.PhaseOver})
	if c.size != 0 || c.live.Len() != 0 {
		t.Errorf("the cache is empty, and weighs %d bytes", c.size)
	}
}

// TestNewestStateIsKept: a reader that folded an older journal replaces no newer
// state, and brings no deleted task back.
func TestNewestStateIsKept(t *testing.T) {
	c := newCache()
	mark := c.mark()
	c.publish(&effects{folded: []foldedState{{"t", planner.State{Seq: 3}}}})
	c.keepSince(mark, "t", planner.State{Seq: 2})
	if s, _ := c.state("t"); s.Seq != 3 {
		t.Errorf("the cache holds seq %d, want 3", s.Seq)
	}
	c.publish(&effects{deleted: []tasks.ID{"t"}})
	c.keepSince(mark, "t", planner.State{Seq: 2})
	if s, ok := c.state("t"); ok {
		t.Errorf("a deleted task came back with seq %d", s.Seq)
	}
}

// TestSpentOfEarlierVersions: a row without a group, or that ends before pictures, audio
// and speech, is read.
func TestSpentOfEarlierVersions(t *testing.T) {
	t.Parallel()
	want := tasks.Spent{Day: "2026-11-20", User: "u", Chat: "c", Model: "m", Group: "g", Calls: 2, Usage: llm.Usage{Input: 300, CachedInput: 7, Output: 5, Cost: 400, Unpriced: true}}
	body, err := encodeSpent(want)
	if err != nil {
		t.Fatal(err)
	}
	key := spentKeyBytes(spentKey{want.Day, want.User, want.Chat, want.Model, want.Group})
	for _, row := range [][]byte{body, body[:len(body)-3]} {
		if got, err := decodeSpent(key, row); err != nil || got != want {
			t.Errorf("read %+v, %v; want %+v", got, err, want)
		}
	}
	want.Group = "" // keys of earlier versions have no group
	if got, err := decodeSpent(orderedKey(want.Day, want.User, want.Chat, want.Model), body); err != nil || got != want {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	if _, err := decodeSpent(key, body[:len(body)-1]); err == nil {
		t.Error("a row that is cut off was read")
	}
}
