package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"legwork/internal/test/browser"
)

// TestAsleep: a page that was frozen, and one that was cut off, show what was said
// meanwhile, each post once and in order.
func TestAsleep(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Allow("ERR_|Failed to load|network error|status of 50")
	tab.Fill(ask, "zero")
	tab.Press(kb.Enter)
	tab.Sees("You said: zero")
	address, err := url.Parse(tab.Address())
	if err != nil {
		t.Fatal(err)
	}
	awake := e.enter("operator", browser.Wide)
	awake.Allow("ERR_|Failed to load|network error|status of 50")
	awake.Go(address.String())
	awake.Sees("You said: zero")

	want := []string{"zero", "You said: zero"}
	talk := func(name string) {
		for n := range 10 {
			text := fmt.Sprintf("%s %d.", name, n)
			body := map[string]string{"key": fmt.Sprint(name, n), "text": text}
			if code, reply := e.call("operator", http.MethodPost, "/v1/chat/conversations/"+path.Base(address.Path)+"/messages", body); code != http.StatusAccepted {
				t.Fatalf("saying %q: got %d %s", text, code, reply)
			}
			e.answered(path.Base(address.Path), "You said: "+text)
			want = append(want, text, "You said: "+text)
		}
	}
	same := func(tab *browser.Tab, who string) {
		tab.Sees(want[len(want)-1])
		var got []string
		tab.Eval(`[...document.querySelectorAll("main article .post-text, main article .markdown")].map((e) => e.innerText.trim())`, &got)
		if !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", who, got, want)
		}
	}

	tab.Freeze(true)
	talk("frozen")
	awake.Sees(want[len(want)-1])
	var asleep bool
	if tab.Eval(`!document.body.innerText.includes("frozen")`, &asleep); !asleep {
		t.Error("the page that was to sleep shows what was said meanwhile")
	}
	tab.Freeze(false)
	same(tab, "the page that was frozen")
	same(awake, "the page beside it")

	e.away.Store(true)
	if e.cut() == 0 {
		t.Error("no stream is open")
	}
	talk("cut")
	e.away.Store(false)
	for _, tab := range []*browser.Tab{tab, awake} {
		tab.Eval(`dispatchEvent(new Event("online"))`, nil) // as browsers tell it; without it the page waits for its next try
		same(tab, "a page that was cut off")
	}

	tab.Freeze(true)
	talk("killed")
	e.restart()
	tab.Freeze(false)
	tab.Eval(`dispatchEvent(new Event("online"))`, nil)
	same(tab, "the page that was frozen while legwork was killed")
}

// answered waits until a conversation of the operator has an answer.
func (e *env) answered(conversation, text string) {
	e.t.Helper()
	e.follow("operator", "/v1/chat/events?after=0", func(data string) bool {
		var p struct {
			Conversation, Kind, Text string
			Partial                  bool
		}
		return json.Unmarshal([]byte(data), &p) == nil && p.Conversation == conversation && p.Kind == "answer" && !p.Partial && p.Text == text
	})
}
