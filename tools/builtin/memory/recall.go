package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/search"
	"legwork/tools/builtin/caller"
)

const (
	maxRecalled     = 50       // notes of one answer
	defaultRecalled = 10       // likewise, when the caller does not say
	maxAnswer       = 48 << 10 // bytes of one answer
)

func (m *memory) recall(who caller.Caller, r mcp.CallToolRequest) (string, error) {
	notes, broken, err := m.visible(who, r.GetString("scope", ""))
	if err != nil {
		return "", err
	}
	query, all := r.GetString("query", ""), len(notes)
	if strings.TrimSpace(query) != "" {
		notes = find(notes, query)
	} else {
		slices.SortStableFunc(notes, func(a, b note) int { return b.At.Compare(a.At) })
	}
	var lines []string
	switch {
	case all == 0:
		lines = []string{"Nothing is remembered yet."}
	case len(notes) == 0:
		lines = []string{fmt.Sprintf("None of the %d notes matches. Try other words, or recall without a query for the latest ones.", all)}
	}
	size, limit := 0, r.GetInt("limit", defaultRecalled)
	for i, n := range notes {
		if i == limit || size > maxAnswer {
			lines = append(lines, fmt.Sprintf("[%d more; recall with a query or a larger limit.]", len(notes)-i))
			break
		}
		line := n.line()
		size += len(line)
		lines = append(lines, line)
	}
	if broken > 0 {
		lines = append(lines, fmt.Sprintf("[%d damaged notes are left out; tell the person that an administrator has to look at %s.]", broken, FileName))
	}
	return strings.Join(lines, "\n"), nil
}

// visible are the notes that a caller may see; scope is empty for both. broken
// counts those that cannot be read.
func (m *memory) visible(who caller.Caller, scope string) (notes []note, broken int, err error) {
	err = m.file.read(func(p *noteTx) error {
		for _, s := range []string{ofPerson, ofChat} {
			if scope == "" || scope == s {
				notes = append(notes, p.notes(s, who)...)
			}
		}
		broken = p.damaged
		return nil
	})
	return notes, broken, err
}

// find returns the notes that match, best first, and of equal ones the latest.
func find(notes []note, query string) []note {
	slices.SortStableFunc(notes, func(a, b note) int { return b.At.Compare(a.At) })
	docs, byName := make([]search.Doc, len(notes)), map[string]note{}
	for i, n := range notes {
		docs[i] = search.Doc{ID: n.name(), Text: n.Text + " " + strings.Join(n.About, " ")}
		byName[n.name()] = n
	}
	var found []note
	for _, hit := range search.New(docs).Search(query, 0) {
		found = append(found, byName[hit.ID])
	}
	return found
}

func (m *memory) forget(who caller.Caller, r mcp.CallToolRequest) (string, error) {
	id, query, everything := r.GetString("id", ""), strings.TrimSpace(r.GetString("query", "")), r.GetBool("everything", false)
	given := 0
	for _, is := range []bool{id != "", query != "", everything} {
		if is {
			given++
		}
	}
	if given != 1 {
		return "", errors.New("give one of id, query and everything")
	}
	if query != "" {
		notes, _, err := m.visible(who, r.GetString("scope", ofPerson))
		if err != nil {
			return "", err
		}
		if id, err = singleNote(find(notes, query)); err != nil || id == "" {
			return "There was nothing to forget.", err
		}
	}
	var gone []note
	err := m.file.write(func(p *noteTx) error {
		gone = nil
		scopes := []string{r.GetString("scope", ofPerson)}
		if id != "" {
			scopes = []string{ofPerson, ofChat}
		}
		for _, scope := range scopes {
			for _, n := range p.notes(scope, who) {
				if !everything && n.name() != id {
					continue
				}
				if err := p.remove(n, who); err != nil {
					return err
				}
				gone = append(gone, n)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case everything:
		return fmt.Sprintf("Forgot %d notes.", len(gone)), nil
	case len(gone) == 0:
		return "", fmt.Errorf("there is no note %q; recall the notes to see their ids", id)
	}
	return "Forgot: " + gone[0].line(), nil
}

// singleNote is the id of what was found. It refuses to choose among several.
func singleNote(found []note) (id string, err error) {
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].name(), nil
	}
	lines := []string{"several notes match and none was deleted; call forget with the id of each that is meant:"}
	for _, n := range found[:min(len(found), defaultRecalled)] {
		lines = append(lines, n.line())
	}
	return "", errors.New(strings.Join(lines, "\n"))
}
