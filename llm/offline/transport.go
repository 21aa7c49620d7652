package offline

import (
	"context"
	"io"
	"net/http"
	"sync"

	"legwork/llm"
)

// StandIn answers the calls to those models of a config that are offline; nil
// when there are none.
func StandIn(config llm.Config, o Options) http.RoundTripper {
	for _, m := range config.Models {
		if m.Offline {
			return New(o).Transport()
		}
	}
	return nil
}

// Transport carries requests to a model in the same process: a client of the OpenAI
// protocol reaches it without an address.
func (m *Model) Transport() http.RoundTripper { return transport{m.Handler()} }

type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. The body of the reply is streamed.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	body, out := io.Pipe()
	reply := &reply{body: out, header: http.Header{}, begun: make(chan struct{})}
	stop := context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		t.handler.ServeHTTP(reply, r)
		_ = r.Body.Close()
		reply.WriteHeader(http.StatusOK)
		_ = out.CloseWithError(r.Context().Err()) // nil: io.EOF
	}()
	<-reply.begun
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(reply.status), StatusCode: reply.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: reply.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// reply is one while it is written. The client has it from its first byte on.
type reply struct {
	body   *io.PipeWriter
	status int
	header http.Header
	sent   http.Header // header when the client got it
	begin  sync.Once
	begun  chan struct{}
}

// Header implements http.ResponseWriter.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) {
	r.begin.Do(func() {
		r.status, r.sent = status, r.header.Clone()
		close(r.begun)
	})
}

// Write implements http.ResponseWriter.
func (r *reply) Write(text []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(text)
}
