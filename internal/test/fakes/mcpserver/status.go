package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// httpFaults happen to one HTTP request.
func httpFaults() []fault {
	all := []fault{
		{name: "401", does: "ask for a token", message: status(http.StatusUnauthorized, "application/json", `{"error":"invalid_token"}`, "WWW-Authenticate", `Bearer realm="fake", error="invalid_token"`)},
		{name: "403", does: "forbid it, in need of another scope", message: status(http.StatusForbidden, "application/json", `{"error":"insufficient_scope"}`, "WWW-Authenticate", `Bearer error="insufficient_scope", scope="admin"`)},
		{name: "404", does: "know nothing of it", message: status(http.StatusNotFound, "text/plain", "404 page not found")},
		{name: "405", does: "allow POST alone", on: "GET", message: status(http.StatusMethodNotAllowed, "text/plain", "method not allowed", "Allow", "POST")},
		{name: "429", does: "ask to come again in a second", message: status(http.StatusTooManyRequests, "text/plain", "slow down", "Retry-After", "1")},
		{name: "500", does: "break down", message: status(http.StatusInternalServerError, "text/plain", "panic: the shop burnt down")},
		{name: "502", does: "answer like a proxy in front of a dead server", message: status(http.StatusBadGateway, "text/html", page("502 Bad Gateway"))},
		{name: "503", does: "be in maintenance", message: status(http.StatusServiceUnavailable, "text/html", page("Back soon"), "Retry-After", "1")},
		{name: "html", does: "answer 200 with a web page, as the wrong address does", message: status(http.StatusOK, "text/html", page("Welcome"))},
		{name: "type", does: "bring the right answer as text/plain", message: wrongType},
		{name: "nothing", does: "answer 200 without a body", message: status(http.StatusOK, "application/json", "")},
		{name: "accepted", does: "answer 202 to a request, and nothing ever comes", message: status(http.StatusAccepted, "", "")},
		{name: "cut", does: "break the event stream in the middle of an event", message: cut},
		{name: "end", does: "end the event stream before the answer", message: status(http.StatusOK, "text/event-stream", ": soon\n\n")},
		{name: "retry", does: "end the event stream of a call with an id and a retry of 200 ms; the answer is for who comes back with Last-Event-ID", message: retry},
		{name: "bomb", does: "bring 1 GiB as a gzip body of 1 MB", message: bomb},
		{name: "redirect", does: "lead to -to, a loopback address of its own by default", message: func(f *fake, x *exchange) bool { return redirect(x, f.to) }},
		{name: "redirect-file", does: "lead to a file", message: func(_ *fake, x *exchange) bool { return redirect(x, "file:///etc/passwd") }},
		{name: "redirect-loop", does: "lead in circles", message: func(_ *fake, x *exchange) bool { return redirect(x, "/loop") }},
		{name: "session", does: "forget a session at each call after the first -after", on: "tools/call", message: forget},
	}
	for i := range all {
		all[i].only = onHTTP
	}
	return all
}

func page(title string) string {
	return "<!doctype html><html><head><title>" + title + "</title></head><body><h1>" + title + "</h1></body></html>"
}

// status answers a request by HTTP alone; header names and values alternate.
func status(code int, kind, body string, header ...string) func(*fake, *exchange) bool {
	return func(_ *fake, x *exchange) bool {
		if kind != "" {
			x.http.w.Header().Set("Content-Type", kind)
		}
		for i := 0; i+1 < len(header); i += 2 {
			x.http.w.Header().Set(header[i], header[i+1])
		}
		x.http.w.WriteHeader(code)
		_, _ = io.WriteString(x.http.w, body)
		return false
	}
}

func unauthorized(f *fake, x *exchange) {
	f.log.write(entry{Event: "fault", Note: "no token"})
	status(http.StatusUnauthorized, "application/json", `{"error":"invalid_token"}`, "WWW-Authenticate", "Bearer")(f, x)
}

func wrongType(f *fake, x *exchange) bool {
	return status(http.StatusOK, "text/plain", f.answer(x))(f, x)
}

// cut breaks the connection; on -sse that is the stream of the session.
func cut(f *fake, x *exchange) bool {
	if s := f.streams.find(x.session); s != nil && x.http.plain {
		x.back.later(func() {
			x.back.part(`{"jsonrpc":"2.0",`)
			s.cut()
		})
		return false
	}
	x.http.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(x.http.w, "event: message\ndata: {\"jsonrpc\":\"2.0\",")
	x.http.flush()
	panic(http.ErrAbortHandler)
}

// retry keeps the answer for the client to fetch, as servers of the legacy era
// may; the modern one has no such way.
func retry(f *fake, x *exchange) bool {
	if x.session == "" || x.http.plain {
		return f.patch(x)
	}
	text := f.answer(x)
	f.mu.Lock()
	f.kept[x.session] = text
	f.mu.Unlock()
	return status(http.StatusOK, "text/event-stream", "id: kept\nretry: 200\ndata: \n\n")(f, x)
}

// resume brings a kept answer to a GET that asks for it.
func (f *fake) resume(x *exchange) bool {
	if x.http.r.Header.Get(mcp.HeaderLastEventID) != "kept" {
		return false
	}
	f.mu.Lock()
	text := f.kept[x.session]
	delete(f.kept, x.session)
	f.mu.Unlock()
	x.http.stream = true
	x.reply(text)
	<-x.ctx().Done()
	return true
}

func bomb(_ *fake, x *exchange) bool {
	x.http.w.Header().Set("Content-Type", "application/json")
	x.http.w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(x.http.w)
	_, err := io.WriteString(z, `{"jsonrpc":"2.0","id":`+x.id()+`,"result":{"content":[{"type":"text","text":"`)
	for i, piece := 0, strings.Repeat("x", 1<<20); i < 1024 && err == nil; i++ {
		_, err = io.WriteString(z, piece)
	}
	_, _ = io.WriteString(z, `"}]}}`)
	_ = z.Close()
	return false
}

func redirect(x *exchange, to string) bool {
	x.http.w.Header().Set("Location", to)
	x.http.w.WriteHeader(http.StatusTemporaryRedirect)
	return false
}

// forget ends the session of a message; the gate refuses it from now on.
func forget(f *fake, x *exchange) bool {
	if x.session == "" {
		return f.patch(x)
	}
	f.trigger.again()
	f.gate.end(x.session)
	f.refuse(x, f.gate.gone(x))
	return false
}
