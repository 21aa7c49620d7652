package redact

import (
	"mime"
	"net/http"
)

// Replies returns a handler whose error replies hold no secrets: plain texts and
// problem documents of HTTP, and with all also other JSON. It does not change
// streams, and does not find a secret that a handler writes in two pieces.
func Replies(next http.Handler, r *Redactor, all bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, asked *http.Request) {
		next.ServeHTTP(&reply{ResponseWriter: w, redactor: r, all: all}, asked)
	})
}

type reply struct {
	http.ResponseWriter
	redactor *Redactor
	all      bool
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hides reports that the reply is one whose text is looked at. The content of a file
// of a person is not: it stays as it is.
func (w *reply) hides() bool {
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	return err == nil && w.Header().Get("Content-Disposition") == "" && (kind == "text/plain" || kind == "application/problem+json" || w.all && kind == "application/json")
}

// WriteHeader implements http.ResponseWriter. How long the reply will be is not
// known before it is looked at.
func (w *reply) WriteHeader(status int) {
	if w.hides() {
		w.Header().Del("Content-Length")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *reply) Write(b []byte) (int, error) {
	if !w.hides() {
		return w.ResponseWriter.Write(b)
	}
	w.Header().Del("Content-Length")
	if clean := w.redactor.String(string(b)); clean != string(b) {
		_, err := w.ResponseWriter.Write([]byte(clean))
		return len(b), err
	}
	return w.ResponseWriter.Write(b)
}
