// Package search finds short texts by words, best match first: notes,
// descriptions of tools. English and Russian words are found in any of their
// forms, scripts without spaces by pairs of neighbouring characters, and
// identifiers by their parts, so that "issue comment" finds
// "get_issue_comments". An index lives in memory and is never changed.
package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
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

// Index is an inverted index, rated by BM25. It is safe for use by several
// goroutines.
type Index struct {
	ids      []string
	lengths  []int // of the texts, in terms
	average  float64
	terms    []string // sorted
	postings map[string][]posting
}

// posting says how often a text has a term.
type posting struct{ doc, count int32 }

// New indexes docs. Of texts that match a query equally well the one that
// comes first in docs is found first.
func New(docs []Doc) *Index {
	x := &Index{ids: make([]string, len(docs)), lengths: make([]int, len(docs)), postings: map[string][]posting{}}
	words, total := lexicon{}, 0
	for i, d := range docs {
		x.ids[i] = d.ID
		for t := range words.terms(d.Text) {
			if !t.spare {
				x.lengths[i]++
			}
			list := x.postings[t.text]
			if last := len(list) - 1; last >= 0 && list[last].doc == int32(i) {
				list[last].count++
			} else {
				x.postings[t.text] = append(list, posting{int32(i), 1})
			}
		}
		total += x.lengths[i]
	}
	x.average = float64(total) / float64(max(len(docs), 1))
	x.terms = slices.Sorted(maps.Keys(x.postings))
	return x
}

// maxTerms is how many different terms of a query count.
const maxTerms = 64

// Search returns at most limit texts that have something of the query, best
// first; all of them when limit is below 1. A text need not have every word.
// Words such as "the" count only in a query of nothing else.
func (x *Index) Search(query string, limit int) []Hit {
	strong, weak, spare := split(query)
	for _, wanted := range [][]string{strong, weak, spare} {
		if hits := x.find(wanted); len(hits) > 0 {
			if limit > 0 && len(hits) > limit {
				hits = hits[:limit]
			}
			return hits
		}
	}
	return nil
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

func (x *Index) find(wanted []string) []Hit {
	scores := map[int32]float64{}
	for _, t := range wanted {
		for doc, score := range x.rate(t) {
			scores[doc] += score
		}
	}
	docs := slices.SortedFunc(maps.Keys(scores), func(a, b int32) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	hits := make([]Hit, len(docs))
	for i, doc := range docs {
		hits[i] = Hit{x.ids[doc], scores[doc]}
	}
	return hits
}

// The parameters of BM25, as most engines have them: how fast repetition
// stops to count, and how much long texts are held back.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// rate returns the BM25 score of each text that has a term of a query or one
// that it may mean; the best of these counts. See Robertson and Zaragoza, The
// Probabilistic Relevance Framework: BM25 and Beyond (2009), section 3.
func (x *Index) rate(term string) map[int32]float64 {
	best := map[int32]float64{}
	for other, weight := range x.near(term) {
		list := x.postings[other]
		n := float64(len(list))
		rarity := math.Log(1 + (float64(len(x.ids))-n+0.5)/(n+0.5))
		for _, p := range list {
			count := float64(p.count)
			length := 1 - lengthBias + lengthBias*float64(x.lengths[p.doc])/x.average
			best[p.doc] = max(best[p.doc], weight*rarity*count*(saturation+1)/(count+saturation*length))
		}
	}
	return best
}

// The weight of an almost equal word, and the number of such words that count.
const (
	nearWeight = 0.5
	maxNear    = 32
)

// near returns the terms that a term of a query may mean, with their weights:
// itself, known ones that it begins ("repo" for "repository"), and those that
// begin it and are one or two letters shorter, which stemming left apart.
func (x *Index) near(term string) map[string]float64 {
	found := map[string]float64{}
	if letters := []rune(term); len(letters) >= 3 && !dense(letters[0]) {
		first, _ := slices.BinarySearch(x.terms, term)
		for _, longer := range x.terms[first:min(first+maxNear, len(x.terms))] {
			if !strings.HasPrefix(longer, term) {
				break
			}
			found[longer] = nearWeight
		}
		for n := max(len(letters)-2, 4); n < len(letters); n++ {
			found[string(letters[:n])] = nearWeight
		}
	}
	found[term] = 1
	return found
}
