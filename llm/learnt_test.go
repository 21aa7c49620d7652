package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
)

// fakeConfig is one model named main at a strict fake.
func fakeConfig(s *llmfake.Server) llm.Config {
	return llm.Config{Models: map[string]llm.ModelConfig{"main": {BaseURL: s.URL, APIKey: "sk-secret", Model: "fake"}}}
}

// long is a request with so many bytes of text.
func long(bytes int) llm.Request {
	return llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{{Role: llm.User, Content: strings.Repeat("word ", bytes/5)}}}
}

// TestContextIsLearnt: an endpoint that holds less than the config says is
// believed: later prompts are built for what it holds.
func TestContextIsLearnt(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{ContextTokens: 4000, Respond: llmfake.Script(llmfake.Say("fine"))})
	m, _ := open(t, fakeConfig(s))
	before := m.PromptBytes(llm.RoleAnswer)
	_, err := m.Call(t.Context(), long(before), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Problem != llm.TooLong {
		t.Fatalf("error %v, want one of a prompt that is too long", err)
	}
	if got := m.Context(llm.RoleAnswer); got != 4000 {
		t.Errorf("context of %d tokens, want the 4000 that the endpoint named", got)
	}
	after := m.PromptBytes(llm.RoleAnswer)
	if reply, err := m.Call(t.Context(), long(after), nil); err != nil || reply.Text != "fine" {
		t.Errorf("a prompt of %d bytes (before: %d): reply %+v, error %v, want it to fit", after, before, reply, err)
	}
}

// TestContextInTheWordsOfServers: the sizes that the usual servers name.
func TestContextInTheWordsOfServers(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]int{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 90000 tokens.": 8192,
		"the request exceeds the available context size (4096 tokens), try increasing it":                      4096,
		"prompt is too long: 210000 tokens > 100000 maximum":                                                   100000,
		"The input token count (90001) exceeds the maximum number of tokens allowed (32768).":                  32768,
		"maximum context length exceeded":                                                                      128000,
		"maximum context length is 3 tokens":                                                                   128000,
		"This model's maximum context length is 999999 tokens. However, you asked for more":                    128000,
		"maximum context length is 99999999999999999999 tokens":                                                128000,
	} {
		f := newFake(t, status(400, fmt.Sprintf(`{"error":{"message":%s}}`, quote(words))))
		m, _ := open(t, f.config())
		_, err := m.Call(t.Context(), long(400_000), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Problem != llm.TooLong || m.Context("main") != want {
			t.Errorf("%q: error %v, context %d, want it to be too long and a context of %d", words, err, m.Context("main"), want)
		}
	}
}

// TestRoomForTheReply: where prompt and longest reply together are too much, less
// is kept for the reply, at once.
func TestRoomForTheReply(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion)."}}`), sse(whole()))
	m, _ := open(t, f.config())
	reply, err := m.Call(t.Context(), long(4000), nil)
	if err != nil || reply.Text != "Hello there" {
		t.Fatalf("reply %+v, error %v, want Hello there", reply, err)
	}
	if got := f.requests(); len(got) != 2 || !strings.Contains(got[1], `"max_tokens":4096`) {
		t.Errorf("requests %q, want a second one with max_tokens 4096", got)
	}
}

// TestLongDescriptionsOfTools: an endpoint that takes short ones only gets them
// shortened, at once and from then on.
func TestLongDescriptionsOfTools(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{Description: 1024, Respond: llmfake.Script(llmfake.Say("fine"))})
	m, _ := open(t, fakeConfig(s))
	r := ask()
	r.Tools = []llm.Tool{{Name: "a", Description: strings.Repeat("слово ", 400)}}
	for range 2 {
		if reply, err := m.Call(t.Context(), r, nil); err != nil || reply.Text != "fine" {
			t.Fatalf("reply %+v, error %v, want fine", reply, err)
		}
	}
	for _, got := range s.Requests() {
		if n := len(got.Tools[0].Description); n < 900 || n > 1100 {
			t.Errorf("a description of %d bytes, want some 1000", n)
		}
	}
}

// TestAbsurdUsage: what no tokenizer can count is not charged.
func TestAbsurdUsage(t *testing.T) {
	t.Parallel()
	for name, u := range map[string]*llmfake.Usage{
		"negative": {Input: -5, Output: -7}, "a trillion": {Input: 1e12, Output: 1}, "a trillion written": {Input: 9, Output: 1e12}, "none": {},
	} {
		s := llmfake.New(t, llmfake.Options{Respond: llmfake.Script(llmfake.Response{Text: "Hello there", Usage: u})})
		m, _ := open(t, fakeConfig(s))
		reply, err := m.Call(t.Context(), long(4000), nil)
		if err != nil || !reply.Usage.Estimated || reply.Usage.Input < 900 || reply.Usage.Input > 1200 || reply.Usage.Output < 1 || reply.Usage.Output > 20 {
			t.Errorf("%s: usage %+v, error %v, want an estimate near 1000 and 3", name, reply.Usage, err)
		}
	}
}
