package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// request is one search as the provider wants it: a GET with parameters, or a POST
// with a JSON body.
type request struct {
	endpoint *url.URL
	query    url.Values     // of a GET
	body     map[string]any // of a POST; nil: GET
}

func (r request) make(ctx context.Context) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	u := *r.endpoint
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, bytes.NewReader(text)
	} else {
		u.RawQuery = r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err == nil && r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// anyLanguage reports a language that narrows nothing.
func anyLanguage(language string) bool {
	return language == "" || language == "all" || language == "auto"
}

func askSearXNG(e *engine, q query) request {
	values := e.endpoint.Query()
	set := func(key, value string) {
		if value != "" {
			values.Set(key, value)
		}
	}
	set("q", q.words)
	set("format", "json")
	set("categories", strings.Join(e.options.Categories, ","))
	set("engines", strings.Join(e.options.Engines, ","))
	set("language", q.language)
	set("time_range", q.timeRange)
	if e.options.SafeSearch != nil {
		set("safesearch", fmt.Sprint(*e.options.SafeSearch))
	}
	if q.page > 1 {
		set("pageno", fmt.Sprint(q.page))
	}
	return request{endpoint: e.endpoint, query: values}
}

func readSearXNG(body []byte) (response, error) {
	var a struct {
		Results      []json.RawMessage `json:"results"`
		Answers      []json.RawMessage `json:"answers"`
		Suggestions  []json.RawMessage `json:"suggestions"`
		Corrections  []json.RawMessage `json:"corrections"`
		Unresponsive []json.RawMessage `json:"unresponsive_engines"` // pairs of name and reason
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return response{}, err
	}
	return response{
		results:     fields{"url", "content", "publishedDate"}.results(a.Results),
		direct:      texts(a.Answers, "answer", maxSnippet),
		suggestions: texts(a.Suggestions, "", 100),
		corrections: texts(a.Corrections, "", 100),
		silent:      len(a.Unresponsive),
	}, nil
}

// braveLanguages are the values of search_lang in Brave's documentation.
const braveLanguages = " ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de el gu he hi hu is it jp kn ko lv lt ms ml mr nb pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi "

// braveLanguage is Brave's name of a language; empty for one that Brave does not know.
func braveLanguage(language string) string {
	language = strings.ToLower(strings.ReplaceAll(language, "_", "-"))
	first, _, _ := strings.Cut(language, "-")
	special := map[string]string{
		"ja": "jp", "no": "nb", "pt": "pt-br", "zh": "zh-hans", "zh-tw": "zh-hant", "zh-hk": "zh-hant",
	}
	for _, name := range []string{special[language], language, special[first], first} {
		if name != "" && strings.Contains(braveLanguages, " "+name+" ") {
			return name
		}
	}
	return ""
}

func askBrave(e *engine, q query) request {
	values := url.Values{"q": {q.words}, "count": {fmt.Sprint(q.limit)}, "text_decorations": {"false"}, "result_filter": {"web"}}
	if q.page > 1 {
		values.Set("offset", fmt.Sprint(q.page-1))
	}
	if language := braveLanguage(q.language); language != "" && !anyLanguage(q.language) {
		values.Set("search_lang", language)
	}
	if q.timeRange != "" {
		values.Set("freshness", "p"+q.timeRange[:1]) // pd, pm, py
	}
	if e.options.SafeSearch != nil {
		values.Set("safesearch", []string{"off", "moderate", "strict"}[*e.options.SafeSearch])
	}
	return request{endpoint: e.endpoint, query: values}
}

func readBrave(body []byte) (response, error) {
	var a struct {
		Web struct {
			Results []json.RawMessage `json:"results"`
		} `json:"web"`
		Query struct {
			Altered string `json:"altered"` // as Brave spells it
		} `json:"query"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return response{}, err
	}
	found := response{results: fields{"url", "description", "page_age"}.results(a.Web.Results)}
	if a.Query.Altered != "" {
		found.corrections = []string{clipPlain(a.Query.Altered, 100)}
	}
	return found, nil
}

func askTavily(e *engine, q query) request {
	body := map[string]any{"query": q.words, "max_results": q.limit}
	if q.timeRange != "" {
		body["time_range"] = q.timeRange
	}
	return request{endpoint: e.endpoint, body: body}
}

func askExa(e *engine, q query) request {
	body := map[string]any{"query": q.words, "numResults": q.limit, "contents": map[string]any{"highlights": true}}
	if days := map[string]int{"day": 1, "month": 31, "year": 366}[q.timeRange]; days > 0 {
		body["startPublishedDate"] = e.options.Now().UTC().AddDate(0, 0, -days).Format(time.RFC3339)
	}
	return request{endpoint: e.endpoint, body: body}
}

func askSerper(e *engine, q query) request {
	body := map[string]any{"q": q.words, "num": q.limit}
	if q.page > 1 {
		body["page"] = q.page
	}
	if !anyLanguage(q.language) {
		body["hl"] = strings.ToLower(strings.ReplaceAll(q.language, "_", "-"))
	}
	if q.timeRange != "" {
		body["tbs"] = "qdr:" + q.timeRange[:1]
	}
	return request{endpoint: e.endpoint, body: body}
}

func readSerper(body []byte) (response, error) {
	var a struct {
		Organic   []json.RawMessage `json:"organic"`
		AnswerBox struct {
			Answer  string `json:"answer"`
			Snippet string `json:"snippet"`
		} `json:"answerBox"`
		Related []struct {
			Query string `json:"query"`
		} `json:"relatedSearches"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return response{}, err
	}
	found := response{results: fields{"link", "snippet", "date"}.results(a.Organic)}
	for _, text := range []string{a.AnswerBox.Answer, a.AnswerBox.Snippet} {
		if text = clipPlain(text, maxSnippet); text != "" {
			found.direct = []string{text}
			break
		}
	}
	for _, related := range a.Related[:min(len(a.Related), 5)] {
		if text := clipPlain(related.Query, 100); text != "" {
			found.suggestions = append(found.suggestions, text)
		}
	}
	return found, nil
}
