package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// paper is a PDF of one page with one line.
func paper(line string) []byte {
	page := "BT /F1 12 Tf 72 720 Td (" + line + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(page), page),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	text, table := "%PDF-1.4\n", fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(text))
		text += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return fmt.Appendf(nil, "%s%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", text, table, len(objects)+1, len(text))
}

// built is an environment whose groups are servers that are part of legwork.
func built(t *testing.T, o orders, servers, groups string) *env {
	t.Helper()
	w := newEnv(t, options{think: o.think})
	w.desks(servers, groups)
	return w
}

// TestWeb: a page is read as Markdown and a PDF as text; addresses that are not
// public are refused, also by way of a redirect.
func TestWeb(t *testing.T) {
	t.Parallel()
	inner, inside := counting(t, "127.0.0.3:0", "the secrets of the house")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<html><head><title>Bread</title></head><body><nav>menu</nav><article><h1>Bread</h1><p>Bread is made of <b>flour</b> and water, and it takes an oven and some patience to become good.</p></article></body></html>")
		case "/paper":
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = w.Write(paper("Bread rises slowly"))
		case "/trick":
			http.Redirect(w, r, inner, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	w := built(t, orders{}, "  web: {builtin: web, options: {allow_ranges: [127.0.0.1/32]}}\n  strict: {builtin: web}\n", "  web: {servers: [web]}\n  strict: {servers: [strict]}\n")
	p := w.start("chat", "--json")
	for i, c := range []struct{ group, url, want string }{
		{"web", site.URL + "/page", "**flour**"},
		{"web", site.URL + "/paper", "Bread rises slowly"},
		{"web", site.URL + "/trick", "127.0.0.3"},
		{"web", inner, "127.0.0.3"},
		{"web", "file:///etc/passwd", "http"},
		{"strict", site.URL + "/page", "127.0.0.1"},
		{"strict", "http://169.254.169.254/latest/meta-data/", "169.254.169.254"},
	} {
		id := fmt.Sprintf("q%d", i)
		answer := p.ask(id, fmt.Sprintf(`%s: %s fetch {"url":"%s"}`, id, c.group, c.url))
		p.says(answer, false, c.want)
		if strings.Contains(answer.Text, "root:") || strings.Contains(answer.Text, "secrets of the house") {
			t.Errorf("%s brought %q", c.url, answer.Text)
		}
	}
	p.end()
	if n := inside.Load(); n != 0 {
		t.Errorf("%d connections to an address that is not allowed, want none", n)
	}
}

// TestSearch: what an endpoint like SearXNG finds is shown, and its pages may be
// read without a question, for a search that the admin configured found them.
func TestSearch(t *testing.T) {
	t.Parallel()
	page, visits := counting(t, "127.0.0.1:0", "It rises in the oven.")
	searx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("q") != "bread" || r.FormValue("format") != "json" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"query":"bread","number_of_results":1,"results":[{"url":%q,"title":"All about bread","content":"Flour and <b>water</b>.","engine":"fake"}]}`, page+"/bread")
	}))
	t.Cleanup(searx.Close)
	w := built(t, orders{words: map[string]string{"FOUND": page + "/bread"}},
		fmt.Sprintf("  search: {builtin: search, options: {url: %q}}\n  web: {builtin: web, options: {allow_ranges: [127.0.0.1/32]}}\n", searx.URL), "  web: {servers: [search, web]}\n")
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: web search {"query":"bread"} then fetch {"url":"FOUND"}`), false, "It rises in the oven.")
	p.end()
	if len(w.asked("All about bread")) == 0 || visits.Load() == 0 {
		t.Errorf("the model did not read what was found, or the page: %d visits", visits.Load())
	}
}

// TestFilesPerChat: each chat has files of its own, and what writes asks.
func TestFilesPerChat(t *testing.T) {
	t.Parallel()
	p := options{think: orders{}.think, more: "  files: {servers: [files]}\n"}
	b := newTelegramEnv(t, telegramOptions{options: p})
	b.configure(strings.Replace(b.config, "servers:\n", "servers:\n  files: {builtin: files, options: {root: \"workspace/{chat}\", write: true}}\n", 1))
	b.opens()
	b.Say(b.bob.ID, b.bob, `q1: files write {"path":"plan.txt","content":"buy bread"} then read {"path":"plan.txt"}`)
	card := b.asks(b.bob.ID, "write of the server files", "buy bread")
	b.taps(b.bob, b.bob.ID, card.ID, "Allow once")
	b.sees(b.bob.ID, "[q1]", "buy bread")
	b.Say(b.ann.ID, b.ann, `q2: files list {} and read {"path":"plan.txt"} and read {"path":"../telegram-2/plan.txt"}`)
	answer := b.sees(b.ann.ID, "[q2]", "The tools said")
	if strings.Contains(answer.Text, "buy bread") {
		t.Errorf("another chat's file was read: %q", answer.Text)
	}
	found, err := filepath.Glob(b.file("workspace/*/plan.txt"))
	if err != nil || len(found) != 1 {
		t.Errorf("the files are %q, %v; want one folder with the plan", found, err)
	}
}

// TestMemoryPerPerson: a note for a person comes up where they made it and in
// private, and for no one else; a note for a chat is everybody's there.
func TestMemoryPerPerson(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: orders{}.think, more: "  memory: {servers: [memory], approve: never}\n"}})
	b.configure(strings.Replace(b.config, "servers:\n", "servers:\n  memory: {builtin: memory}\n", 1))
	s := b.opens()
	group := b.group(b.Supergroup("Friends", b.ann, b.bob))
	for i, c := range []struct {
		chat int64
		note string
	}{
		{b.bob.ID, `{"text":"Bob likes plum cake"}`}, {group, `{"text":"Bob brings lemon cake"}`}, {group, `{"text":"We want apple cake","scope":"chat"}`},
	} {
		b.Say(c.chat, b.bob, fmt.Sprintf("/task q%d: memory remember %s", i, c.note))
		b.sees(c.chat, fmt.Sprintf("[q%d]", i))
	}
	s.kill()
	b.opens()
	for i, c := range []struct {
		chat int64
		who  telegramfake.User
		want []string
	}{
		{b.bob.ID, b.bob, []string{"plum", "lemon"}}, {b.ann.ID, b.ann, nil}, {group, b.bob, []string{"lemon", "apple"}}, {group, b.ann, []string{"apple"}},
	} {
		id := fmt.Sprintf("r%d", i)
		b.Say(c.chat, c.who, "/task "+id+`: memory recall {"query":"cake"}`)
		answer := b.sees(c.chat, "["+id+"]")
		for _, kind := range []string{"plum", "lemon", "apple"} {
			if recalled := strings.Contains(answer.Text, kind+" cake"); recalled != slices.Contains(c.want, kind) {
				t.Errorf("%s in chat %d recalls %q, want %q", c.who.Name, c.chat, answer.Text, c.want)
			}
		}
	}
}
