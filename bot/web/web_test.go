package web_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/web"
	"legwork/files"
)

const (
	ann = "web:ann"
	bob = "telegram:7"
)

// say sends a message.
func (e *env) say(person, id, key, text string) (p web.Post) {
	e.Helper()
	body, err := json.Marshal(map[string]any{"key": key, "text": text})
	if err != nil {
		e.Fatal(err)
	}
	e.want(http.StatusAccepted, person, "POST", "conversations/"+id+"/messages", string(body), &p)
	return p
}

// TestGuests: a guest of the chat that the sign-in link came from is one here too.
func TestGuests(t *testing.T) {
	e := newEnv(t)
	e.say("slack:guest", talk, "k1", "hello")
	e.say(ann, strings.Repeat("b", 26), "k2", "hello")
	if m := e.taken(); len(m) != 2 || !m[0].External || m[1].External {
		t.Fatalf("got messages %+v, want the first one of a guest", m)
	}
}

// TestMessages: a message reaches the handler and stays in the conversation, which belongs
// to the person who began it.
func TestMessages(t *testing.T) {
	e := newEnv(t)
	p := e.say(ann, talk, "k1", "What time is it\x00 in Tokyo?")
	again := e.say(ann, talk, "k1", "What time is it in Tokyo?")
	if again.ID != p.ID || !p.Mine || p.Kind != "text" || p.Text != "What time is it in Tokyo?" {
		t.Fatalf("got %+v, then %+v; want one post of the person", p, again)
	}
	taken := e.taken()
	m := taken[0]
	if len(taken) != 2 || taken[1].Key != m.Key || m.Key == "" {
		t.Fatalf("got messages %+v, want the same key twice", taken)
	}
	if m.Chat != (bot.Chat{Platform: "web", ID: talk, Private: true}) || m.From.Key() != ann || m.ID != p.ID || m.Text != p.Text || m.Language != "ru-RU" {
		t.Fatalf("got %+v", m)
	}
	var list struct {
		Items []struct {
			ID, Title, Task string
			Unread          bool
		}
		Next *string `json:"next_cursor"`
	}
	e.want(http.StatusOK, ann, "GET", "conversations", "", &list)
	if len(list.Items) != 1 || list.Items[0].ID != talk || list.Items[0].Title != "What time is it in Tokyo?" || list.Items[0].Unread || list.Next != nil {
		t.Fatalf("got conversations %+v", list)
	}
	answer := e.post(talk, bot.Draft{Kind: bot.KindAnswer, Text: "It is **noon**.", Mark: "t.answer", ReplyTo: p.ID})
	if same := e.post(talk, bot.Draft{Kind: bot.KindAnswer, Text: "It is **noon**.", Mark: "t.answer"}); same != answer {
		t.Fatalf("a repeated mark made post %s beside %s", same, answer)
	}
	e.want(http.StatusOK, ann, "GET", "conversations", "", &list)
	if !list.Items[0].Unread {
		t.Fatal("the answer does not count as unread")
	}
	posts := e.posts(ann, talk)
	if len(posts) != 2 || posts[1].Text != "It is **noon**." || posts[1].Mine || posts[1].At.IsZero() {
		t.Fatalf("got posts %+v", posts)
	}
	e.want(http.StatusNoContent, ann, "POST", "conversations/"+talk+"/read", fmt.Sprintf(`{"seq":%d}`, posts[1].Seq), nil)
	e.want(http.StatusOK, ann, "GET", "conversations?q=NOON+it", "", &list)
	if len(list.Items) != 1 || list.Items[0].Unread {
		t.Fatalf("found %+v, want the conversation, read", list.Items)
	}
	e.want(http.StatusOK, bob, "GET", "conversations", "", &list)
	if len(list.Items) != 0 {
		t.Fatalf("bob sees %+v", list.Items)
	}
	for _, path := range []string{"GET posts", "POST messages", "POST press", "POST read", "DELETE ", "GET files/" + string(files.IDOf(nil))} {
		method, rest, _ := strings.Cut(path, " ")
		body := map[string]string{"messages": `{"key":"x","text":"hi"}`, "press": `{"key":"x","post":"1","data":"s:t"}`, "read": `{"seq":1}`}[rest]
		e.want(http.StatusNotFound, bob, method, strings.TrimSuffix("conversations/"+talk+"/"+rest, "/"), body, nil)
	}
	if n := len(e.taken()); n != 2 {
		t.Fatalf("messages of bob came through: %d", n)
	}
}

