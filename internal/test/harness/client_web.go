package harness

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"legwork/bot/web"
	"legwork/internal/test/harness/record"
)

// webClient is legwork serve with people at the page in the browser. Each has a
// conversation, an open stream of events that resumes where it was, and a queue of requests
// that the browser repeats until they are answered, over all lives.
type webClient struct {
	*chats
	http    *http.Client
	queues  map[string]chan webRequest // by person
	presses int                        // in all lives; of the run's goroutine
	streams streams

	wire    sync.Mutex // guards the fields below
	process *process   // of the present life; nil: none yet
	shown   map[string]map[string]web.Post
	files   map[string][]byte    // contents by id
	taken   map[string]time.Time // when legwork took the message of an input
	misuse  []string

	news chan struct{} // has a value when a post changed
}

// webRequest is what a person does: it changes their conversation, or reads a file of it.
type webRequest struct {
	method, path string // below the conversation
	body         map[string]string
	want         []int // statuses; others are misuse
	answered     func(reply []byte)
}

// webPeople are the people; eve is an admin.
var webPeople = []string{"ann", "ben", "cem", "dan", "eve"}

// webRoom is the id of a person's conversation.
func webRoom(who string) string { return strings.Repeat("0", 26-len(who)) + who }

func newWebClient(ctx context.Context, s *session, seen func()) (client, error) {
	f := &webClient{
		chats: newChats(s, seen), http: &http.Client{}, queues: map[string]chan webRequest{}, news: make(chan struct{}, 1),
		shown: map[string]map[string]web.Post{}, files: map[string][]byte{}, taken: map[string]time.Time{},
	}
	for _, who := range webPeople {
		f.queues[who], f.shown[who] = make(chan webRequest, 4096), map[string]web.Post{}
	}
	f.watch(ctx, func(ctx context.Context, look func([]record.Post)) {
		var browsers sync.WaitGroup
		for _, who := range webPeople {
			browsers.Go(func() { f.follow(ctx, who) })
			browsers.Go(func() { f.send(ctx, who) })
		}
		for ctx.Err() == nil {
			select {
			case <-f.news:
				look(f.view())
			case <-ctx.Done():
			}
		}
		browsers.Wait()
	})
	return f, nil
}

func (f *webClient) scenario(r *rand.Rand) []record.Input {
	var rooms []room
	for _, who := range webPeople[:3] {
		rooms = append(rooms, room{name: "private " + who, people: []string{who}, apart: true})
	}
	f.setPeople(rooms)
	inputs := chatScenario(r, rooms, room{name: "private eve", people: []string{"eve"}}, room{name: "private dan", people: []string{"dan"}})
	for i := range inputs {
		inputs[i].File = nil // uploads are tried with the API
	}
	return slices.DeleteFunc(inputs, func(in record.Input) bool { return in.Kind == record.Forget || in.Chat == "private dan" })
}

func (f *webClient) config() string {
	var tokens strings.Builder
	for _, who := range webPeople {
		role := "operator"
		if who == "eve" {
			role = "admin"
		}
		fmt.Fprintf(&tokens, "    - {name: %s, role: %s, sha256: %q}\n", who, role, fmt.Sprintf("%x", sha256.Sum256([]byte(webSecret(who)))))
	}
	return "http:\n  listen: \"127.0.0.1:0\"\n  rate: 10000\n  tokens:\n" + tokens.String()
}

// webSecret is the token of a person.
func webSecret(who string) string { return "lw_" + strings.Repeat(who, 17) + "x" }

func (f *webClient) started(p *process) {
	f.wire.Lock()
	defer f.wire.Unlock()
	f.process = p
	clear(f.pressed)
}

// open sends a request to the present life; nil when it gets no answer.
func (f *webClient) open(ctx context.Context, who, method, path, last string, body any) *http.Response {
	f.wire.Lock()
	p := f.process
	f.wire.Unlock()
	if p == nil || p.address() == "" {
		return nil
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil // strings can be written
	}
	r, err := http.NewRequestWithContext(ctx, method, p.address()+"/v1/chat/"+path, bytes.NewReader(text))
	if err != nil {
		return nil // the paths are sound
	}
	r.Header.Set("Authorization", "Bearer "+webSecret(who))
	r.Header.Set("Content-Type", "application/json")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	reply, err := f.http.Do(r)
	if err != nil {
		return nil // legwork was killed, or the connection was cut
	}
	return reply
}

