package main

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

//go:embed corpus.json
var corpusFile []byte

// Source is an entry of the corpus, whose authors and findings are invented.
type Source struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Authors string `json:"authors"`
	Year    int    `json:"year"`
	Topic   string `json:"topic"`
	Finding string `json:"finding"`
	Words   string `json:"words,omitempty"` // what it is found by; stays out of the shared state
}

func corpus() ([]Source, error) {
	var all []Source
	return all, json.Unmarshal(corpusFile, &all)
}

// search returns the sources that share the most words with a question, at most
// limit of them, the best first.
func search(all []Source, question string, limit int) []Source {
	wanted := map[string]bool{}
	for _, word := range words(question) {
		wanted[word] = true
	}
	type match struct {
		Source
		score int
	}
	var found []match
	for _, s := range all {
		m := match{Source: s}
		for _, word := range slices.Compact(slices.Sorted(slices.Values(words(s.Title + " " + s.Words)))) {
			if wanted[word] {
				m.score++
			}
		}
		if m.score > 0 {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return b.score - a.score })
	var best []Source
	for _, m := range found[:min(limit, len(found))] {
		m.Words = ""
		best = append(best, m.Source)
	}
	return best
}

// words are the words of a text that say something, in lower case and without
// the most common endings.
func words(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	var list []string
	for _, word := range fields {
		if len(word) > 3 && !slices.Contains(common(), word) {
			list = append(list, strings.TrimRight(word, "s"))
		}
	}
	return list
}

func common() []string {
	return []string{"about", "does", "from", "have", "much", "many", "please", "some", "something", "that", "them", "they", "this", "what", "when", "which", "will", "with"}
}
