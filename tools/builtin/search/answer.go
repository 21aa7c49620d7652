package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"legwork/internal/clip"
	"legwork/internal/retry"
)

// Bounds on an answer of the endpoint and on what is shown of one result.
const (
	maxAnswer  = 4 << 20
	maxTitle   = 200
	maxSnippet = 500
	maxAddress = 2000
)

// response is what a provider answers, as far as it is used.
type response struct {
	results     []result
	direct      []string // answers to the question itself
	suggestions []string // other searches
	corrections []string // other spellings
	silent      int      // sources of SearXNG that did not answer
}

// result is one page that was found.
type result struct{ title, address, snippet, published string }

// A provider that wants a short pause gets it and is asked again: the cheapest plans
// allow one search a second, and sub-tasks search side by side.
const (
	shortPause = 3 * time.Second
	maxTries   = 4
)

// limitError says that the provider wants fewer requests.
type limitError struct {
	label string
	after string        // as the provider wrote it; empty: it did not
	pause time.Duration // of after; negative: unknown
}

func (e *limitError) Error() string {
	wait := ""
	if e.after != "" {
		wait = " (Retry-After: " + clip.Line(e.after, 40) + ")"
	}
	return fmt.Sprintf("%s wants fewer requests%s; go on with what is found, or search again later", e.label, wait)
}

// limited reads how long the provider wants to be left alone. Brave writes it into a
// header of its own, a number of seconds for each of its limits.
func (p provider) limited(h http.Header) error {
	reset, _, _ := strings.Cut(h.Get("X-RateLimit-Reset"), ",")
	e := &limitError{label: p.label, after: cmp.Or(h.Get("Retry-After"), strings.TrimSpace(reset)), pause: -1}
	if seconds, err := strconv.Atoi(e.after); err == nil && seconds >= 0 {
		e.pause = time.Duration(min(seconds, 3600)) * time.Second
	}
	return e
}

// ask searches. It tries again after a short pause that the provider wants.
func (e *engine) ask(ctx context.Context, q query) (response, error) {
	for try := 1; ; try++ {
		found, err := e.once(ctx, q)
		var limit *limitError
		if !errors.As(err, &limit) || limit.pause < 0 || limit.pause > shortPause || try == maxTries {
			return found, err
		}
		if err := retry.Sleep(ctx, limit.pause); err != nil {
			return response{}, limit
		}
	}
}

// once sends one search to the provider.
func (e *engine) once(ctx context.Context, q query) (response, error) {
	req, err := e.provider.request(e, q).make(ctx)
	if err != nil {
		return response{}, fmt.Errorf("asking %s: %w", e.provider.label, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "legwork/1")
	for key, value := range e.options.Headers {
		if http.CanonicalHeaderKey(key) == "Host" {
			req.Host = value
		}
		req.Header.Set(key, value)
	}
	if e.provider.keyHeader != "" {
		req.Header.Set(e.provider.keyHeader, e.provider.keyPrefix+e.options.APIKey)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return response{}, e.explain(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return response{}, e.explain(err)
	}
	if err := e.provider.check(res, body); err != nil {
		return response{}, err
	}
	found, err := e.provider.read(body)
	if err != nil {
		return response{}, fmt.Errorf("%s answered something that is no JSON of %s; %s%s", e.provider.label, e.provider.json, toAdmin, e.provider.lookAt)
	}
	return found, nil
}

// toAdmin begins what an admin has to do.
const toAdmin = "work without searching and tell the person that an admin has to "

// explain says what went wrong. The address of the endpoint is left out: it can
// be private, and hold a key.
func (e *engine) explain(err error) error {
	var inner *url.Error
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("searching: %w", context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s did not answer within %v; try once more, with fewer words", e.provider.label, e.timeout)
	case errors.As(err, &inner):
		err = inner.Err
	}
	return fmt.Errorf("%s cannot be reached (%w); %scheck its address, and the network of this machine", e.provider.label, err, toAdmin)
}

// check tells from status, type and body whether the body is an answer.
func (p provider) check(res *http.Response, body []byte) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isHTML := strings.HasSuffix(media, "html") || strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 100)])), "<")
	keyed := p.keyHeader != ""
	status := res.StatusCode
	switch {
	case keyed && status >= 400 && p.out(status, string(body)):
		return fmt.Errorf("the searches that the API key of %s pays for are used up; %slook at the plan of the key at %s", p.label, toAdmin, p.keysAt)
	case keyed && p.refused(status, string(body)):
		return fmt.Errorf("%s refused the API key; %scheck api_key of the search options; keys are at %s", p.label, toAdmin, p.keysAt)
	case !keyed && (status == http.StatusForbidden || status == http.StatusOK && isHTML):
		return fmt.Errorf("%s does not give results to programs; %sadd json to search.formats in the settings.yml of SearXNG, or to let legwork through its limiter", p.label, toAdmin)
	case status == http.StatusTooManyRequests:
		return p.limited(res.Header)
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%s wants a key; %sset it under headers of the search options", p.label, toAdmin)
	case status == http.StatusNotFound && !keyed:
		return fmt.Errorf("there is no search engine at the configured address; %scheck the search url, which usually ends in /search", toAdmin)
	case status == http.StatusNotFound:
		return fmt.Errorf("%s is not at the configured address; %s%s", p.label, toAdmin, p.lookAt)
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%s did not understand the search; use simpler words and leave out language and time_range", p.label)
	case status >= 300 && status < 400 && !keyed:
		return fmt.Errorf("%s has moved; %sput its new address under url of the search options", p.label, toAdmin)
	case status < 200 || status > 299:
		return fmt.Errorf("%s answered %d %s; try once more, then work without searching", p.label, status, http.StatusText(status))
	case len(body) > maxAnswer:
		return fmt.Errorf("%s answered more than %d bytes; use a smaller limit or other words", p.label, maxAnswer)
	}
	return nil
}

