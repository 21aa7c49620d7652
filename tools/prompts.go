package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/tools/client"
)

// Prompts lists the prompts of a group's servers, by server and then as the
// server has them. It waits for servers that are still starting, at most the
// group's tool timeout. It leaves out servers that are down: the error names
// them, and the prompts of the others are returned with it.
func (s *Set) Prompts(ctx context.Context, name string) ([]Prompt, error) {
	g := s.groups[name]
	if g == nil {
		return nil, s.noGroup(name)
	}
	ready, views, err := g.waitReady(ctx)
	var list []Prompt
	for i, sv := range ready {
		for _, p := range views[i].catalog.Prompts {
			p.Name = sv.Name() + "/" + p.Name
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Prompt) int {
		first, _, _ := strings.Cut(a.Name, "/")
		second, _, _ := strings.Cut(b.Name, "/")
		return cmp.Compare(first, second)
	})
	return list, err
}

// Prompt writes out the prompt "server/prompt" of a group.
func (s *Set) Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error) {
	g := s.groups[group]
	if g == nil {
		return "", s.noGroup(group)
	}
	server, prompt, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(g.servers, func(sv *member) bool { return sv.Name() == server })
	if i < 0 {
		return "", fmt.Errorf("writing the prompt %q out: the group %s has no server %q", name, group, server)
	}
	short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
	defer cancel()
	return g.servers[i].Prompt(short, prompt, arguments)
}

// maxPromptText bounds the text of a prompt that is part of a group's instructions.
const maxPromptText = 16 << 10

// promptTexts are the texts of the prompts that are part of groups' instructions,
// by "server/prompt".
type promptTexts struct {
	mu      sync.Mutex
	known   map[string]promptText
	changed chan struct{} // closed when a prompt was read
}

func newPromptTexts() *promptTexts {
	return &promptTexts{known: map[string]promptText{}, changed: make(chan struct{})}
}

type promptText struct {
	catalog *client.Catalog // the catalog that it was read for; nil: it must be read
	busy    bool            // it is being read
	text    string
}

// text is the text that was read last; empty: none was.
func (k *promptTexts) text(name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[name].text
}

// await waits until a prompt was read once, or could not be.
func (k *promptTexts) await(ctx context.Context, name string) {
	for {
		k.mu.Lock()
		read, moved := k.known[name].catalog != nil, k.changed
		k.mu.Unlock()
		if read {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// claim reports whether the caller must read a prompt for a catalog.
func (k *promptTexts) claim(name string, cat *client.Catalog) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.known[name]
	if cat == nil || s.busy || s.catalog == cat {
		return false
	}
	s.busy = true
	k.known[name] = s
	return true
}

// put stores the result of a reading; on an error the earlier text stays.
func (k *promptTexts) put(name string, cat *client.Catalog, text string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := promptText{catalog: cat, text: text}
	if err != nil {
		s.text = k.known[name].text
	}
	k.known[name] = s
	close(k.changed)
	k.changed = make(chan struct{})
}

// readPrompts reads the prompts of a set's groups whose servers have a new
// catalog, each in a goroutine of running.
func (m *Manager) readPrompts(ctx context.Context, set *Set, running *sync.WaitGroup) {
	for _, g := range set.groups {
		name := g.cfg.Prompt
		server, prompt, _ := strings.Cut(name, "/")
		s := set.servers[server]
		if name == "" || s == nil {
			continue
		}
		cat := s.Catalog()
		if !m.prompts.claim(name, cat) {
			continue
		}
		running.Go(func() {
			text, err := s.Prompt(ctx, prompt, nil)
			if ctx.Err() != nil {
				cat, err = nil, ctx.Err() // read it again later
			}
			short := clip.Bytes(bot.Visible(text), maxPromptText)
			m.prompts.put(name, cat, short, err)
			if err != nil && !errors.Is(err, context.Canceled) {
				m.o.Log.Warn("group prompt not read", "group", g.name, "prompt", name, "cause", err)
			}
			m.onCatalog() // the server may have a new catalog by now
		})
	}
}

// instructions are those of the config, the text of the prompt, and a note on
// quarantined tools.
func (g *group) instructions(k *promptTexts) string {
	parts := []string{g.cfg.Instructions, "", g.quarantineNote()}
	if g.cfg.Prompt != "" {
		parts[1] = strings.Trim(k.text(g.cfg.Prompt), "\n")
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
}

// awaitPrompt waits, at most the tool timeout, until the prompt in the group's
// instructions was read, if its server is ready: the caller is about to use the
// group by these instructions.
func (g *group) awaitPrompt(ctx context.Context, k *promptTexts, ready []*member) {
	server, _, _ := strings.Cut(g.cfg.Prompt, "/")
	if !slices.ContainsFunc(ready, func(s *member) bool { return s.Name() == server }) {
		return
	}
	short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
	defer cancel()
	k.await(short, g.cfg.Prompt)
}
