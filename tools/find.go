package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"legwork/internal/search"
	"legwork/tools/client"
)

// maxFound is how many tools a search returns.
const maxFound = 8

// searchIndex finds the tools of a group while its servers offer what they did when
// it was made.
type searchIndex struct {
	views []*view
	words *search.Index
}

// Find returns the tools of a group for a person, as "server.tool", that a description in
// plain words fits best, the best first, at most eight. It waits for servers
// like Tools. What it looks at are names, titles, descriptions and the names of
// parameters.
func (s *Set) Find(ctx context.Context, name, person, query string) ([]string, error) {
	g, err := s.group(name, person)
	if err != nil {
		return nil, err
	}
	ready, views, err := g.waitReady(ctx)
	if len(ready) == 0 && err != nil {
		return nil, err
	}
	x := g.index.Load()
	if x == nil || !slices.Equal(x.views, views) {
		x = &searchIndex{views, g.indexed(ready, views)}
		g.index.Store(x)
	}
	var names []string
	for _, hit := range x.words.Search(query, maxFound) {
		names = append(names, hit.ID)
	}
	return names, nil
}

func (g *group) indexed(servers []*member, views []*view) *search.Index {
	var docs []search.Doc
	for i, s := range servers {
		for _, tool := range slices.Sorted(maps.Keys(views[i].tools)) {
			if g.has(s, tool) {
				docs = append(docs, search.Doc{ID: s.full(tool), Text: searched(views[i].tools[tool])})
			}
		}
	}
	return search.New(docs)
}

// searched is what a tool is found by.
func searched(d *client.Definition) string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(d.InputSchema, &schema) // without names of parameters it is found by the rest
	parameters := slices.Sorted(maps.Keys(schema.Properties))
	return strings.Join([]string{d.Name, cmp.Or(d.Title, d.Annotations.Title), d.Description, strings.Join(parameters, " ")}, "\n")
}

// waitReady waits for the group's servers, at most its tool timeout. It returns
// those that are ready with what they offer; the error names the others. When
// ctx ends first, nothing is returned but its error.
func (g *group) waitReady(ctx context.Context) (ready []*member, views []*view, err error) {
	wait, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
	defer cancel()
	var errs []error
	for _, s := range g.servers {
		if err := s.WaitReady(wait); err != nil {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			errs = append(errs, err)
			continue
		}
		v := s.view()
		if v.problem != nil {
			errs = append(errs, v.problem)
			continue
		}
		ready, views = append(ready, s), append(views, v)
	}
	return ready, views, errors.Join(errs...)
}
