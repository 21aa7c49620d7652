package api

import (
	"encoding/base64"
	"strings"
)

// cursor is a place in a list, opaque to programs: the kind of list, so that one
// is not taken for another's, and the last entry of the page before.
func cursor(list, last string) *string {
	if last == "" {
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(list + ":" + last))
	return &text
}

// after is the last entry that a cursor of a list names; empty for an empty one.
func after(list, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	last, ok := strings.CutPrefix(string(raw), list+":")
	if err != nil || !ok || last == "" || !readable(last) {
		return "", invalid("query.cursor", "not a next_cursor of this list; leave it out to begin at the newest")
	}
	return last, nil
}

// Page is a part of a list.
type Page[T any] struct {
	Items      []T     `json:"items" doc:"The entries, in order."`
	NextCursor *string `json:"next_cursor" doc:"'cursor' of the next page; null at the end."`
}

// page is a part of a list; none of its items is a list that is null.
func page[T any](items []T, next *string) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{items, next}
}
