package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"legwork/internal/clip"
)

// Bounds on an answer of the endpoint and on what is shown of one result.
const (
	maxAnswer  = 4 << 20
	maxTitle   = 200
	maxSnippet = 500
	maxAddress = 2000
)

// response is what SearXNG answers, as far as it is used. Its fields are read one
// by one, because engines put surprising things into them.
type response struct {
	Results      []json.RawMessage `json:"results"`
	Answers      []json.RawMessage `json:"answers"`
	Suggestions  []json.RawMessage `json:"suggestions"`
	Corrections  []json.RawMessage `json:"corrections"`
	Unresponsive []json.RawMessage `json:"unresponsive_engines"` // pairs of name and reason
}

// result is one page that was found.
type result struct{ title, address, snippet, published string }

// ask sends one search to the endpoint.
func (e *engine) ask(ctx context.Context, address string) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return response{}, fmt.Errorf("asking the search engine: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "legwork/1")
	for key, value := range e.options.Headers {
		if http.CanonicalHeaderKey(key) == "Host" {
			req.Host = value
		}
		req.Header.Set(key, value)
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
	if err := check(res, body); err != nil {
		return response{}, err
	}
	var a response
	if err := json.Unmarshal(body, &a); err != nil {
		return response{}, errors.New("the search engine answered something that is no JSON of SearXNG; work without searching and tell the person that an admin has to check the search url")
	}
	return a, nil
}

// explain says what went wrong. The address of the endpoint is left out: it can
// be private, and hold a key.
func (e *engine) explain(err error) error {
	var inner *url.Error
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("searching: %w", context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("the search engine did not answer within %v; try once more, with fewer words", e.timeout)
	case errors.As(err, &inner):
		err = inner.Err
	}
	return fmt.Errorf("the search engine cannot be reached; work without searching and tell the person that an admin has to look after it (%w)", err)
}

// check tells from status and type whether the body is an answer.
func check(res *http.Response, body []byte) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isHTML := strings.HasSuffix(media, "html") || strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 100)])), "<")
	switch status := res.StatusCode; {
	case status == http.StatusForbidden, status == http.StatusOK && isHTML:
		return errors.New("the search engine does not give results to programs; work without searching and tell the person that an admin has to add json to search.formats in the settings.yml of SearXNG, or to let legwork through its limiter")
	case status == http.StatusTooManyRequests:
		wait := ""
		if after := res.Header.Get("Retry-After"); after != "" {
			wait = " (Retry-After: " + clip.Line(after, 40) + ")"
		}
		return fmt.Errorf("the search engine wants fewer requests%s; go on with what is found, or search again later", wait)
	case status == http.StatusUnauthorized:
		return errors.New("the search engine wants a key; work without searching and tell the person that an admin has to set it under headers of the search options")
	case status == http.StatusNotFound:
		return errors.New("there is no search engine at the configured address; work without searching and tell the person that an admin has to check the search url, which usually ends in /search")
	case status == http.StatusBadRequest:
		return errors.New("the search engine did not understand the search; use simpler words and leave out language and time_range")
	case status >= 300 && status < 400:
		return errors.New("the search engine has moved; work without searching and tell the person that an admin has to put its new address under url of the search options")
	case status < 200 || status > 299:
		return fmt.Errorf("the search engine answered %d %s; try once more, then work without searching", status, http.StatusText(status))
	case len(body) > maxAnswer:
		return fmt.Errorf("the search engine answered more than %d bytes; use a smaller limit or other words", maxAnswer)
	}
	return nil
}

// text is the list of results for the model.
func (a response) text(query string, page, limit int) (string, error) {
	var lines []string
	seen := map[string]bool{}
	for _, raw := range a.Results {
		r, ok := read(raw)
		if !ok || seen[r.address] {
			continue
		}
		if seen[r.address] = true; len(seen) > limit {
			break
		}
		lines = append(lines, r.text(len(seen)))
	}
	direct := texts(a.Answers, "answer", maxSnippet)
	if len(lines) == 0 && len(direct) == 0 {
		return "", errors.New(a.noResults(query, page))
	}
	for _, text := range direct {
		lines = append([]string{"Direct answer: " + text}, lines...)
	}
	if more := texts(a.Suggestions, "", 100); len(more) > 0 {
		lines = append(lines, "Other searches: "+strings.Join(more, "; "))
	}
	return strings.Join(lines, "\n\n"), nil
}

// noResults says that nothing was found, why, and what to try.
func (a response) noResults(query string, page int) string {
	text := fmt.Sprintf("nothing was found for %q", clip.Line(query, 100))
	if page > 1 {
		return fmt.Sprintf("there is nothing more on page %d for %q; use what the pages before it showed", page, clip.Line(query, 100))
	}
	if len(a.Unresponsive) > 0 {
		text += fmt.Sprintf(" (%d of its sources did not answer, so there may be results later)", len(a.Unresponsive))
	}
	if other := texts(a.Corrections, "", 100); len(other) > 0 {
		text += "; perhaps it is spelt " + strings.Join(other, " or ")
	}
	return text + "; try other or fewer words, another language, or no time_range"
}

// read takes what is needed out of one result.
func read(raw json.RawMessage) (result, bool) {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return result{}, false
	}
	field := func(key string) string { text, _ := fields[key].(string); return text }
	r := result{
		title:     clip.Line(plain(field("title")), maxTitle),
		address:   strings.TrimSpace(field("url")),
		snippet:   clip.Line(plain(field("content")), maxSnippet),
		published: field("publishedDate"),
	}
	u, err := url.Parse(r.address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || len(r.address) > maxAddress {
		return result{}, false
	}
	r.address = u.String()
	if r.title == "" {
		r.title = u.Host
	}
	if r.published, _, _ = strings.Cut(r.published, "T"); len(r.published) != len("2026-11-20") {
		r.published = ""
	}
	return r, true
}

func (r result) text(number int) string {
	text := fmt.Sprintf("%d. %s\n%s", number, r.title, r.address)
	if r.published != "" {
		text += "\nPublished: " + clip.Line(r.published, 20)
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
		if text = clip.Line(plain(text), most); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

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
