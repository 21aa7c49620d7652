package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestDefinitionsReadTwoWays: a definition in which a key comes again is held
// to every byte of it, since the order of the values, and those that do not
// count, reach models too. Otherwise the order of keys does not matter.
func TestDefinitionsReadTwoWays(t *testing.T) {
	hash := func(tool string) string {
		s := ready(t, scripted(t, tool, func(httpRequest) string { return done }))
		d := s.Catalog().Tools["do"]
		if d == nil {
			t.Fatalf("%s: there is no tool", tool)
		}
		return d.Hash
	}
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{`{"name":"do","description":"x","inputSchema":{"type":"object"}}`, `{"inputSchema": {"type":"object"}, "description":"x","name":"do"}`, true},
		{`{"name":"do","Description":"y","description":"x","inputSchema":{}}`, `{"name":"do","description":"x","Description":"y","inputSchema":{}}`, false},
		{`{"name":"do","inputSchema":{"$comment":"x"}}`, `{"name":"do","inputSchema":{"$comment":"y","$comment":"x"}}`, false},
		{`{"name":"do","inputSchema":{"$comment":"z","$comment":"x"}}`, `{"name":"do","inputSchema":{"$comment":"y","$comment":"x"}}`, false},
		{`{"name":"do","inputSchema":{},"annotations":{"ReadOnlyHint":true,"readOnlyHint":false}}`, `{"name":"do","inputSchema":{},"annotations":{"readOnlyHint":false,"ReadOnlyHint":true}}`, false},
	} {
		if same := hash(c.one) == hash(c.other); same != c.same {
			t.Errorf("%s and %s: the same %v, want %v", c.one, c.other, same, c.same)
		}
	}
}

// TestNamesThatLookTheSame: of two tools whose names people take for one, the second is
// not offered. Names that can be told apart are.
func TestNamesThatLookTheSame(t *testing.T) {
	for _, c := range []struct {
		second string
		same   bool
	}{
		{"ѕend_mail", true},
		{"Send_Mail", false},
		{`send_\u200bmail`, true},
		{"ｓend_mail", true},
		{`send_mail\udb40\udc61`, true},
		{"send_maiI", true},
		{"send_mails", false},
		{"send-mail", false},
		{"sendmail", false},
		{"отправить", false},
	} {
		s := ready(t, scripted(t, `{"name":"send_mail"},{"name":"`+c.second+`"}`, func(httpRequest) string { return done }))
		cat := s.Catalog()
		why := strings.Join(slices.Collect(maps.Values(cat.NotOffered)), "; ")
		if same := strings.HasSuffix(why, `looks like that of the tool "send_mail"`); same != c.same || cat.Tools["send_mail"] == nil || len(cat.Tools)+len(cat.NotOffered) != 2 {
			t.Errorf("%s: got %d tools, the second is not offered because %q; want %v", c.second, len(cat.Tools), why, c.same)
		}
	}
}

// TestHugeNumbers: numbers that would take seconds to be compared are refused, in
// arguments, in results and in schemas.
func TestHugeNumbers(t *testing.T) {
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1e999999,", 50_000), ",") + "]"
	const list = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","minimum":1}}}}`
	tool := fmt.Sprintf(`{"name":"do","inputSchema":%s,"outputSchema":%s}`, list, list)
	s := ready(t, scripted(t, tool, func(httpRequest) string {
		return `{"content":[{"type":"text","text":"done"}],"structuredContent":{"a":` + numbers + `}}`
	}))
	from := time.Now()
	d := s.Catalog().Tools["do"]
	for _, args := range []string{`{"a":` + numbers + `}`, `{"a":[1e999999999]}`} {
		if _, err := d.Check(json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%.30s: got %v, want that it is too large", args, err)
		}
	}
	if _, err := d.Check(json.RawMessage(`{"a":[1e20]}`)); err != nil {
		t.Errorf("a number that many programs can hold: %v", err)
	}
	wantText(t, "do", call(t, s, "do", `{"a":[1]}`), false, "too large")
	odd := ready(t, scripted(t, `{"name":"do","inputSchema":{"type":"object","properties":{"a":{"enum":`+numbers[:20_000]+`1]}}}}`, func(httpRequest) string { return done }))
	wantText(t, "a schema that cannot be used", call(t, odd, "do", `{"a":1}`), false, "done")
	if d := time.Since(from); d > watch.Patience {
		t.Errorf("all of it took %v", d)
	}
}

// TestEndlessChecks: a schema that doubles its work with each level costs a moment,
// and the call is refused.
func TestEndlessChecks(t *testing.T) {
	defs := `"d60":{"type":"object"}`
	for i := range 60 {
		defs += fmt.Sprintf(`,"d%d":{"anyOf":[{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}]}`, i, i+1, i+1)
	}
	recursive := `{"type":"object","properties":{"a":{"$ref":"#"}},"patternProperties":{"a":{"$ref":"#"}}}`
	for name, c := range map[string]struct{ schema, args string }{
		"references": {`{"type":"object","$ref":"#/$defs/d0","$defs":{` + defs + `}}`, `{"a":1}`},
		"nested":     {recursive, strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)},
	} {
		s := ready(t, scripted(t, `{"name":"do","inputSchema":`+c.schema+`}`, func(httpRequest) string { return done }))
		var err error
		d := watch.Work(func() { _, err = s.Catalog().Tools["do"].Check(json.RawMessage(c.args)) })
		if err == nil || !strings.Contains(err.Error(), "too long") || d > watch.Patience {
			t.Errorf("%s: got %v after %v, want that it takes too long", name, err, d)
		}
		if _, err := s.Catalog().Tools["do"].Check(json.RawMessage(`{}`)); name == "nested" && err != nil {
			t.Errorf("%s: a value that is checked soon: %v", name, err)
		}
	}
}

// TestLongSampling: a model call that is too long to be read before agreeing
// to it is refused.
func TestLongSampling(t *testing.T) {
	long := strings.Repeat("word ", 10_000)
	cfg := scripted(t, doTool, func(a httpRequest) string {
		if answers := string(a.params["inputResponses"]); answers != "" || len(a.params["requestState"]) > 0 {
			return `{"content":[{"type":"text","text":"got ` + strings.ReplaceAll(answers, `"`, "'") + `"}]}`
		}
		return `{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"` + long + `"}}]}}}}`
	})
	cfg.Sampling = true
	s := ready(t, cfg)
	r := call(t, s, "do", "{}", func(c *client.Call) {
		c.Sample = func(context.Context, client.Sampling) (client.Sampled, error) {
			t.Error("somebody was asked")
			return client.Sampled{}, nil
		}
	})
	wantText(t, "do", r, false, "got ")
}
