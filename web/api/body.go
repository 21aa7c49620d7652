package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/clip"
	"legwork/plainjson"
	"legwork/web/problem"
)

// maxBody is how many bytes a body may have.
const maxBody = 1 << 20

const mergePatch = "application/merge-patch+json"

// checkBody reads the body of a request, so that the calls get only JSON that
// every program reads alike.
func checkBody(w http.ResponseWriter, r *http.Request) *problem.Error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	raw, p := readBody(w, r)
	if p != nil || len(raw) == 0 {
		r.Body = http.NoBody
		return p
	}
	if p := checkMedia(w, r); p != nil {
		return p
	}
	if err := checkJSON(raw); err != nil {
		p := problem.New(problem.Malformed, "The body is no JSON that every program reads alike.")
		p.Errors = []problem.Wrong{{Location: "body", Message: err.Error()}}
		return p
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem.Error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &large):
		return nil, problem.New(problem.Large, fmt.Sprintf("A body has at most %d bytes.", maxBody))
	case errors.As(err, &slow) && slow.Timeout():
		return nil, problem.New(problem.Slow, "The body did not come in time.")
	case err != nil:
		return nil, problem.New(problem.Malformed, "The body ended before it was whole.")
	}
	return raw, nil
}

// checkMedia refuses bodies that do not say that they are JSON; none at all is
// taken for it.
func checkMedia(w http.ResponseWriter, r *http.Request) *problem.Error {
	allowed := []string{"application/json"}
	if r.Method == http.MethodPatch {
		allowed = append(allowed, mergePatch)
	}
	unsupported := func(detail string) *problem.Error {
		w.Header().Set("Accept", strings.Join(allowed, ", "))
		return problem.New(problem.Media, detail)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return unsupported("Bodies are taken without Content-Encoding.")
	}
	given := r.Header.Get("Content-Type")
	if given == "" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(given)
	charset, named := params["charset"]
	if err != nil || !slices.Contains(allowed, kind) || named && !strings.EqualFold(charset, "utf-8") {
		return unsupported("Send the body with the header Content-Type: " + strings.Join(allowed, " or ") + ".")
	}
	r.Header.Set("Content-Type", kind)
	return nil
}

// checkJSON refuses what is no JSON, and what of JSON programs read differently.
func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if odd := plainjson.Oddity(raw); odd != "" { // before it is read: what is nested very deep takes memory
		return errors.New(odd)
	}
	return checkTokens(raw)
}

// checkTokens goes through the JSON once, to its end.
func checkTokens(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	depth, begun := 0, false
	for {
		t, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && begun && depth == 0:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it ends too early")
		case err != nil:
			return fmt.Errorf("it is no JSON: %s", clip.Line(err.Error(), 200))
		case begun && depth == 0:
			return errors.New("something follows its end")
		}
		begun = true
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}
