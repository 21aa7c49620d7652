// Package search finds short texts by words, best match first: notes,
// descriptions of tools. English and Russian words are found in any of their
// forms, scripts without spaces by pairs of neighbouring characters, and
// identifiers by their parts, so that "issue comment" finds
// "get_issue_comments". An index lives in memory and is never changed.
package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	segment "github.com/blugelabs/bluge_segment_api"
	"github.com/blugelabs/ice"
)

// Doc is a text that can be found. Only Text is searched: put a name that
// people may ask for into it.
type Doc struct {
	ID   string
	Text string
}

// Hit is a found Doc. Scores of one search can be compared, those of different
// searches cannot.
type Hit struct {
	ID    string
	Score float64
}

// Index is safe for use by several goroutines. It is memory alone: nothing has
// to be closed.
type Index struct {
	ids   []string
	words segment.Segment
}

// New indexes docs. Of texts that match a query equally well the one that
// stands first here is found first.
func New(docs []Doc) (*Index, error) {
	ids, words := make([]string, len(docs)), lexicon{}
	texts := make([]segment.Document, len(docs))
	for i, d := range docs {
		ids[i], texts[i] = d.ID, newText(words, d.Text)
	}
	made, _, err := ice.New(texts, noted)
	if err != nil {
		return nil, fmt.Errorf("indexing %d texts: %w", len(docs), err)
	}
	return &Index{ids, made}, nil
}

// maxTerms is how many different terms of a query count.
const maxTerms = 64

// Search returns at most limit texts that have something of the query, best
// first; all of them when limit is below 1. A text need not have every word.
// Words such as "the" count only in a query of nothing else.
func (x *Index) Search(query string, limit int) ([]Hit, error) {
	strong, weak, spare := split(query)
	for _, wanted := range [][]string{strong, weak, spare} {
		hits, err := x.find(wanted)
		if err != nil {
			return nil, fmt.Errorf("searching for %q: %w", wanted, err)
		}
		if limit > 0 && len(hits) > limit {
			hits = hits[:limit]
		}
		if len(hits) > 0 {
			return hits, nil
		}
	}
	return nil, nil
}

// split sorts the terms of a query by what to look for first, next and last.
func split(query string) (strong, weak, spare []string) {
	words, seen := lexicon{}, map[string]bool{}
	for t := range words.terms(query) {
		if len(seen) == maxTerms {
			break
		}
		if seen[t.text] {
			continue
		}
		seen[t.text] = true
		switch {
		case t.spare:
			spare = append(spare, t.text)
		case t.weak:
			weak = append(weak, t.text)
		default:
			strong = append(strong, t.text)
		}
	}
	return strong, weak, spare
}

func (x *Index) find(wanted []string) ([]Hit, error) {
	scores := map[uint64]float64{}
	for _, t := range wanted {
		best, err := x.meaning(t)
		if err != nil {
			return nil, err
		}
		for doc, score := range best {
			scores[doc] += score
		}
	}
	docs := slices.SortedFunc(maps.Keys(scores), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	hits := make([]Hit, len(docs))
	for i, doc := range docs {
		hits[i] = Hit{x.ids[doc], scores[doc]}
	}
	return hits, nil
}
