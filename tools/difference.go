package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/plainjson"
)

// maxRendered bounds what is compared of a definition.
const maxRendered = 64 << 10

// difference shows how a tool changed, to people.
func difference(tool string, before, after json.RawMessage) string {
	old, young := "(what was agreed to is not kept)\n", rendered(after)
	if len(before) > 0 {
		old = rendered(before)
	}
	if old == young {
		return "(beyond what is shown of long definitions)\n"
	}
	return udiff.Unified(tool+" as agreed to", tool+" now", old, young)
}

// rendered is a definition as people read it.
func rendered(raw json.RawMessage) string {
	text := ordered(raw)
	if short := clip.Bytes(text, maxRendered); len(short) < len(text) {
		text = fmt.Sprintf("%s\n(%d bytes more)\n", short, len(text)-len(short))
	}
	return bot.Visible(strings.ReplaceAll(text, "\t", "  "))
}

// ordered is what a definition says first, then the rest in a fixed order. One
// with a key that comes again is as it came, since the order would leave
// something out.
func ordered(raw json.RawMessage) string {
	if _, again := plainjson.SimilarKey(raw); again {
		return bot.VisibleJSON(raw) + "\n"
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return string(raw) + "\n"
	}
	delete(parts, "name")
	var b strings.Builder
	first := []string{"title", "description", "annotations", "inputSchema", "outputSchema"}
	for _, key := range slices.Concat(first, without(slices.Sorted(maps.Keys(parts)), first)) {
		if part, ok := parts[key]; ok {
			fmt.Fprintf(&b, "%s:\n%s\n", key, readable(part))
		}
	}
	return b.String()
}

// readable writes a text as it is and everything else as JSON with its keys in
// order.
func readable(part json.RawMessage) string {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return text
	}
	decoder := json.NewDecoder(bytes.NewReader(part))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(part)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return string(part)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func without(list, others []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return slices.Contains(others, s) })
}
