package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/retry"
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
)

// speaks makes a strict fake that answers by a script, and the models that call
// it and really wait.
func speaks(t *testing.T, edit func(*llm.ModelConfig), script ...llmfake.Response) (*llm.Models, *llmfake.Server) {
	t.Helper()
	s := llmfake.New(t, llmfake.Options{Respond: llmfake.Script(script...)})
	cfg := fakeConfig(s)
	if edit != nil {
		with(cfg.Models, "main", edit)
	}
	m, err := llm.New(cfg, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, s
}

// TestNeverEarly: by the endpoint's own clock no request comes before the time
// that it asked for, neither of the call that was refused nor of others.
func TestNeverEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after func() string
		least time.Duration
	}{
		"seconds":      {func() string { return "1" }, time.Second},
		"milliseconds": {func() string { return "700ms" }, 700 * time.Millisecond},
		"a date": {func() string {
			return time.Now().UTC().Truncate(time.Second).Add(2 * time.Second).Format(http.TimeFormat)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var free time.Time // when the next request may come
			s := llmfake.New(t, llmfake.Options{Respond: func(r llmfake.Request) llmfake.Response {
				mu.Lock()
				defer mu.Unlock()
				if !free.IsZero() {
					if early := free.Sub(r.At); early > 0 {
						t.Errorf("a request came %v early", early)
					}
					return llmfake.Say("fine")
				}
				wish := c.after()
				if free = r.At.Add(c.least); c.least == 0 {
					free, _ = http.ParseTime(wish)
				}
				return llmfake.Busy(wish)
			}})
			waits := make(chan any)
			heard := sync.OnceFunc(func() { close(waits) })
			m, err := llm.New(fakeConfig(s), llm.Options{Sleep: func(ctx context.Context, d time.Duration) error {
				heard()
				return retry.Sleep(ctx, d)
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var calls sync.WaitGroup
			call := func() {
				if reply, err := m.Call(t.Context(), ask(), nil); err != nil || reply.Text != "fine" {
					t.Errorf("reply %+v, error %v, want fine", reply, err)
				}
			}
			calls.Go(call)
			<-waits // the refusal has arrived
			for range 5 {
				calls.Go(call)
			}
			calls.Wait()
			if n := len(s.Requests()); n != 7 {
				t.Errorf("%d requests, want the refused one and one for each of six calls", n)
			}
		})
	}
}

// TestWaitThatIsTooLong: a wait beyond the call's time is said, with how long it
// is, and the next call makes no request.
func TestWaitThatIsTooLong(t *testing.T) {
	t.Parallel()
	m, s := speaks(t, nil, llmfake.Busy("7200"), llmfake.Say("fine"))
	for range 3 {
		_, err := m.Call(t.Context(), ask(), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Problem != llm.Busy || e.Wait < 119*time.Minute || e.Wait > 2*time.Hour || !strings.Contains(e.Hint, "asks to wait for") {
			t.Errorf("error %v, wait %v, want Busy for 2 h", err, e.Wait)
		}
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests, want one: the endpoint asked to wait", n)
	}
}

// TestEveryCut: a stream that ends before its end, wherever and however, is
// never taken for a whole reply, and what was shown of it is kept.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	const text = "one two three four"
	whole := llmfake.Response{Text: text}
	size := streamSize(t, whole)
	var faults []llmfake.Fault
	for _, kind := range []llmfake.FaultKind{llmfake.FaultEnd, llmfake.FaultCut, llmfake.FaultReset} {
		for after := range 6 { // the role, four words, the finish reason
			faults = append(faults, llmfake.Fault{Kind: kind, After: after}, llmfake.Fault{Kind: kind, After: after, Begun: true})
		}
		for bytes := 1; bytes < size; bytes += 13 {
			faults = append(faults, llmfake.Fault{Kind: kind, Bytes: bytes})
		}
	}
	var next atomic.Pointer[llmfake.Fault]
	s := llmfake.New(t, llmfake.Options{Respond: func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: text, Fault: *next.Load()}
	}})
	for _, fault := range faults {
		next.Store(&fault)
		m, _ := open(t, fakeConfig(s)) // one that has not seen it fail
		var h hear
		reply, err := m.Call(t.Context(), ask(), h.take)
		var e *llm.Error
		switch {
		case err == nil && (reply.Text != text || h.text != text):
			t.Errorf("%+v: reply %q, streamed %q, want all of it or an error", fault, reply.Text, h.text)
		case err == nil && fault.Kind != llmfake.FaultReset && fault.Bytes > 0 && fault.Bytes < size*6/10:
			t.Errorf("%+v: no error, want one before the finish reason", fault)
		case err == nil:
		case !errors.As(err, &e) || e.Problem != llm.CutOff && e.Problem != llm.Unreachable && e.Problem != llm.Garbage:
			t.Errorf("%+v: error %v, want that it is cut off", fault, err)
		case !strings.HasPrefix(text, e.Partial) || e.Partial != longer(h.text, e.Partial):
			t.Errorf("%+v: kept %q of what was streamed, %q", fault, e.Partial, h.text)
		}
	}
	if len(faults) < 200 {
		t.Errorf("%d cuts, want more than 200", len(faults))
	}
}

