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

// Known stores the definitions that servers gave when their tools were first
// seen, so that a change is noticed across restarts too. It is safe for
// concurrent use.
type Known interface {
	// Load returns what was saved last for a server; nil when nothing was saved.
	Load(ctx context.Context, server string) ([]byte, error)
	Save(ctx context.Context, server string, data []byte) error
}

// Bounds on what the log keeps of one server. More tools than maxKnownTools are
// quarantined. Of definitions beyond maxKnownBytes the log keeps only the hashes.
const (
	maxKnownTools = 4 * 1000
	maxKnownBytes = 1 << 20
	knownTimeout  = 10 * time.Second // for loading and saving
)

// definitionLog remembers the accepted definition of every tool: the first one
// that was seen, or the last one that an admin accepted. Every catalog passes
// through it, so a changed tool is quarantined as soon as its new definition can
// be seen.
type definitionLog struct {
	store      Known
	log        *slog.Logger
	generation atomic.Int64 // counts the changes that admins accepted: a view of an earlier generation is stale

	mu    sync.Mutex
	known map[string]serverDefinitions // by server
}

// serverDefinitions are the known tools of one server, by their names.
type serverDefinitions map[string]knownDefinition

// knownDefinition is the accepted definition of one tool.
type knownDefinition struct {
	Hash     string          `json:"hash"`
	Raw      json.RawMessage `json:"raw,omitempty"`
	Reported string          `json:"reported,omitempty"` // hash of the last change that was reported
}

func newDefinitionLog(store Known, log *slog.Logger) *definitionLog {
	if store == nil {
		store = NewMemoryKnown(map[string][]byte{})
	}
	return &definitionLog{store: store, log: log, known: map[string]serverDefinitions{}}
}

// viewOf accepts the tools that are new, or quarantines them too when holdNew is set,
// and quarantines those that changed. It accepts every tool of a server in this process.
func (l *definitionLog) viewOf(s *client.Server, cat *client.Catalog, holdNew bool) *view {
	v := &view{
		catalog: cat, tools: map[string]*client.Definition{}, quarantined: map[string]*client.Definition{}, fresh: map[string]bool{}, generation: l.generation.Load(),
	}
	if s.Local() {
		v.tools = cat.Tools
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v.generation = l.generation.Load()
	known, err := l.load(s.Name())
	if err != nil {
		l.log.Error("known tools unreadable: the server is not used", "server", s.Name(), "cause", err)
		v.problem = err
		return v
	}
	fresh := serverDefinitions{}
	for name, d := range cat.Tools {
		accepted, seen := known[name]
		switch {
		case !seen && holdNew:
			v.quarantined[name], v.fresh[name] = d, true
		case d.ForResources || seen && accepted.Hash == d.Hash:
			v.tools[name] = d
		case !seen && len(known)+len(fresh) < maxKnownTools:
			v.tools[name] = d
			fresh[name] = knownDefinition{Hash: d.Hash, Raw: d.Raw}
		default:
			v.quarantined[name] = d
		}
	}
	if len(v.fresh) > 0 {
		l.log.Info("new tools wait for an admin", "server", s.Name(), "tools", len(v.fresh))
	}
	if len(fresh) == 0 {
		return v
	}
	if err := l.change(context.Background(), s.Name(), func(p serverDefinitions) { maps.Copy(p, fresh) }); err != nil {
		l.log.Error("new tools not saved: a change is not noticed after a restart", "server", s.Name(), "cause", err)
		maps.Copy(known, fresh)
	}
	return v
}

// load returns the known tools of a server, which it reads from the store once.
// The caller holds mu.
func (l *definitionLog) load(server string) (serverDefinitions, error) {
	if p, ok := l.known[server]; ok {
		return p, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), knownTimeout)
	defer cancel()
	data, err := l.store.Load(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("loading the known tools of server %q: %w", server, err)
	}
	p := serverDefinitions{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("reading the known tools of server %q: %w", server, err)
		}
	}
	l.known[server] = p
	return p, nil
}

// change saves a changed copy of the known tools of a server, and then uses it.
// The caller holds mu.
func (l *definitionLog) change(ctx context.Context, server string, change func(serverDefinitions)) error {
	known, err := l.load(server)
	if err != nil {
		return err
	}
	p := maps.Clone(known)
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
	l.known[server] = p
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

// accept makes d the accepted definition of a tool.
func (l *definitionLog) accept(ctx context.Context, server, tool string, d *client.Definition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.change(ctx, server, func(p serverDefinitions) { p[tool] = knownDefinition{Hash: d.Hash, Raw: d.Raw} }); err != nil {
		return err
	}
	l.generation.Add(1)
	return nil
}

// accepted is the accepted definition of a tool; nil when the log keeps only its
// hash.
func (l *definitionLog) accepted(server, tool string) json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[server][tool].Raw
}

// unreported lists the quarantined tools whose change was not reported yet. It
// leaves out tools that were accepted after the caller read quarantined, tools that
// are quarantined because the server has too many, and new ones: lists of tools show
// them, and a server that was just added has many.
func (l *definitionLog) unreported(server string, quarantined map[string]*client.Definition) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(quarantined)) {
		hash := quarantined[name].Hash
		if e, known := l.known[server][name]; known && e.Reported != hash && e.Hash != hash {
			names = append(names, name)
		}
	}
	return names
}

// markReported notes the changes, by tool and hash, that were reported. When it
// cannot save that, they are reported again after a restart.
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
	if err := l.change(context.Background(), server, note); err != nil {
		l.log.Warn("reported changes not saved", "server", server, "cause", err)
		note(l.known[server])
	}
}

// MemoryKnown is a Known in memory.
type MemoryKnown struct {
	mu    sync.Mutex
	pages map[string][]byte // by server
}

// NewMemoryKnown makes one that begins with some pages. It takes the map over.
func NewMemoryKnown(pages map[string][]byte) *MemoryKnown { return &MemoryKnown{pages: pages} }

// Load implements Known.
func (k *MemoryKnown) Load(_ context.Context, server string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pages[server], nil
}

// Save implements Known.
func (k *MemoryKnown) Save(_ context.Context, server string, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages[server] = data
	return nil
}
