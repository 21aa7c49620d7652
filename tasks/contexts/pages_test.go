package contexts_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/tasks/contexts"
)

// TestContextPages: what a page costs is bounded, whatever a context holds and
// whatever is chosen of it.
func TestContextPages(t *testing.T) {
	w := newWorld(t, nil)
	id := w.shares().ID
	content := raw(fmt.Sprintf("%q", strings.Repeat("x", 15<<10)))
	for range 50 {
		if _, _, err := w.Add(t.Context(), agent, id, contexts.NewMessage{Type: contexts.TypeObservation, Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1050 {
		if _, err := w.Merge(t.Context(), agent, id, nil, values{"n": raw(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		types           []string
		messages, pages int
	}{{nil, 1101, 3}, {[]string{contexts.TypeObservation}, 50, 3}, {[]string{contexts.TypePlan}, 0, 2}} {
		q := contexts.ContextQuery{Types: c.types, Limit: 1000}
		pages, messages := 0, 0
		for more := true; more; pages++ {
			page, err := w.Context(t.Context(), viewer, id, q)
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for _, m := range page.Messages {
				bytes += len(m.Content)
			}
			if bytes > 600<<10 || len(page.Messages) > 1000 {
				t.Errorf("a page has %d messages of %d bytes", len(page.Messages), bytes)
			}
			messages += len(page.Messages)
			if more = page.Next != nil; more {
				if *page.Next <= q.After || *page.Next > q.After+1000 {
					t.Fatalf("after %d it goes on after %d", q.After, *page.Next)
				}
				q.After = *page.Next
			}
		}
		if messages != c.messages || pages != c.pages {
			t.Errorf("of the types %v: %d messages on %d pages, want %d on %d", c.types, messages, pages, c.messages, c.pages)
		}
	}
}
