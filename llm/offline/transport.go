package offline

import (
	"bytes"
	"io"
	"net/http"

	"legwork/llm"
)

// StandIn answers the calls to those models of a config that are offline; nil
// when there are none.
func StandIn(config llm.Config) http.RoundTripper {
	for _, m := range config.Models {
		if m.Offline {
			return New(Options{}).Transport()
		}
	}
	return nil
}

// Transport carries requests to a model in the same process: a client of the OpenAI
// protocol reaches it without an address.
func (m *Model) Transport() http.RoundTripper { return transport{m.Handler()} }

type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. The reply is whole when it returns.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	reply := &reply{status: http.StatusOK, header: http.Header{}}
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	t.handler.ServeHTTP(reply, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(reply.status), StatusCode: reply.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: reply.header, Body: io.NopCloser(&reply.body), ContentLength: int64(reply.body.Len()), Request: r,
	}, nil
}

// reply is one while it is written.
type reply struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *reply) Write(text []byte) (int, error) { return r.body.Write(text) }