func longer(a, b string) string {
	if len(a) > len(b) {
		return a
	}
	return b
}

// streamSize is how many bytes a streamed reply takes on the wire.
func streamSize(t *testing.T, r llmfake.Response) int {
	t.Helper()
	f := llmfake.New(t, llmfake.Options{Respond: llmfake.Script(r)})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer k")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	n := 0
	for buffer := make([]byte, 4096); ; {
		read, err := response.Body.Read(buffer)
		n += read
		if err != nil {
			return n
		}
	}
}

// TestOneByteAfterTheOther: while bytes come, the endpoint is not silent; the
// time of the whole call counts all the same.
func TestOneByteAfterTheOther(t *testing.T) {
	t.Parallel()
	slow := llmfake.Response{Text: "Hello there, slowly", Fault: llmfake.Fault{Kind: llmfake.FaultSlow, Every: time.Millisecond}}
	m, _ := speaks(t, func(c *llm.ModelConfig) { c.IdleTimeout = time.Second }, slow)
	begin := time.Now()
	reply, err := m.Call(t.Context(), ask(), nil)
	if err != nil || reply.Text != slow.Text || time.Since(begin) < time.Second {
		t.Errorf("reply %+v, error %v after %v, want all of it after more than the idle timeout of 1 s", reply, err, time.Since(begin))
	}
	m, s := speaks(t, func(c *llm.ModelConfig) { c.Timeout, c.IdleTimeout = 600*time.Millisecond, 500*time.Millisecond }, slow)
	_, err = m.Call(t.Context(), ask(), nil)
	var e *llm.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "models.main.timeout") || len(s.Requests()) != 1 {
		t.Errorf("error %v after %d requests, want one that names the timeout of the call", err, len(s.Requests()))
	}
}

// TestSilence: no first byte, headers alone, and silence in mid-stream end with
// their timeouts, and are tried again.
func TestSilence(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]llmfake.Response{
		"no first byte": {Fault: llmfake.Fault{Kind: llmfake.FaultHang}},
		"headers alone": {Fault: llmfake.Fault{Kind: llmfake.FaultHead}},
		"in mid-stream": llmfake.Broken(llmfake.FaultStall, 3, "Hello there, whole world"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			short := func(c *llm.ModelConfig) {
				c.IdleTimeout, c.FirstByteTimeout = 3*time.Second, 3*time.Second // a busy machine must not take as long for a reply
			}
			m, s := speaks(t, short, response, llmfake.Say("fine"))
			if reply, err := m.Call(t.Context(), ask(), nil); err != nil || reply.Text != "fine" || len(s.Requests()) != 2 {
				t.Errorf("reply %+v, error %v after %d requests, want fine with the second", reply, err, len(s.Requests()))
			}
		})
	}
}

