package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"legwork/internal/clip"
)

// Public is the address of the public registry.
const Public = "https://registry.modelcontextprotocol.io"

// Limits on what a registry can make legwork do.
const (
	maxAnswer      = 4 << 20 // bytes of one answer
	requestTimeout = 20 * time.Second
	pageSize       = 100 // the most that the public registry gives
	maxPages       = 10  // for one word of a search
	maxWords       = 4   // of a search that the registry is asked for
	maxRedirects   = 3
)

// nameRule is the pattern of names in the schema of server.json.
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// IsName reports whether a text can be the name of a server in a registry.
func IsName(name string) bool { return len(name) <= 200 && nameRule.MatchString(name) }

// ErrNotFound is returned when the registry does not have the server or the version.
var ErrNotFound = errors.New("the registry has no such server")

// Client asks one registry. It is safe for concurrent use.
type Client struct {
	base   string // without a slash at the end
	host   string
	client *http.Client
}

// New makes a client of the registry at an address. Empty: Public.
func New(address string) (*Client, error) {
	if address == "" {
		address = Public
	}
	if problem := AddressProblem(address); problem != "" {
		return nil, fmt.Errorf("the address of the registry %s", problem)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the registry: %w", err)
	}
	c := &Client{base: strings.TrimRight(address, "/"), host: u.Host}
	c.client = &http.Client{
		Timeout:       requestTimeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: checkRedirect,
	}
	return c, nil
}

// Host is the host of the registry.
func (c *Client) Host() string { return c.host }

// AddressProblem says why a text is not the address of a registry; empty: it is one.
func AddressProblem(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Sprintf("%q is not an address; allowed are addresses such as %s", clip.Line(address, 200), Public)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "may have no user, query or fragment"
	}
	return ""
}

// redirectError is a redirect that is not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("it redirects to %s, and legwork follows no redirect to another host; if that host is the right one, name it with --registry", e.to)
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return &redirectError{r.URL.Scheme + "://" + r.URL.Host}
	}
	if len(via) > maxRedirects {
		return errors.New("it redirects again and again")
	}
	return nil
}

// Found is what a search found.
type Found struct {
	Servers    []Server // without deleted ones
	More       bool     // there are more
	Unreadable int      // servers of the answer that do not have the documented form
}

// Search finds the newest versions of servers whose name, title and description hold all
// words. Registries search for one text in names alone, so it asks for each word.
func (c *Client) Search(ctx context.Context, words []string, most int) (Found, error) {
	lower := strings.Fields(strings.ToLower(strings.Join(words, " ")))
	search := search{client: c, words: lower, most: most, seen: map[string]bool{}}
	for _, word := range lower[:min(len(lower), maxWords)] {
		if err := search.ask(ctx, word); err != nil {
			return Found{}, fmt.Errorf("asking the registry %s: %w", c.host, err)
		}
		if len(search.found.Servers) == most {
			break
		}
	}
	return search.found, nil
}

// search is one run of Search.
type search struct {
	client *Client
	words  []string // in lower case
	most   int
	seen   map[string]bool // names
	found  Found
}

// serverList is a page of a list.
type serverList struct {
	Servers  *[]json.RawMessage `json:"servers"`
	Metadata struct {
		NextCursor string `json:"nextCursor"`
	} `json:"metadata"`
}

// ask adds the servers whose name holds a word and that fit.
func (s *search) ask(ctx context.Context, word string) error {
	cursor := ""
	for range maxPages {
		list, err := s.client.list(ctx, word, cursor)
		if err != nil {
			return err
		}
		for _, raw := range *list.Servers {
			server, err := read(raw)
			switch {
			case err != nil:
				s.found.Unreadable++
			case server.Status == Deleted || s.seen[server.Name] || !server.has(s.words):
			case len(s.found.Servers) == s.most:
				s.found.More = true
				return nil
			default:
				s.seen[server.Name] = true
				s.found.Servers = append(s.found.Servers, server)
			}
		}
		next := list.Metadata.NextCursor
		if next == "" || next == cursor {
			return nil
		}
		cursor = next
	}
	s.found.More = true
	return nil
}

// list returns a page of the servers whose name holds a word.
func (c *Client) list(ctx context.Context, word, cursor string) (list serverList, err error) {
	query := url.Values{"version": {"latest"}, "limit": {strconv.Itoa(pageSize)}, "search": {word}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	body, err := c.get(ctx, "/v0.1/servers?"+query.Encode())
	if errors.Is(err, ErrNotFound) {
		return list, errors.New("it has no list of servers at /v0.1/servers, so it is no MCP registry, or an older one")
	}
	if err == nil && (json.Unmarshal(body, &list) != nil || list.Servers == nil) {
		return list, errors.New("its answer has no list of servers, so it is no MCP registry")
	}
	return list, err
}

// Server returns one version of a server; version may be "latest". The error is
// ErrNotFound when there is none.
func (c *Client) Server(ctx context.Context, name, version string) (Server, error) {
	body, err := c.get(ctx, "/v0.1/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version))
	var s Server
	if err == nil {
		s, err = read(body)
	}
	if err == nil && (s.Name != name || version != "latest" && s.Version != version) {
		err = fmt.Errorf("it answers with %s %s, which was not asked for", s.Name, s.Version)
	}
	if err != nil {
		return Server{}, fmt.Errorf("asking the registry %s: %w", c.host, err)
	}
	return s, nil
}

// get returns the JSON at a path.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	r.Header.Set("Accept", "application/json, application/problem+json")
	res, err := c.client.Do(r)
	if err != nil {
		return nil, explain(err)
	}
	defer res.Body.Close()
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		after := ""
		if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds < 1e6 {
			after = fmt.Sprintf("; try again in %v", time.Duration(seconds)*time.Second)
		}
		return nil, errors.New("it limits the rate of requests" + after)
	case res.StatusCode == http.StatusNotFound && isJSON:
		return nil, ErrNotFound
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers with the status %d", res.StatusCode)
	case !isJSON:
		return nil, fmt.Errorf("it answers with %q and not with JSON, so it is no MCP registry; check its address", clip.Line(media, 100))
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, explain(err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("its answer is larger than %d MiB", maxAnswer>>20)
	case !json.Valid(bytes.TrimSpace(body)):
		return nil, errors.New("its answer is not JSON")
	}
	return body, nil
}

// explain is an error of a connection without the address in front.
func explain(err error) error {
	var redirect *redirectError
	var wrapped *url.Error
	switch {
	case errors.As(err, &redirect):
		return redirect
	case errors.As(err, &wrapped) && wrapped.Timeout():
		return fmt.Errorf("it does not answer within %v", requestTimeout)
	case errors.As(err, &wrapped):
		return fmt.Errorf("it cannot be reached: %w", wrapped.Err)
	}
	return fmt.Errorf("reading its answer: %w", err)
}