// follow reads the stream of a person over all lives.
func (f *webClient) follow(ctx context.Context, who string) {
	last := "0" // all posts since the beginning
	for ctx.Err() == nil {
		last = f.listen(ctx, who, last)
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// listen reads one connection of a stream. It returns the id of the last whole event.
func (f *webClient) listen(ctx context.Context, who, last string) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.streams.add(cancel)()
	reply := f.open(ctx, who, http.MethodGet, "events", last, nil)
	if reply == nil {
		return last
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		if reply.StatusCode != http.StatusServiceUnavailable {
			f.misused("the stream of %s after %s: status %d", who, last, reply.StatusCode)
		}
		return last
	}
	readEvents(reply.Body, func(id, name, data string) bool {
		f.event(who, name, data)
		last = cmp.Or(id, last)
		return true
	})
	return last
}

// send sends the requests of a person, one after the other.
func (f *webClient) send(ctx context.Context, who string) {
	for {
		select {
		case r := <-f.queues[who]:
			for !f.sent(ctx, who, r) && ctx.Err() == nil {
				select {
				case <-time.After(retryEvery):
				case <-ctx.Done():
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// sent sends a request to the present life. It reports whether it was answered.
func (f *webClient) sent(ctx context.Context, who string, r webRequest) bool {
	reply := f.open(ctx, who, r.method, "conversations/"+webRoom(who)+"/"+r.path, "", r.body)
	if reply == nil {
		return false
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	switch {
	case err != nil, reply.StatusCode == http.StatusServiceUnavailable:
		return false
	case !slices.Contains(r.want, reply.StatusCode):
		f.misused("%s %s of %s, %v: status %d: %s", r.method, r.path, who, r.body, reply.StatusCode, text)
	case r.answered != nil:
		r.answered(text)
		f.seen()
	}
	return true
}

// misused notes a reply that no browser should get.
func (f *webClient) misused(format string, a ...any) {
	f.wire.Lock()
	defer f.wire.Unlock()
	f.misuse = append(f.misuse, fmt.Sprintf(format, a...))
}

// event changes what the person sees.
func (f *webClient) event(who, name, data string) {
	var err error
	switch name {
	case "post":
		var p web.Post
		if err = json.Unmarshal([]byte(data), &p); err == nil {
			f.post(who, p)
		}
	case "piece":
		var p webPiece
		if err = json.Unmarshal([]byte(data), &p); err == nil {
			f.grow(who, p)
		}
	case "hello":
		if strings.Contains(data, `"reset":true`) {
			f.misused("the stream of %s cannot be resumed: %s", who, data)
		}
	}
	if err != nil {
		f.misused("an event %s of %s is no JSON: %v: %s", name, who, err, data)
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// post takes a post, and has the browser load its file.
func (f *webClient) post(who string, p web.Post) {
	f.wire.Lock()
	defer f.wire.Unlock()
	if p.Seq < f.shown[who][p.ID].Seq {
		return
	}
	f.shown[who][p.ID] = p
	if p.File == nil {
		return
	}
	id := string(p.File.ID)
	f.queues[who] <- webRequest{method: http.MethodGet, path: "files/" + id, want: []int{http.StatusOK}, answered: func(content []byte) {
		f.wire.Lock()
		defer f.wire.Unlock()
		f.files[id] = content
	}}
}

// webPiece is what an event adds to a growing answer.
type webPiece struct {
	Post, Text string
	At         int
}

// grow adds a piece to a post.
func (f *webClient) grow(who string, add webPiece) {
	f.wire.Lock()
	p := f.shown[who][add.Post]
	n := len(utf16.Encode([]rune(p.Text)))
	fits := n == add.At && p.Partial
	if fits {
		p.Text += add.Text
		f.shown[who][add.Post] = p
	}
	f.wire.Unlock()
	if !fits {
		f.misused("a piece at %d for post %s of %s with %d units", add.At, add.Post, who, n)
	}
}

// view is what the people see.
func (f *webClient) view() []record.Post {
	f.wire.Lock()
	defer f.wire.Unlock()
	var all []record.Post
	for who, posts := range f.shown {
		for _, p := range posts {
			if p.Mine {
				continue
			}
			out := record.Post{Chat: "private " + who, ID: p.ID, Text: p.Text, To: who + " " + p.ReplyTo, Live: p.Partial && p.Kind == "answer", Data: map[string]string{}}
			if p.File != nil {
				out.File = &record.Sent{Name: p.File.Name, Content: f.files[string(p.File.ID)]}
			}
			if p.Footer != "" {
				out.Text += "\n" + p.Footer
			}
			for _, b := range p.Buttons {
				out.Buttons = append(out.Buttons, b.Label)
				out.Data[b.Label] = b.Data
			}
			all = append(all, out)
		}
	}
	slices.SortFunc(all, func(a, b record.Post) int {
		return cmp.Or(strings.Compare(a.Chat, b.Chat), cmp.Compare(number(a.ID), number(b.ID)))
	})
	return all
}

// possible: legwork joins guidance to a question that it took just before. The question may
// have waited in the queue for long.
func (f *webClient) possible(in record.Input) bool {
	return f.chats.possible(in) && (in.Kind != record.Guidance || f.takenFor(in.Gate) > partGap)
}

// takenFor is how long ago legwork took the message of an input; 0: it did not.
func (f *webClient) takenFor(id string) time.Duration {
	f.wire.Lock()
	defer f.wire.Unlock()
	if at, ok := f.taken[id]; ok {
		return time.Since(at)
	}
	return 0
}

func (f *webClient) do(in record.Input) bool {
	switch in.Kind {
	case record.Stop:
		return f.pressStop(in, func(p record.Post) bool {
			f.push(p, record.StopLabel, in.From)
			return true
		})
	case record.Decide:
		return f.decide(in, f.push)
	case record.DecideCost:
		return f.decideCost(in, f.push)
	}
	taken := f.takenFor(in.ID) > 0
	if !f.done[in.ID] || taken && !f.pressed[in.ID] {
		f.done[in.ID], f.pressed[in.ID] = true, true
		f.says(in)
	}
	return taken
}

// says sends the message of an input; in later lives again, with the same key.
func (f *webClient) says(in record.Input) {
	text := in.Text
	switch {
	case in.Kind == record.Pause, in.Kind == record.Resume:
		text = "/" + text
	case in.Apart:
		text = "/task " + text
	}
	f.queues[in.From] <- webRequest{
		method: http.MethodPost, path: "messages", body: map[string]string{"key": in.ID, "text": text}, want: []int{http.StatusAccepted}, answered: func(reply []byte) {
			var p web.Post
			if err := json.Unmarshal(reply, &p); err != nil || p.ID == "" {
				f.misused("the reply to the message %s is no post: %s", in.ID, reply)
				return
			}
			f.mu.Lock()
			f.asked[in.From+" "+p.ID] = in.ID
			f.mu.Unlock()
			f.wire.Lock()
			if _, again := f.taken[in.ID]; !again {
				f.taken[in.ID] = time.Now()
			}
			f.wire.Unlock()
		},
	}
}

// push presses a button, which may be gone by then.
func (f *webClient) push(p record.Post, label, by string) {
	f.presses++
	f.queues[by] <- webRequest{
		method: http.MethodPost, path: "press", body: map[string]string{"key": fmt.Sprintf("press-%d", f.presses), "post": p.ID, "data": p.Data[label]},
		want: []int{http.StatusAccepted, http.StatusConflict},
	}
}

// disturb cuts all streams.
func (f *webClient) disturb(*rand.Rand) { f.streams.cut() }

// drain waits until the streams of the life have ended.
func (f *webClient) drain(ctx context.Context) error {
	for f.streams.any() {
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.look(f.view())
	return nil
}

func (f *webClient) collect(r *record.Record) {
	r.Posts = f.list()
	f.wire.Lock()
	defer f.wire.Unlock()
	r.Misuse, r.Unconfirmed = slices.Clone(f.misuse), nil
}

func (f *webClient) close() error {
	f.unwatch()
	f.http.CloseIdleConnections()
	return nil
}