// TestFloods: what never ends is cut, kept in a bounded amount, and the rest is
// not read.
func TestFloods(t *testing.T) {
	t.Parallel()
	words := says(strings.Repeat("word ", 1<<13))
	for name, c := range map[string]struct {
		message string
		problem llm.Problem
		partial bool
		cause   string
	}{
		"a reply of 100 MiB":       {words, llm.CutOff, true, "far longer"},
		"thinking without end":     {delta(`"reasoning_content":` + quote(strings.Repeat("hm ", 1<<13))), llm.CutOff, false, "far longer"},
		"arguments without end":    {delta(`"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":` + quote(strings.Repeat("x", 1<<15)) + `}}]`), llm.CutOff, false, "far longer"},
		"a billion empty chunks":   {strings.Repeat(delta(`"role":"assistant","padding":"`+strings.Repeat("x", 4000)+`"`), 20), llm.Garbage, false, "longer than a reply of max_output_tokens"},
		"a billion comments":       {strings.Repeat(": still here "+strings.Repeat(".", 1000)+"\n\n", 100), llm.Garbage, false, "longer than a reply of max_output_tokens"},
		"a billion blank lines":    {strings.Repeat("\n", 1<<16), llm.Garbage, false, "longer than a reply of max_output_tokens"},
		"an event without an end":  {strings.Repeat("x", 1<<16), llm.Garbage, false, "4 MiB"},
		"a line of data, unending": {"data: {\"a\":[\n" + strings.Repeat("data: "+strings.Repeat("1,", 1<<12)+"\n", 10), llm.Garbage, false, "4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "wire.jsonl")
			s := llmfake.New(t, llmfake.Options{Log: path, Respond: llmfake.Script(llmfake.Response{
				Text: "the end", Fault: llmfake.Fault{Kind: llmfake.FaultFlood, Message: c.message, After: 100<<20/len(c.message) + 1},
			})})
			m, _ := open(t, fakeConfig(s))
			_, err := m.Call(t.Context(), ask(), nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Problem != c.problem || !strings.Contains(err.Error(), c.cause) || len(e.Partial) > 1<<20 || c.partial != (len(e.Partial) > 1<<19) {
				t.Fatalf("error %.300v with %d bytes kept, want %s by %q", err, len(e.Partial), c.problem, c.cause)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			log, err := llmfake.ReadLog(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range log {
				if entry.Event == llmfake.EventReply || entry.Event == llmfake.EventFault {
					t.Errorf("all 100 MiB were read: %s", entry.Event)
				}
			}
		})
	}
}

// TestOddStreams: unusual streams that can be read are read.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	call := func(index int, id, name string) string {
		return delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":"{}"}}]`, index, id, name))
	}
	for name, c := range map[string]struct {
		body, text, calls string
	}{
		"of another request":          {strings.ReplaceAll(says("Hello")+says(" there"), `{"choices"`, `{"id":"chatcmpl-other","model":"other","choices"`) + ends("stop") + done, "Hello there", ""},
		"no [DONE]":                   {says("Hello there") + ends("stop"), "Hello there", ""},
		"[DONE] twice":                {whole() + done, "Hello there", ""},
		"more after [DONE]":           {whole() + says("and more"), "Hello there", ""},
		"finished twice":              {says("Hello there") + ends("stop") + ends("stop") + done, "Hello there", ""},
		"invalid UTF-8":               {says("Hello") + "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" \xff\xfe there\"}}]}\n\n" + ends("stop") + done, "Hello \ufffd\ufffd there", ""},
		"half a surrogate pair":       {says("Hello") + `data: {"choices":[{"index":0,"delta":{"content":" \ud83d there"}}]}` + "\n\n" + ends("stop") + done, "Hello \ufffd there", ""},
		"two calls of one id":         {call(0, "c", "a") + call(1, "c", "b") + ends("tool_calls") + done, "", "c:a call_2:b"},
		"calls without ids":           {call(0, "", "a") + call(1, "", "b") + ends("tool_calls") + done, "", "call_1:a call_2:b"},
		"calls and reason stop":       {call(0, "c", "a") + ends("stop") + done, "", "c:a"},
		"comments between":            {says("Hello") + ": still here\n\n" + says(" there") + ends("stop") + done, "Hello there", ""},
		"a second choice":             {says("Hello there") + strings.Replace(says("or not"), `"index":0`, `"index":1`, 1) + ends("stop") + done, "Hello there", ""},
		"a web page's content type":   {whole(), "Hello there", ""},
		"usage before and at the end": {counts(1, 1) + says("Hello there") + ends("stop") + counts(10, 2) + done, "Hello there", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := speaks(t, nil, llmfake.Response{Body: c.body, Type: map[bool]string{true: "text/html"}[name == "a web page's content type"]})
			r := ask()
			r.Tools = []llm.Tool{{Name: "a"}, {Name: "b"}}
			reply, err := m.Call(t.Context(), r, nil)
			var calls []string
			for _, call := range reply.ToolCalls {
				calls = append(calls, call.ID+":"+call.Name)
			}
			if err != nil || reply.Text != c.text || strings.Join(calls, " ") != c.calls {
				t.Errorf("reply %q, calls %q, error %v, want %q and %q", reply.Text, calls, err, c.text, c.calls)
			}
		})
	}
}

// TestPartialOfAnyAttempt: the longest text that was cut off is kept, whichever
// attempt or model had written it; not what a filter stopped.
func TestPartialOfAnyAttempt(t *testing.T) {
	t.Parallel()
	cut := func(words string) llmfake.Response { return llmfake.Broken(llmfake.FaultCut, 5, words) }
	for name, c := range map[string]struct {
		main, backup []llmfake.Response
		want         string
	}{
		"of an earlier attempt": {[]llmfake.Response{cut("one two three four five"), llmfake.Status(500)}, []llmfake.Response{llmfake.Status(401)}, "one two three four "},
		"of an earlier model":   {[]llmfake.Response{cut("one two three four five")}, []llmfake.Response{llmfake.Broken(llmfake.FaultCut, 2, "six seven eight")}, "one two three four "},
		"not of a filtered one": {[]llmfake.Response{{Text: "forbidden words", Finish: "content_filter"}}, []llmfake.Response{llmfake.Status(401)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			main := llmfake.New(t, llmfake.Options{Respond: llmfake.Script(c.main...)})
			backup := llmfake.New(t, llmfake.Options{Respond: llmfake.Script(c.backup...)})
			cfg := fakeConfig(main)
			cfg.Models["backup"] = fakeConfig(backup).Models["main"]
			with(cfg.Models, "main", func(m *llm.ModelConfig) { m.Fallback = []string{"backup"} })
			m, _ := open(t, cfg)
			_, err := m.Call(t.Context(), ask(), nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Partial != c.want {
				t.Errorf("error %+v, want %q kept", e, c.want)
			}
		})
	}
}
