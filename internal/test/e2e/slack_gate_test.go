package e2e_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

// gate is a model that thinks of a sub-task whose description holds a word
// until it is opened.
type gate struct {
	t       *testing.T
	word    string
	next    *gate // of another word; nil: there is none
	open    chan struct{}
	once    sync.Once
	mu      sync.Mutex
	arrived chan struct{} // closed and replaced when a request has come to it
	waiting int           // that have come to it
}

// newGate makes one for the word "held".
func newGate(t *testing.T) *gate {
	return &gate{t: t, word: "held", open: make(chan struct{}), arrived: make(chan struct{})}
}

func (g *gate) think(r llmfake.Request) llmfake.Response {
	task, working := r.Tagged("task")
	if _, told := toolResult(r); working && !told && strings.Contains(task, g.word) {
		g.mu.Lock()
		g.waiting++
		close(g.arrived)
		g.arrived = make(chan struct{})
		g.mu.Unlock()
		<-g.open
	}
	if g.next != nil {
		return g.next.think(r)
	}
	return llmfake.Brain{}.Respond(r)
}

// before puts a gate for another word behind this one.
func (g *gate) before(word string) *gate {
	g.next = newGate(g.t)
	g.next.word = word
	return g.next
}

// opens lets everybody through, now and later.
func (g *gate) opens() { g.once.Do(func() { close(g.open) }) }

// opensAll opens those behind it as well.
func (g *gate) opensAll() {
	for ; g != nil; g = g.next {
		g.opens()
	}
}

// reached waits until somebody has come to it.
func (g *gate) reached() { g.reachedBy(1) }

// reachedBy waits until n requests have come to it.
func (g *gate) reachedBy(n int) {
	g.t.Helper()
	late := time.After(patience)
	for {
		g.mu.Lock()
		waiting, arrived := g.waiting, g.arrived
		g.mu.Unlock()
		if waiting >= n {
			return
		}
		select {
		case <-arrived:
		case <-late:
			g.t.Fatalf("%d requests came to the gate in %v, want %d", waiting, patience, n)
		}
	}
}
