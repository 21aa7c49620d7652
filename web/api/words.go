package api

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is an error as a sentence for people.
func sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// allowed lists the names that are.
func allowed(names []string) string {
	if len(names) == 0 {
		return "none are allowed"
	}
	return "allowed are " + strings.Join(names, ", ")
}

// location is where in a request a field is that the service names.
func location(method, field string) string {
	switch {
	case field == "":
		return "body"
	case method == http.MethodGet:
		return "query." + field
	}
	return "body." + field
}
