package api

import (
	"net/http"
	"strings"
)

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
