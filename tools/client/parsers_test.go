package client

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"legwork/internal/form"
)

// FuzzResults: whatever a server returns, what a model reads is bounded text,
// and what a person is asked survives being stored.
func FuzzResults(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"a","text":"b"}},{"type":"resource_link","uri":"c"},7],"structuredContent":{"a":1},"isError":true}`,
		`{"contents":[{"uri":"a","blob":"AA=="}],"resources":[{"uri":"a","name":"b","size":3}],"nextCursor":"c"}`,
		`{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":[{"type":"text"}]}],"prompts":[{"name":"a","arguments":[{"name":"b"}]}]}`,
		`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}},"b":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.b/c"}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := resultReader{pictures: maxPictures, maxString: 100, read: "s.read_resource"}
		if res, _, err := r.call(raw, 100); err == nil && (len(res.Text) > 100 || !utf8.ValidString(res.Text)) {
			t.Errorf("%q: got %q, want at most 100 bytes of text", raw, res.Text)
		}
		if res, err := (&resultReader{}).contents(raw, 100); err == nil && len(res.Text) > 100 {
			t.Errorf("%q: got %q, want at most 100 bytes", raw, res.Text)
		}
		if _, err := resourceList([][]byte{raw}, "a"); err != nil {
			_ = readPrompts([][]byte{raw})
		}
		_, _ = promptText(raw)
		_, _ = readSampling(raw)
		checkInputs(t, raw)
	})
}

func checkInputs(t *testing.T, raw []byte) {
	t.Helper()
	in, asks, err := readInputs(raw)
	if err != nil || !asks || !in.needsPerson() {
		return
	}
	out, err := in.outcome()
	if err != nil {
		t.Fatalf("%q: got %v, want a question", raw, err)
	}
	var again inputRequests
	if err := json.Unmarshal(out.state, &again); err != nil || !again.needsPerson() {
		t.Fatalf("%q: the state %s does not ask again: %v", raw, out.state, err)
	}
	again.Answers = map[string]json.RawMessage{}
	if err := again.answer(form.Answer{Action: form.Decline}); err != nil || again.needsPerson() {
		t.Errorf("%q: declined: got %v, and it asks on: %v", raw, err, again.needsPerson())
	}
}
