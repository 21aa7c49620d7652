package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"legwork/tools/client"
)

// Known keeps what the servers said of their tools when each was first seen,
// so that a change is noticed across restarts too. It is safe for concurrent
// use.
type Known interface {
	// Load returns what was saved last for a server; nil when nothing was.
	Load(ctx context.Context, server string) ([]byte, error)
	Save(ctx context.Context, server string, data []byte) error
}

// Bounds on what is remembered of one server. A tool beyond the first is quarantined; of definitions beyond the second only the hashes are kept.
const (
	maxKnownTools = 4 * 1000
	maxKnownBytes = 1 << 20
	knownTimeout  = 10 * time.Second // for reading and writing them
)

// definitionLog holds servers to what they said of their tools at first sight. All
// catalogs are seen through it, so that a changed tool is quarantined from the
// moment its new definition can be seen.
type definitionLog struct {
	store      Known
	log        *slog.Logger
	generation atomic.Int64 // counts what admins agreed to: views of earlier rounds are out of date

	mu    sync.Mutex
	known map[string]serverDefinitions // by server
}

// serverDefinitions is what is known of the tools of one server, by their names. In memory
// the definitions themselves are left out.
type serverDefinitions map[string]knownDefinition

// knownDefinition is what is known of one tool.
type knownDefinition struct {
	Hash     string          `json:"hash"`               // of the definition that is agreed to
	Raw      json.RawMessage `json:"raw,omitempty"`      // that definition
	Reported string          `json:"reported,omitempty"` // hash of the last change that was reported
}

func newDefinitionLog(store Known, log *slog.Logger) *definitionLog {
	if store == nil {
		store = &memoryKnown{saved: map[string][]byte{}}
	}
	return &definitionLog{store: store, log: log, known: map[string]serverDefinitions{}}
}

// viewOf takes in the tools that are new and quarantines those that changed. The
// servers of this process are taken as they are.
func (l *definitionLog) viewOf(s *client.Server, cat *client.Catalog) *view {
	v := &view{catalog: cat, tools: map[string]*client.Definition{}, quarantined: map[string]*client.Definition{}, generation: l.generation.Load()}
	if s.Local() {
		v.tools = cat.Tools
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v.generation = l.generation.Load()
	p, err := l.load(s.Name())
	if err != nil {
		l.log.Error("what is known of a server's tools cannot be read; none of them is used", "server", s.Name(), "err", err)
		v.problem = err
		return v
	}
	fresh := serverDefinitions{}
	for name, d := range cat.Tools {
		known, seen := p[name]
		switch {
		case d.ForResources || seen && known.Hash == d.Hash:
			v.tools[name] = d
		case !seen && len(p)+len(fresh) < maxKnownTools:
			v.tools[name] = d
			fresh[name] = knownDefinition{Hash: d.Hash, Raw: d.Raw}
		default:
			v.quarantined[name] = d
		}
	}
	if len(fresh) == 0 {
		return v
	}
	if err := l.write(context.Background(), s.Name(), func(p serverDefinitions) { maps.Copy(p, fresh) }); err != nil {
		l.log.Error("new tools cannot be remembered; changes of them go unnoticed after a restart", "server", s.Name(), "err", err)
		for name, e := range fresh {
			e.Raw = nil
			p[name] = e
		}
	}
	return v
}

// load returns what is known of a server, read once. The caller holds mu.
func (l *definitionLog) load(server string) (serverDefinitions, error) {
	if p, ok := l.known[server]; ok {
		return p, nil
	}
	p, err := l.read(context.Background(), server)
	if err != nil {
		return nil, err
	}
	l.cache(server, p)
	return l.known[server], nil
}

// cache holds a page in memory, without the definitions.
func (l *definitionLog) cache(server string, p serverDefinitions) {
	short := make(serverDefinitions, len(p))
	for name, e := range p {
		e.Raw = nil
		short[name] = e
	}
	l.known[server] = short
}

// read loads a page with its definitions.
func (l *definitionLog) read(ctx context.Context, server string) (serverDefinitions, error) {
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	data, err := l.store.Load(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("loading the known tools of server %q: %w", server, err)
	}
	p := serverDefinitions{}
	if len(data) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("reading the known tools of server %q: %w", server, err)
	}
	return p, nil
}

// write changes the stored page of a server, then the one in memory. The caller
// holds mu.
func (l *definitionLog) write(ctx context.Context, server string, change func(serverDefinitions)) error {
	p, err := l.read(ctx, server)
	if err != nil {
		return err
	}
	for name, e := range l.known[server] {
		if _, stored := p[name]; !stored {
			p[name] = e // could not be saved when it was seen
		}
	}
	change(p)
	p.dropRaw()
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("writing the known tools of server %q: %w", server, err)
	}
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	if err := l.store.Save(ctx, server, data); err != nil {
		return fmt.Errorf("saving the known tools of server %q: %w", server, err)
	}
	l.cache(server, p)
	return nil
}

// dropRaw drops definitions, the last by name first, until the rest fits.
func (p serverDefinitions) dropRaw() {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(p)) {
		e := p[name]
		if size += len(e.Raw); size > maxKnownBytes {
			size -= len(e.Raw)
			e.Raw = nil
			p[name] = e
		}
	}
}

// accept takes a tool's definition as the one that it must still match.
func (l *definitionLog) accept(ctx context.Context, server, tool string, d *client.Definition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(ctx, server, func(p serverDefinitions) { p[tool] = knownDefinition{Hash: d.Hash, Raw: d.Raw} }); err != nil {
		return err
	}
	l.generation.Add(1)
	return nil
}

// accepted are the definitions that the tools of a server are held to, as far as
// they are kept.
func (l *definitionLog) accepted(ctx context.Context, server string) serverDefinitions {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.read(ctx, server)
	if err != nil {
		l.log.Error("the former definitions of tools cannot be shown", "server", server, "err", err)
	}
	return p
}

// unreported lists those of the changed tools of which nobody was told yet, but for
// those that were accepted after held was looked at. Tools that are quarantined
// because there are too many are in none of its lists.
func (l *definitionLog) unreported(server string, held map[string]*client.Definition) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if e, known := l.known[server][name]; known && e.Reported != held[name].Hash && e.Hash != held[name].Hash {
			names = append(names, name)
		}
	}
	return names
}

// markReported notes the changes, by tool and hash, that were told. When that cannot be
// saved, they are told again after a restart.
func (l *definitionLog) markReported(server string, changes map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	note := func(p serverDefinitions) {
		for tool, hash := range changes {
			if e, ok := p[tool]; ok {
				e.Reported = hash
				p[tool] = e
			}
		}
	}
	if err := l.write(context.Background(), server, note); err != nil {
		l.log.Warn("it cannot be noted that changes of tools were told", "server", server, "err", err)
		note(l.known[server])
	}
}

// memoryKnown is a Known in memory.
type memoryKnown struct {
	mu    sync.Mutex
	saved map[string][]byte
}

func (f *memoryKnown) Load(_ context.Context, server string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saved[server], nil
}

func (f *memoryKnown) Save(_ context.Context, server string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved[server] = data
	return nil
}
