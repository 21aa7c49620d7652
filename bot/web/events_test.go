package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"legwork/bot"
)

// TestEvents: a browser sees changes as they happen, and resumes where it was.
func TestEvents(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	e.say(bob, other, "k", "of bob")
	b := e.stream(ann, "")
	b.next("hello")
	e.say(bob, other, "k2", "more of bob")
	board := e.post(talk, bot.Draft{Kind: bot.KindBoard, Task: "t", Text: "Thinking"})
	first := b.next("post")
	if p := first.post(t); p.ID != board || p.Text != "Thinking" {
		t.Fatalf("got %+v", p)
	}
	e.post(talk, bot.Draft{Kind: bot.KindNotice, Text: "a notice"})
	b.next("post")
	b.leave()
	e.edit(talk, board, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "Done"})

	other := e.stream(ann, "")
	other.next("hello")
	e.want(http.StatusNoContent, ann, "POST", "conversations/"+talk+"/read", fmt.Sprintf(`{"seq":%s}`, board), nil)
	if got, want := other.next("read").data, fmt.Sprintf(`{"conversation":%q,"seq":%s}`, talk, board); got != want {
		t.Fatalf("another browser of the person got %s, want %s", got, want)
	}

	again := e.stream(ann, first.id)
	if v := again.next("hello"); strings.Contains(v.data, "reset") {
		t.Fatalf("got %+v", v)
	}
	for _, want := range []string{"a notice", "Done"} {
		if p := again.next("post").post(t); p.Text != want {
			t.Fatalf("resumed: got %q, want %q", p.Text, want)
		}
	}
	if v := e.stream(ann, "999999").next("hello"); !strings.Contains(v.data, `"reset":true`) {
		t.Fatalf("after a seq that was never given: got %+v, want reset", v)
	}
	for i := range 501 {
		e.post(talk, bot.Draft{Kind: bot.KindNotice, Text: fmt.Sprint(i)})
	}
	if v := e.stream(ann, first.id).next("hello"); !strings.Contains(v.data, `"reset":true`) {
		t.Fatalf("after very many changes: got %+v, want reset", v)
	}
}

// growing is an answer while it is written.
func growing(text string) bot.Draft {
	return bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: text, Partial: true}
}

// pieceData is what an event adds to an answer.
type pieceData struct {
	Conversation, Post, Text string
	At                       int
}

// TestGrowingAnswer: the text of an answer comes in pieces. A browser that joins later
// gets the text so far.
func TestGrowingAnswer(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	board := e.post(talk, bot.Draft{Kind: bot.KindBoard, Task: "t", Text: "Thinking"})
	b := e.stream(ann, "")
	b.next("hello")
	e.edit(talk, board, growing("Grüße 🙂"))
	if p := b.next("post").post(t); p.Text != "Grüße 🙂" || !p.Partial || p.Kind != "answer" {
		t.Fatalf("got %+v", p)
	}
	e.edit(talk, board, growing("Grüße 🙂 aus"))
	var piece pieceData
	if err := json.Unmarshal([]byte(b.next("piece").data), &piece); err != nil || piece != (pieceData{talk, board, " aus", 8}) {
		t.Fatalf("got %+v, %v; the emoji has two units", piece, err)
	}
	late := e.stream(ann, "")
	late.next("hello")
	if p := late.next("post").post(t); p.Text != "Grüße 🙂 aus" {
		t.Fatalf("a browser that came later got %+v", p)
	}
	if p := e.posts(ann, talk)[1]; p.Text != "Grüße 🙂 aus" {
		t.Fatalf("the list has %+v", p)
	}
	e.edit(talk, board, growing("Anders"))
	for _, each := range []*browser{b, late} {
		if p := each.next("post").post(t); p.Text != "Anders" {
			t.Fatalf("a replaced text: got %+v", p)
		}
	}
	e.edit(talk, board, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "Anders ist es.", Footer: "1 s"})
	for _, each := range []*browser{b, late} {
		if v := each.next("post"); v.post(t).Partial || v.id == "" {
			t.Fatalf("the whole answer: got %+v", v)
		}
	}
	e.edit(talk, board, growing("late frame"))
	if p := b.next("post").post(t); p.Text != "late frame" { // it is stored: the post did not grow
		t.Fatalf("got %+v", p)
	}
}

// TestSlowBrowser: a browser that reads nothing delays no other one, and costs no memory
// but the newest form of each post. When it reads again it gets that.
func TestSlowBrowser(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	slow, quick := e.stream(ann, ""), e.stream(ann, "")
	slow.next("hello")
	quick.next("hello")
	post := e.post(talk, bot.Draft{Kind: bot.KindNotice, Text: "0"})
	quick.next("post")
	const last = 300
	for i := range last {
		e.edit(talk, post, bot.Draft{Kind: bot.KindNotice, Text: fmt.Sprint(i+1, " ", fill(100_000))})
		for !strings.HasPrefix(quick.next("post").post(t).Text, fmt.Sprint(i+1, " ")) {
		}
	}
	events := 0
	for text := ""; !strings.HasPrefix(text, fmt.Sprint(last, " ")); events++ {
		text = slow.next("post").post(t).Text
	}
	if events > last {
		t.Errorf("the slow browser got %d events, want fewer than %d: old forms are left out", events, last)
	}
}

// TestManyBrowsers: all browsers of a person get each post.
func TestManyBrowsers(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	var all sync.WaitGroup
	browsers := make([]*browser, 50)
	for i := range browsers {
		browsers[i] = e.stream(ann, "")
		browsers[i].next("hello")
	}
	for _, b := range browsers {
		all.Go(func() {
			for want := 0; want < 5; {
				if b.next("post").post(t).Text == "4" {
					return
				}
			}
		})
	}
	for i := range 5 {
		e.post(talk, bot.Draft{Kind: bot.KindNotice, Text: fmt.Sprint(i)})
	}
	all.Wait()
}

// TestStopped: when the platform ends, streams end, and messages are refused.
func TestStopped(t *testing.T) {
	e := newEnv(t)
	e.say(ann, talk, "k", "hello")
	b := e.stream(ann, "")
	b.next("hello")
	e.stop()
	if _, err := b.in.ReadString('x'); err == nil {
		t.Fatal("the stream goes on")
	}
	e.want(http.StatusServiceUnavailable, ann, "POST", "conversations/"+talk+"/messages", `{"key":"a","text":"hello"}`, nil)
}
