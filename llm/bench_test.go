package llm_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"legwork/llm"
)

// BenchmarkCall is a streamed call with a prompt of 200 KiB and 200 deltas;
// BenchmarkPlainHTTP sends and reads the same bytes without understanding them.
func BenchmarkCall(b *testing.B) {
	prompt, body := benchmarkBytes()
	benchmarkCall(b, prompt, body)
}

// BenchmarkShortCall is a plain question: what a call costs beyond the model.
func BenchmarkShortCall(b *testing.B) { benchmarkCall(b, "Hi?", whole()) }

func benchmarkCall(b *testing.B, prompt, body string) {
	f := newFake(b, sse(body))
	m, err := llm.New(f.config(), llm.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	r := llm.Request{Role: llm.RoleWork, Messages: []llm.Message{{Role: llm.User, Content: prompt}}}
	b.ReportAllocs()
	b.SetBytes(int64(len(prompt)))
	for b.Loop() {
		if _, err := m.Call(b.Context(), r, func(llm.Delta) {}); err != nil {
			b.Fatal(err)
		}
		f.bodies, f.headers = f.bodies[:0], f.headers[:0]
	}
}

func BenchmarkPlainHTTP(b *testing.B) {
	prompt, body := benchmarkBytes()
	f := newFake(b, sse(body))
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	b.SetBytes(int64(len(prompt)))
	for b.Loop() {
		resp, err := client.Post(f.URL+"/v1/chat/completions", "application/json", strings.NewReader(prompt))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		f.bodies, f.headers = f.bodies[:0], f.headers[:0]
	}
}

func benchmarkBytes() (prompt, body string) {
	var s strings.Builder
	for i := range 200 {
		s.WriteString(says(fmt.Sprintf("word %d ", i)))
	}
	return strings.Repeat("The quick brown fox. ", 200<<10/21), s.String() + ends("stop") + counts(50000, 600) + done
}
