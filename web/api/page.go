package api

import (
	"encoding/base64"
	"strings"
)

// cursor encodes a place in a list: the name of the list, so that a cursor of another
// list is refused, and the last entry of the page before.
func cursor(list, last string) *string {
	if last == "" {
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(list + ":" + last))
	return &text
}

// after decodes a cursor of a list; an empty one stays empty.
func after(list, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	last, ok := strings.CutPrefix(string(raw), list+":")
	if err != nil || !ok || last == "" || !isStorable(last) {
		return "", invalid("query.cursor", "not a next_cursor of this list; leave it out to start at the newest")
	}
	return last, nil
}

// Page is a part of a list.
type Page[T any] struct {
	Items      []T     `json:"items" doc:"The entries, in order."`
	NextCursor *string `json:"next_cursor" doc:"The 'cursor' of the next page; null at the end."`
}

// page makes a Page whose Items are never null.
func page[T any](items []T, next *string) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{items, next}
}
