// Package textindex finds short texts by words, best match first: notes,
// descriptions of tools. English and Russian words are found in any of their
// forms, scripts without spaces by pairs of neighbouring characters, and
// identifiers by their parts, so that "issue comment" finds
// "get_issue_comments". An index lives in memory and is never changed.
package textindex

import (
	"cmp"
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

// Index is safe for use by several goroutines.
type Index struct {
	ids        []string
	lengths    []float64 // of each text, in terms
	mean       float64   // of lengths
	postings   map[string][]posting
	vocabulary []string // the keys of postings, sorted
}

// posting says how often a term is in a text.
type posting struct {
	doc   int
	count float64
}

// New indexes docs. Of texts that match a query equally well the one that
// stands first here is found first.
func New(docs []Doc) *Index {
	x := &Index{postings: map[string][]posting{}}
	words, total := lexicon{}, 0.0
	for i, d := range docs {
		counts, length := map[string]float64{}, 0.0
		for t := range words.terms(d.Text) {
			counts[t.text]++
			if !t.spare {
				length++
			}
		}
		for text, count := range counts {
			x.postings[text] = append(x.postings[text], posting{i, count})
		}
		x.ids = append(x.ids, d.ID)
		x.lengths = append(x.lengths, length)
		total += length
	}
	x.mean = max(total/float64(max(len(docs), 1)), 1)
	x.vocabulary = make([]string, 0, len(x.postings))
	for text := range x.postings {
		x.vocabulary = append(x.vocabulary, text)
	}
	slices.Sort(x.vocabulary)
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
	scores := map[int]float64{}
	for _, t := range wanted {
		best := map[int]float64{} // of the term and what is spelt almost like it
		for near, weight := range x.near(t) {
			for doc, score := range x.score(near) {
				best[doc] = max(best[doc], score*weight)
			}
		}
		for doc, score := range best {
			scores[doc] += score
		}
	}
	docs := make([]int, 0, len(scores))
	for doc := range scores {
		docs = append(docs, doc)
	}
	slices.SortFunc(docs, func(a, b int) int {
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

// score rates all texts that have a term, by BM25.
func (x *Index) score(term string) func(yield func(doc int, score float64) bool) {
	return func(yield func(int, float64) bool) {
		list := x.postings[term]
		having := float64(len(list))
		rarity := math.Log(1 + (float64(len(x.ids))-having+0.5)/(having+0.5))
		for _, p := range list {
			held := saturation * (1 - lengthBias + lengthBias*x.lengths[p.doc]/x.mean)
			if !yield(p.doc, rarity*p.count*(saturation+1)/(p.count+held)) {
				return
			}
		}
	}
}

// What an almost equal word weighs, and how many of them are looked at.
const (
	nearWeight = 0.5
	maxNear    = 32
)

// near returns the indexed terms that a term of a query may mean, with their
// weights: itself, those it begins ("repo" for "repository"), and those that
// begin it and are one or two letters shorter, which stemming left apart.
func (x *Index) near(t string) map[string]float64 {
	found := map[string]float64{}
	if letters := []rune(t); len(letters) >= 3 && !dense(letters[0]) {
		from, _ := slices.BinarySearch(x.vocabulary, t)
		for _, longer := range x.vocabulary[from:] {
			if !strings.HasPrefix(longer, t) || len(found) == maxNear {
				break
			}
			found[longer] = nearWeight
		}
		for n := max(len(letters)-2, 4); n < len(letters); n++ {
			found[string(letters[:n])] = nearWeight
		}
	}
	found[t] = 1
	return found
}
