package slack

import (
	"errors"
	"io"
	"net/http"
)

// maxAnswer is how much of one answer of the Web API is read, in bytes and
// unpacked.
const maxAnswer = 8 << 20

var errAnswerTooLong = errors.New("the answer is longer than any of Slack's")

// bounded is a transport whose answers end with an error where they would not
// end otherwise.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && resp.Body != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

// CloseIdleConnections lets the client close them.
func (b bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errAnswerTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
