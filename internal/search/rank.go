package search

import (
	"math"

	"github.com/blugelabs/bluge/search"
	"github.com/blugelabs/bluge/search/similarity"
	segment "github.com/blugelabs/bluge_segment_api"
)

// The parameters of BM25, as most engines have them: how fast repetition
// stops to count, and how much long texts are held back.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// bm25 rates texts. It is bluge's but for the weight of rare terms: that of
// 0.2.2 lacks parentheses, and hardly tells a rare term from a common one.
var bm25 = similarity.NewBM25SimilarityBK1(lengthBias, saturation)

// scorer rates texts by a term that so many of them have.
func scorer(weight float64, all segment.CollectionStats, having uint64) search.Scorer {
	n := float64(having)
	rarity := math.Log(1 + (float64(all.DocumentCount())-n+0.5)/(n+0.5))
	return similarity.NewBM25Scorer(weight, saturation, lengthBias, bm25.AverageFieldLength(all), search.NewExplanation(rarity, ""))
}

// noted is how an index notes the length of a text.
func noted(_ string, length int) float32 { return bm25.ComputeNorm(length) }

// What an almost equal word weighs, and how many of them are looked at.
const (
	nearWeight = 0.5
	maxNear    = 32
)

// meaning rates the texts that have a term of a query or one that it may mean,
// each by the best of these.
func (x *Index) meaning(t string) (map[uint64]float64, error) {
	words, err := x.words.Dictionary(field)
	if err != nil {
		return nil, err
	}
	all, err := x.words.CollectionStats(field)
	if err != nil {
		return nil, err
	}
	found, err := near(words, t)
	if err != nil {
		return nil, err
	}
	best := map[uint64]float64{}
	for other, weight := range found {
		list, err := words.PostingsList([]byte(other), nil, nil)
		if err != nil {
			return nil, err
		}
		each, err := list.Iterator(true, true, false, nil)
		if err != nil {
			return nil, err
		}
		s := scorer(weight, all, list.Count())
		p, err := each.Next()
		for ; err == nil && p != nil; p, err = each.Next() {
			best[p.Number()] = max(best[p.Number()], s.Score(p.Frequency(), p.Norm()))
		}
		if err != nil {
			return nil, err
		}
	}
	return best, nil
}

// near returns the terms that a term of a query may mean, with their weights:
// itself, known ones that it begins ("repo" for "repository"), and those that
// begin it and are one or two letters shorter, which stemming left apart.
func near(words segment.Dictionary, t string) (map[string]float64, error) {
	found := map[string]float64{}
	if letters := []rune(t); len(letters) >= 3 && !dense(letters[0]) {
		longer := words.Iterator(nil, []byte(t), append([]byte(t), 0xff))
		e, err := longer.Next()
		for ; err == nil && e != nil && len(found) < maxNear; e, err = longer.Next() {
			found[e.Term()] = nearWeight
		}
		if err != nil {
			return nil, err
		}
		for n := max(len(letters)-2, 4); n < len(letters); n++ {
			found[string(letters[:n])] = nearWeight
		}
	}
	found[t] = 1
	return found, nil
}