// TestBadRequests: requests that say nothing sensible are refused with a problem, and
// change nothing.
func TestBadRequests(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	at := "conversations/" + talk
	for _, c := range []struct {
		person, method, path, body string
		status                     int
	}{
		{"nobody", "GET", "conversations", "", 403},
		{ann, "GET", "nothing", "", 404},
		{ann, "PATCH", "conversations", "", 404},
		{ann, "GET", "conversations?limit=0", "", 422},
		{ann, "GET", "conversations?limit=1000", "", 422},
		{ann, "GET", "conversations?before=x", "", 422},
		{ann, "GET", "conversations/short/posts", "", 422},
		{ann, "GET", "conversations/" + strings.ToUpper(talk) + "/posts", "", 422},
		{ann, "GET", "conversations/" + other + "/posts", "", 404},
		{ann, "GET", at + "/posts?before=-1", "", 422},
		{ann, "GET", at + "/files/../../x", "", 404},
		{ann, "GET", at + "/files/" + string(files.IDOf([]byte("x"))), "", 404},
		{ann, "GET", "events?after=x", "", 422},
		{ann, "POST", at + "/messages", `{"key":"a"}`, 422},
		{ann, "POST", at + "/messages", `{"key":"a","text":" \n"}`, 422},
		{ann, "POST", at + "/messages", `{"text":"a"}`, 422},
		{ann, "POST", at + "/messages", `{"key":"a b","text":"a"}`, 422},
		{ann, "POST", at + "/messages", `{"key":"` + fill(65) + `","text":"a"}`, 422},
		{ann, "POST", at + "/messages", `{"key":"a","text":"a","files":["x"]}`, 422},
		{ann, "POST", at + "/messages", `{"key":"a","text":"a","from":"telegram:1"}`, 400},
		{ann, "POST", at + "/messages", `{"key":`, 400},
		{ann, "POST", at + "/press", `{"key":"a","post":"1","data":"s:other task"}`, 409},
		{ann, "POST", at + "/press", `{"key":"a","post":"x","data":"s:t"}`, 422},
		{ann, "POST", at + "/press", `{"key":"a","post":"77","data":"s:t"}`, 404},
		{ann, "POST", at + "/read", `{"seq":-1}`, 400},
	} {
		var p struct{ Type, Detail string }
		e.want(c.status, c.person, c.method, c.path, c.body, &p)
		if !strings.HasPrefix(p.Type, "urn:legwork:problem:") || p.Detail == "" {
			t.Errorf("%s %s: got %+v, want a problem", c.method, c.path, p)
		}
	}
	if n := len(e.taken()); n != 1 {
		t.Fatalf("%d messages were taken, want 1", n)
	}
}

// TestHandlerFails: a message that was not stored is an error for the browser, which sends
// it again; it is then one post.
func TestHandlerFails(t *testing.T) {
	e := newEnv(t)
	e.handle = func(bot.Message) error { return errRefused }
	e.want(http.StatusInternalServerError, ann, "POST", "conversations/"+talk+"/messages", `{"key":"a","text":"hello"}`, nil)
	e.mu.Lock()
	e.handle = func(bot.Message) error { return nil }
	e.mu.Unlock()
	e.say(ann, talk, "a", "hello")
	if posts := e.posts(ann, talk); len(posts) != 1 || len(e.taken()) != 1 {
		t.Fatalf("got %d posts and %d messages, want 1 and 1", len(posts), len(e.taken()))
	}
}

// TestPress: a press reaches the handler with the button's data, and its note comes back.
func TestPress(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	post := e.post(talk, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "Allow?", Buttons: []bot.Button{{Label: "Allow", Data: "p:t:1", Style: bot.StylePrimary}}, Calls: []bot.Call{{Tool: "notes.append", Arguments: json.RawMessage(`{"text":"<b>"}`)}}})
	e.handle = func(m bot.Message) error {
		if m.Kind != bot.MessagePress || m.ID != post || m.Data != "p:t:1" || m.Text != "fine" {
			t.Errorf("got press %+v", m)
		}
		go func() { _ = e.web.Answer(t.Context(), m, "Done.") }()
		return nil
	}
	var got struct{ Note string }
	e.want(http.StatusAccepted, ann, "POST", "conversations/"+talk+"/press", `{"key":"p","post":"`+post+`","data":"p:t:1","text":"fine"}`, &got)
	if got.Note != "Done." {
		t.Fatalf("got note %q", got.Note)
	}
	asked := e.posts(ann, talk)[1]
	if len(asked.Calls) != 1 || string(asked.Calls[0].Arguments) != `{"text":"\u003cb\u003e"}` || asked.Buttons[0].Style != bot.StylePrimary {
		t.Fatalf("got question %+v", asked)
	}
}

