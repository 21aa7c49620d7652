package search

import (
	segment "github.com/blugelabs/bluge_segment_api"
)

// field is the only one that texts have.
const field = "text"

// text is a Doc on its way into an index.
type text struct {
	counts map[string]int // of its terms
	length int            // in terms, without the spare ones
}

func newText(words lexicon, s string) *text {
	t := &text{counts: map[string]int{}}
	for term := range words.terms(s) {
		t.counts[term.text]++
		if !term.spare {
			t.length++
		}
	}
	return t
}

// What the index asks a document.
func (t *text) Analyze()                       {}
func (t *text) EachField(f segment.VisitField) { f(t) }

// What it asks a field.
func (*text) Name() string         { return field }
func (*text) Value() []byte        { return nil }
func (*text) Index() bool          { return true }
func (*text) Store() bool          { return false }
func (*text) IndexDocValues() bool { return false }
func (t *text) Length() int        { return t.length }

func (t *text) EachTerm(visit segment.VisitTerm) {
	for text, count := range t.counts {
		visit(occurrences{text, count})
	}
}

// occurrences is a term within a text.
type occurrences struct {
	text  string
	count int
}

func (o occurrences) Term() []byte                     { return []byte(o.text) }
func (o occurrences) Frequency() int                   { return o.count }
func (occurrences) EachLocation(segment.VisitLocation) {}
