package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/bot/web"
)

// conversation is the id of one in the web chat.
const conversation = "01jdendtoendconversation01"

// browser is a person at the page, signed in with a token.
type browser struct {
	t       *testing.T
	address string
	token   string
}

// sends sends a request that must have a status.
func (b browser) sends(method, path, body string, want int, into any) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.address+"/v1/chat/"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != want {
		b.t.Fatalf("%s %s: got %d, %v, %s; want %d", method, path, reply.StatusCode, err, text, want)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			b.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

func (b browser) says(key, text string) {
	b.t.Helper()
	b.sends("POST", "conversations/"+conversation+"/messages", fmt.Sprintf(`{"key":%q,"text":%q}`, key, text), http.StatusAccepted, nil)
}

func (b browser) presses(key string, p web.Post, data, more string) {
	b.t.Helper()
	b.sends("POST", "conversations/"+conversation+"/press", fmt.Sprintf(`{"key":%q,"post":%q,"data":%q%s}`, key, p.ID, data, more), http.StatusAccepted, nil)
}

// sees follows all changes since the beginning until a post fits.
func (b browser) sees(what string, fits func(web.Post) bool) (found web.Post) {
	b.t.Helper()
	b.follows(what, func(name, data string) bool {
		if name != "post" {
			return false
		}
		found = web.Post{}
		if err := json.Unmarshal([]byte(data), &found); err != nil {
			b.t.Fatal(err)
		}
		return fits(found)
	})
	return found
}

// follows reads the events from the beginning until one fits.
func (b browser) follows(what string, fits func(name, data string) bool) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, "http://"+b.address+"/v1/chat/events?after=0", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer reply.Body.Close()
	in := bufio.NewScanner(reply.Body)
	in.Buffer(nil, 4<<20)
	name := ""
	for in.Scan() {
		key, value, _ := strings.Cut(in.Text(), ": ")
		switch {
		case key == "event":
			name = value
		case key == "data" && fits(name, value):
			return
		}
	}
	b.t.Fatalf("waiting for %s: the stream ended: %v", what, in.Err())
}

// data is the data of a button.
func data(t *testing.T, p web.Post, label string) string {
	t.Helper()
	for _, b := range p.Buttons {
		if b.Label == label {
			return b.Data
		}
	}
	t.Fatalf("the post has no button %q: %+v", label, p)
	return ""
}

// answers reports whether a post is a whole answer with a text.
func answers(text string) func(web.Post) bool {
	return func(p web.Post) bool { return p.Kind == "answer" && !p.Partial && strings.Contains(p.Text, text) }
}

// TestWebChat: a person asks in the browser, allows a call, changes a plan, finds
// everything there after a restart, and deletes it.
func TestWebChat(t *testing.T) {
	t.Parallel()
	w := &env{t: t, dir: t.TempDir()}
	w.configure(fmt.Sprintf(`models: {main: {offline: true}}
servers: {math: {builtin: math}, notes: {builtin: files, options: {root: %q, write: true}}}
groups: {notes: {description: Saves and reads notes., servers: [notes], tools: [append, read]}, math: {description: Computes., servers: [math]}}
http: {listen: "127.0.0.1:0", tokens: [%s, %s]}
`, filepath.Join(w.dir, "notes"), tokenLine("ann", "operator"), tokenLine("bob", "operator")))
	s := w.serve(tokenOf("ann"))
	ann := browser{t, s.address, tokenOf("ann")}
	ann.says("k1", "Save a note: buy milk")
	ask := ann.sees("the question about the call", func(p web.Post) bool { return p.Kind == "question" && len(p.Buttons) > 0 })
	if len(ask.Calls) != 1 || ask.Calls[0].Tool != "notes.append" || !strings.Contains(string(ask.Calls[0].Arguments), "buy milk") {
		t.Errorf("the question has the calls %+v", ask.Calls)
	}
	ann.presses("k2", ask, data(t, ask, "Allow once"), "")
	ann.sees("the answer", answers("Added 9 bytes"))

	ann.says("k3", "/plan What is 17*23, and what is 2+2?")
	plan := ann.sees("the plan", func(p web.Post) bool { return p.Plan != nil })
	if len(plan.Plan.Items) != 2 {
		t.Fatalf("the plan is %+v", plan.Plan)
	}
	var refused struct {
		Errors []struct{ Location, Message string }
	}
	ann.sends("POST", "conversations/"+conversation+"/press", fmt.Sprintf(`{"key":"k4","post":%q,"data":%q,"plan":[{"id":"x","name":"nothing","description":"look"}]}`, plan.ID, plan.Plan.Data), http.StatusUnprocessableEntity, &refused)
	if len(refused.Errors) != 1 || refused.Errors[0].Location != "body.plan" || !strings.Contains(refused.Errors[0].Message, "nothing") {
		t.Errorf("a plan that does not fit: got %+v", refused)
	}
	ann.presses("k5", plan, plan.Plan.Data, `,"plan":[{"id":"x","name":"math","description":"What is 6*7"}]`)
	ann.sees("the answer to the changed plan", answers("42"))

	s.stops()
	s = w.serve(tokenOf("ann"))
	ann.address = s.address
	var history struct{ Items []web.Post }
	ann.sends("GET", "conversations/"+conversation+"/posts", "", http.StatusOK, &history)
	for _, text := range []string{"Save a note: buy milk", "Added 9 bytes", "42"} {
		if !slices.ContainsFunc(history.Items, func(p web.Post) bool { return strings.Contains(p.Text, text) }) {
			t.Errorf("after the restart no post has %q", text)
		}
	}
	var found struct{ Items []struct{ ID, Title string } }
	ann.sends("GET", "conversations?q="+url.QueryEscape("BUY milk"), "", http.StatusOK, &found)
	if len(found.Items) != 1 || found.Items[0].ID != conversation {
		t.Errorf("found %+v", found)
	}
	bob := browser{t, s.address, tokenOf("bob")}
	bob.sends("GET", "conversations/"+conversation+"/posts", "", http.StatusNotFound, nil)
	asked, emptied := false, false
	ann.follows("that /forget empties the open page", func(name, data string) bool {
		if name == "hello" && !asked {
			asked = true
			ann.says("k6", "/forget yes")
		}
		emptied = emptied || name == "emptied" && strings.Contains(data, conversation)
		return emptied && name == "post" && strings.Contains(data, "Deleted")
	})
	ann.sends("GET", "conversations/"+conversation+"/posts", "", http.StatusOK, &history)
	if len(history.Items) != 1 {
		t.Errorf("after /forget the conversation has %+v, want the reply alone", history.Items)
	}
	ann.sends("DELETE", "conversations/"+conversation, "", http.StatusNoContent, nil)
	ann.sends("GET", "conversations/"+conversation+"/posts", "", http.StatusNotFound, nil)
	s.stops()
}
