// Package redact keeps secrets out of logs: known ones, in the forms in which they
// usually slip through, and text with the shape of a token.
package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask replaces a secret.
const Mask = "***"

// Shortest is the shortest secret that is replaced, in bytes. Shorter ones would be
// found inside of ordinary words.
const Shortest = 8

// Redactor replaces secrets by Mask. It is safe for concurrent use. Its zero
// value knows no secrets, only shapes.
type Redactor struct {
	known atomic.Pointer[secrets]
	mu    sync.Mutex
	list  []string // all that were added
}

// secrets are all forms of the secrets, the longest first.
type secrets struct {
	forms []string
	mask  *strings.Replacer
}

// New returns a Redactor that knows some secrets; those below Shortest are left
// out.
func New(secrets []string) *Redactor {
	r := new(Redactor)
	r.Add(secrets...)
	return r
}

// Add adds secrets, such as those of a new config. Earlier ones stay hidden, because open
// connections and calls still use them.
func (r *Redactor) Add(list ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, list...)
	slices.Sort(r.list)
	r.list = slices.Compact(r.list)
	var all []string
	for _, secret := range r.list {
		if len(secret) >= Shortest {
			all = append(all, forms(secret)...)
		}
	}
	longest := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	slices.SortFunc(all, longest)
	all = slices.Clip(slices.Compact(all))
	pairs := make([]string, 0, 2*len(all))
	for _, form := range all {
		pairs = append(pairs, form, Mask)
	}
	r.known.Store(&secrets{all, strings.NewReplacer(pairs...)})
}

// String returns s with every secret replaced; s itself when there is none.
func (r *Redactor) String(s string) string { return r.Known(maskShapes(s)) }

// Known is String without looking for shapes: text that only looks like a token
// stays, as in instructions for using one.
func (r *Redactor) Known(s string) string {
	known := r.known.Load()
	if known == nil {
		return s
	}
	for {
		// The rest may be a secret again, put together by a Mask. Every round
		// makes the text shorter.
		next := known.mask.Replace(s)
		if len(next) == len(s) {
			return known.maskBroken(s)
		}
		s = next
	}
}

// shape is how tokens of a kind look.
type shape struct {
	hint    string // is in every text that has one
	pattern *regexp.Regexp
	mask    string
}

var shapes = []shape{
	{"bot", regexp.MustCompile(`bot[0-9]+(?::|%3[Aa])[A-Za-z0-9_-]{8,}`), "bot" + Mask},
	{"xox", regexp.MustCompile(`xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]+`), Mask},
	{"xapp-", regexp.MustCompile(`xapp-[A-Za-z0-9-]+`), Mask},
	{"lw_", regexp.MustCompile(`lw_[a-z2-7]{52}`), Mask},
	{"earer", regexp.MustCompile(`([Bb]earer )[A-Za-z0-9._~+/=-]*[A-Z0-9][A-Za-z0-9._~+/=-]*`), "${1}" + Mask},
	{"BEARER", regexp.MustCompile(`(BEARER )[A-Za-z0-9._~+/=-]+`), "${1}" + Mask},
}

// maskShapes replaces text that looks like a token of Telegram, of Slack, of legwork
// or of an HTTP header.
func maskShapes(s string) string {
	for _, shape := range shapes {
		if strings.Contains(s, shape.hint) {
			s = shape.pattern.ReplaceAllString(s, shape.mask)
		}
	}
	return s
}