// text is the list of results for the model.
func (a response) text(q query) (string, error) {
	var lines []string
	seen := map[string]bool{}
	for _, r := range a.results {
		if seen[r.address] {
			continue
		}
		if seen[r.address] = true; len(seen) > q.limit {
			break
		}
		lines = append(lines, r.text(len(seen)))
	}
	if len(lines) == 0 && len(a.direct) == 0 {
		return "", errors.New(a.noResults(q))
	}
	for _, text := range a.direct {
		lines = append([]string{"Direct answer: " + text}, lines...)
	}
	if len(a.suggestions) > 0 {
		lines = append(lines, "Other searches: "+strings.Join(a.suggestions, "; "))
	}
	return strings.Join(lines, "\n\n"), nil
}

// noResults says that nothing was found, why, and what to try.
func (a response) noResults(q query) string {
	text := fmt.Sprintf("nothing was found for %q", clip.Line(q.words, 100))
	if q.page > 1 {
		return fmt.Sprintf("there is nothing more on page %d for %q; use what the pages before it showed", q.page, clip.Line(q.words, 100))
	}
	if a.silent > 0 {
		text += fmt.Sprintf(" (%d of its sources did not answer, so there may be results later)", a.silent)
	}
	if len(a.corrections) > 0 {
		text += "; perhaps it is spelt " + strings.Join(a.corrections, " or ")
	}
	return text + "; try other or fewer words, another language, or no time_range"
}

// fields are the names that a provider gives to the parts of a result.
type fields struct{ address, snippet, published string }

// read reads an answer that holds nothing but a list of results.
func (f fields) read(body []byte) (response, error) {
	var a struct {
		Results []json.RawMessage `json:"results"`
	}
	err := json.Unmarshal(body, &a)
	return response{results: f.results(a.Results)}, err
}

// results reads a list of results one by one, because engines put surprising things
// into them. It leaves out those without a usable address.
func (f fields) results(list []json.RawMessage) []result {
	var results []result
	for _, raw := range list {
		if r, ok := f.result(raw); ok {
			results = append(results, r)
		}
	}
	return results
}

// result takes what is needed out of one result.
func (f fields) result(raw json.RawMessage) (result, bool) {
	var values map[string]any
	if json.Unmarshal(raw, &values) != nil {
		return result{}, false
	}
	field := func(key string) string {
		if list, ok := values[key].([]any); ok { // Exa's highlights
			var texts []string
			for _, one := range list {
				if text, ok := one.(string); ok {
					texts = append(texts, text)
				}
			}
			return strings.Join(texts, " … ")
		}
		text, _ := values[key].(string)
		return text
	}
	r := result{
		title:     clip.Line(plain(field("title")), maxTitle),
		address:   strings.TrimSpace(field(f.address)),
		snippet:   clip.Line(plain(field(f.snippet)), maxSnippet),
		published: plain(field(f.published)),
	}
	u, err := url.Parse(r.address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || len(r.address) > maxAddress {
		return result{}, false
	}
	r.address = u.String()
	if r.title == "" {
		r.title = u.Host
	}
	if day, _, _ := strings.Cut(r.published, "T"); len(day) == len("2026-11-20") {
		r.published = day
	}
	r.published = clip.Line(r.published, 30) // Serper and Tavily write it in words
	return r, true
}

func (r result) text(number int) string {
	text := fmt.Sprintf("%d. %s\n%s", number, r.title, r.address)
	if r.published != "" {
		text += "\nPublished: " + r.published
	}
	if r.snippet != "" {
		text += "\n" + r.snippet
	}
	return text
}

// texts reads a list whose elements are texts, or objects with a text under
// key: both occur.
func texts(list []json.RawMessage, key string, most int) []string {
	var texts []string
	for _, raw := range list[:min(len(list), 5)] {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var fields map[string]any
			if json.Unmarshal(raw, &fields) != nil {
				continue
			}
			text, _ = fields[key].(string)
		}
		if text = clipPlain(text, most); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func clipPlain(text string, most int) string { return clip.Line(plain(text), most) }

// plain is the text of a snippet, which some engines send as HTML.
func plain(s string) string {
	if len(s) > 10*maxSnippet {
		s = strings.ToValidUTF8(s[:10*maxSnippet], "")
	}
	if strings.ContainsAny(s, "<&") {
		var b strings.Builder
		for z := html.NewTokenizer(strings.NewReader(s)); ; {
			kind := z.Next()
			if kind == html.ErrorToken {
				break
			}
			if kind == html.TextToken {
				b.Write(z.Text())
			}
		}
		s = b.String()
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, 0xe0000 <= r && r <= 0xe007f:
			return -1
		}
		return r
	}, s)
}
