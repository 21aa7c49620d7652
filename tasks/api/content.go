package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"legwork/internal/clip"
)

// shownContent is how much of a message's content is told at once, in bytes.
const shownContent = 16 << 10

// encoded is content as JSON. Letters of HTML stay as they are.
func encoded(content any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(content); err != nil {
		return nil, fmt.Errorf("encoding content: %w", err)
	}
	return unescaped(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}

// unescaped writes the characters as they are that JSON need not escape, but that
// encoders escape for the sake of HTML and JavaScript.
func unescaped(text json.RawMessage) json.RawMessage {
	if !bytes.Contains(text, []byte(`\u`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		plain := ""
		if i+6 <= len(text) {
			plain = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029"}[string(text[i:i+6])]
		}
		if plain == "" {
			out = append(out, text[i], text[i+1])
			i++
			continue
		}
		out = append(out, plain...)
		i += 5
	}
	return out
}

// fitted is content as JSON of at most shownContent bytes, and how long all of it
// is when that is more: long texts in it are cut, otherwise its beginning is a
// text.
func fitted(content any) (short json.RawMessage, all int, err error) {
	whole, err := encoded(content)
	if err != nil || len(whole) <= shownContent {
		return whole, 0, err
	}
	if c, ok := content.(object); ok {
		for limit := shownContent / 2; limit >= 64; limit /= 2 {
			cut := shortened(c, limit).(object) //nolint:forcetypeassert // as it was given
			cut["truncated"] = true
			if short, err = encoded(cut); err != nil || len(short) <= shownContent {
				return short, len(whole), err
			}
		}
	}
	// Escapes may make the text of JSON six times as long.
	short, err = encoded(object{"text": clip.Bytes(string(whole), shownContent/8), "truncated": true})
	return short, len(whole), err
}

// shortened cuts the texts in content to at most limit bytes, and what is many to
// so many entries that they are no more together.
func shortened(content any, limit int) any {
	switch c := content.(type) {
	case string:
		return clip.Marked(c, limit)
	case json.RawMessage:
		if len(c) > limit {
			return clip.Marked(string(c), limit)
		}
	case map[string]json.RawMessage:
		out := object{}
		for _, key := range slices.Sorted(maps.Keys(c)) {
			if len(out) > limit/64 {
				break
			}
			out[clip.Marked(key, limit)] = shortened(c[key], limit)
		}
		return out
	case object:
		out := object{}
		for key, value := range c {
			out[key] = shortened(value, limit)
		}
		return out
	case []any:
		out := make([]any, 0, min(len(c), 1+limit/64))
		for _, value := range c[:cap(out)] {
			out = append(out, shortened(value, limit))
		}
		return out
	}
	return content
}