// TestFiles: files of both sides can be read in their conversation, and nowhere else.
func TestFiles(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	e.say(bob, other, "k", "hello")
	e.post(talk, bot.Draft{Kind: bot.KindAnswer, Text: "A chart.", File: &bot.File{Name: "../chart.png", Type: "image/png", As: bot.AsPhoto, Content: []byte("PNG")}})
	sent := e.posts(ann, talk)[1].File
	if sent == nil || sent.Name != "chart.png" || sent.As != bot.AsPhoto || sent.Bytes != 3 {
		t.Fatalf("got file %+v", sent)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+"/v1/chat/conversations/"+talk+"/files/"+string(sent.ID), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Person", ann)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if content, _ := io.ReadAll(reply.Body); !bytes.Equal(content, []byte("PNG")) || !strings.HasPrefix(reply.Header.Get("Content-Disposition"), "attachment") || reply.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("got %q with %v", content, reply.Header)
	}
	e.want(http.StatusNotFound, bob, "GET", "conversations/"+other+"/files/"+string(sent.ID), "", nil)

	upload := string(files.IDOf([]byte("abc")))
	var p web.Post
	e.want(http.StatusAccepted, ann, "POST", "conversations/"+talk+"/messages", `{"key":"f","files":["`+upload+`"]}`, &p)
	if m := e.taken()[2]; len(m.Files) != 1 || m.Files[0].Ref != "kept:"+upload || m.Files[0].Kind != bot.AttachPhoto || len(p.Files) != 1 {
		t.Fatalf("got message %+v and post %+v", m, p)
	}
	_, err = e.web.Post(t.Context(), bot.Chat{Platform: web.Name, ID: talk}, bot.Draft{Kind: bot.KindNotice, Text: "x", File: &bot.File{Name: "empty"}})
	if !errors.Is(err, bot.ErrNoFiles) {
		t.Fatalf("an empty file: got %v, want ErrNoFiles", err)
	}
}

// TestForgot: open pages are emptied when /forget has deleted the posts, and show what
// comes after them.
func TestForgot(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	b := e.stream(ann, "")
	b.next("hello")
	chat := bot.Chat{Platform: web.Name, ID: talk}
	if _, err := e.store.Forget(t.Context(), chat.Key()); err != nil {
		t.Fatal(err)
	}
	e.web.Forgot(t.Context(), chat)
	if v := b.next("emptied"); !strings.Contains(v.data, talk) {
		t.Fatalf("got %+v", v)
	}
	e.post(talk, bot.Draft{Kind: bot.KindNotice, Text: "deleted"})
	if v := b.next("post"); !strings.Contains(v.data, "deleted") {
		t.Fatalf("got %+v", v)
	}
}

// TestForget: a conversation that is deleted is gone for browsers and for tasks.
func TestForget(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	post := e.post(talk, bot.Draft{Kind: bot.KindNotice, Text: "x"})
	b := e.stream(ann, "")
	b.next("hello")
	e.want(http.StatusNoContent, ann, "DELETE", "conversations/"+talk, "", nil)
	if v := b.next("gone"); !strings.Contains(v.data, talk) {
		t.Fatalf("got %+v", v)
	}
	e.want(http.StatusNotFound, ann, "GET", "conversations/"+talk+"/posts", "", nil)
	chat := bot.Chat{Platform: web.Name, ID: talk}
	if _, err := e.web.Post(t.Context(), chat, bot.Draft{Text: "x"}); !errors.Is(err, bot.ErrGone) {
		t.Fatalf("posting: got %v, want ErrGone", err)
	}
	if err := e.web.Edit(t.Context(), chat, post, bot.Draft{Text: "x"}); !errors.Is(err, bot.ErrGone) {
		t.Fatalf("editing: got %v, want ErrGone", err)
	}
}

// TestDirect: notices for a person come in a conversation of their own, once the person
// has written here.
func TestDirect(t *testing.T) {
	e := newEnv(t)
	if _, err := e.web.Direct(t.Context(), "ann"); !errors.Is(err, bot.ErrGone) {
		t.Fatalf("a person who never wrote: got %v, want ErrGone", err)
	}
	e.say(ann, talk, "k", "hello")
	c, err := e.web.Direct(t.Context(), "ann")
	if err != nil || !c.Private || c.ID == talk {
		t.Fatalf("got %+v, %v", c, err)
	}
	e.post(c.ID, bot.Draft{Kind: bot.KindNotice, Text: "The config is in use again."})
	if posts := e.posts(ann, c.ID); len(posts) != 1 {
		t.Fatalf("got %+v", posts)
	}
}

// TestBoard: the board of a task comes with the times of its sub-tasks.
func TestBoard(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	e.post(talk, bot.Draft{Kind: bot.KindBoard, Task: "t", Text: "Working", Board: &bot.Board{Title: "hello", Status: "Working", Items: []bot.Item{{ID: "1/a", Title: "Look", Group: "web", State: "working", Elapsed: 1500 * time.Millisecond}}}})
	got := e.posts(ann, talk)[1].Board
	if got == nil || len(got.Items) != 1 || got.Items[0].ElapsedMS != 1500 || got.Items[0].Group != "web" {
		t.Fatalf("got board %+v", got)
	}
}
