package prom

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"legwork/clip"
)

// ContentType is that of what a Registry writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// append writes a family: what it is, then its series in the order of their
// labels.
func (f *family) append(page []byte) []byte {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.series) == 0 {
		return page
	}
	page = append(page, "# HELP "+f.name+" "+helpEscapes.Replace(f.help)+"\n# TYPE "+f.name+" "+string(f.kind)+"\n"...)
	keys := slices.SortedFunc(maps.Keys(f.series), func(a, b key) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		if s := f.series[k]; f.kind == histogram {
			page = f.appendBuckets(page, k, s)
		} else {
			page = f.appendLine(page, "", k, "", s.load())
		}
	}
	return page
}

// appendBuckets writes one histogram. Its count is that of its buckets, so that
// both agree.
func (f *family) appendBuckets(page []byte, k key, s *series) []byte {
	var count uint64
	for i := range s.buckets {
		bound := "+Inf"
		if i < len(f.bounds) {
			bound = number(f.bounds[i])
		}
		count += s.buckets[i].Load()
		page = f.appendLine(page, "_bucket", k, bound, float64(count))
	}
	page = f.appendLine(page, "_sum", k, "", s.load())
	return f.appendLine(page, "_count", k, "", float64(count))
}

// appendLine writes one sample; bound is that of a bucket.
func (f *family) appendLine(page []byte, suffix string, k key, bound string, value float64) []byte {
	page = append(append(page, f.name...), suffix...)
	before := byte('{')
	label := func(name, value string) {
		page = append(page, before)
		page = append(append(append(page, name...), `="`...), value...)
		page = append(page, '"')
		before = ','
	}
	for i, name := range f.labels {
		label(name, labelEscapes.Replace(k[i]))
	}
	if bound != "" {
		label("le", bound)
	}
	if before == ',' {
		page = append(page, '}')
	}
	return append(append(append(page, ' '), number(value)...), '\n')
}

// number writes a number as the format wants it: Go's spelling of it.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// tidy makes a text a label's value: never empty, which would mean that there is
// no such label, and bounded.
func tidy(value string) string {
	return cmp.Or(clip.Bytes(strings.ToValidUTF8(value, "\ufffd"), maxValue), "none")
}
