package harness

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"legwork/bot/web"
	"legwork/internal/test/harness/record"
)

// webClient is legwork serve with people at the page in the browser. Each has a
// conversation, and an open stream of events that resumes where it was, over all lives.
type webClient struct {
	*chats
	http *http.Client

	wire   sync.Mutex // guards the fields below
	life   int        // -1: none yet
	base   string     // its address; empty: not known yet
	shown  map[string]map[string]web.Post
	files  map[string][]byte // contents by id
	news   chan struct{}     // has a value when a post changed
	misuse []string
}

// webPeople are the people; eve is an admin.
var webPeople = []string{"ann", "ben", "cem", "dan", "eve"}

// webRoom is the id of a person's conversation.
func webRoom(who string) string { return strings.Repeat("0", 26-len(who)) + who }

func newWebClient(ctx context.Context, s *session, seen func()) (client, error) {
	f := &webClient{chats: newChats(s, seen), http: &http.Client{}, life: -1, shown: map[string]map[string]web.Post{}, files: map[string][]byte{}, news: make(chan struct{}, 1)}
	f.watch(ctx, func(ctx context.Context, look func([]record.Post)) {
		var readers sync.WaitGroup
		for _, who := range webPeople {
			readers.Go(func() { f.follow(ctx, who) })
		}
		for ctx.Err() == nil {
			select {
			case <-f.news:
				look(f.view())
			case <-ctx.Done():
			}
		}
		readers.Wait()
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

func (f *webClient) started(*process) {
	f.wire.Lock()
	defer f.wire.Unlock()
	f.life, f.base = f.life+1, ""
	clear(f.pressed)
}

// address is where the present life listens; empty as long as it does not.
func (f *webClient) address() string {
	f.wire.Lock()
	defer f.wire.Unlock()
	if f.base == "" && f.life >= 0 {
		log, err := os.ReadFile(filepath.Join(f.s.dir, fmt.Sprintf("stderr.%d", f.life)))
		if m := listening.FindSubmatch(log); err == nil && m != nil {
			f.base = "http://" + string(m[1])
		}
	}
	return f.base
}

// open sends a request to the present life; nil when it gets no answer.
func (f *webClient) open(ctx context.Context, who, method, path, body, last string) *http.Response {
	base := f.address()
	if base == "" {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, method, base+"/v1/chat/"+path, strings.NewReader(body))
	if err != nil {
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+webSecret(who))
	r.Header.Set("Content-Type", "application/json")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	reply, err := f.http.Do(r)
	if err != nil {
		return nil
	}
	return reply
}

// follow reads the stream of a person over all lives.
func (f *webClient) follow(ctx context.Context, who string) {
	last := "0" // all posts since the beginning
	for ctx.Err() == nil {
		if reply := f.open(ctx, who, http.MethodGet, "events", "", last); reply != nil {
			last = f.read(ctx, who, reply, last)
			_ = reply.Body.Close()
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// read reads events until the stream ends. It returns the id of the last whole event.
func (f *webClient) read(ctx context.Context, who string, reply *http.Response, last string) string {
	if reply.StatusCode != http.StatusOK {
		return last
	}
	in := bufio.NewScanner(reply.Body)
	in.Buffer(nil, 8<<20)
	var id, name, data string
	for in.Scan() {
		key, value, _ := strings.Cut(in.Text(), ": ")
		switch key {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				f.fetch(ctx, who, name, data)
				f.event(who, name, data)
				last = cmp.Or(id, last)
			}
			id, name, data = "", "", ""
		}
	}
	return last
}

// fetch reads the file of a post, in as many lives as it takes.
func (f *webClient) fetch(ctx context.Context, who, name, data string) {
	var p web.Post
	if name != "post" || json.Unmarshal([]byte(data), &p) != nil || p.File == nil {
		return
	}
	for ctx.Err() == nil {
		if reply := f.open(ctx, who, http.MethodGet, "conversations/"+webRoom(who)+"/files/"+string(p.File.ID), "", ""); reply != nil {
			content, err := io.ReadAll(reply.Body)
			_ = reply.Body.Close()
			if err == nil && reply.StatusCode == http.StatusOK {
				f.wire.Lock()
				f.files[string(p.File.ID)] = content
				f.wire.Unlock()
				return
			}
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// event changes what the person sees.
func (f *webClient) event(who, name, data string) {
	f.wire.Lock()
	defer f.wire.Unlock()
	posts := f.shown[who]
	if posts == nil {
		posts = map[string]web.Post{}
		f.shown[who] = posts
	}
	switch name {
	case "post":
		var p web.Post
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			f.misuse = append(f.misuse, "a post is no JSON: "+err.Error())
		} else if p.Seq >= posts[p.ID].Seq {
			posts[p.ID] = p
		}
	case "piece":
		var piece struct {
			Post, Text string
			At         int
		}
		if err := json.Unmarshal([]byte(data), &piece); err != nil {
			f.misuse = append(f.misuse, "a piece is no JSON: "+err.Error())
			return
		}
		p := posts[piece.Post]
		if n := len(utf16.Encode([]rune(p.Text))); n != piece.At || !p.Partial {
			f.misuse = append(f.misuse, fmt.Sprintf("a piece at %d for post %s with %d units", piece.At, piece.Post, n))
			return
		}
		p.Text += piece.Text
		posts[piece.Post] = p
	case "hello":
		if strings.Contains(data, `"reset":true`) {
			f.misuse = append(f.misuse, "a stream cannot be resumed: "+data)
		}
	}
	select {
	case f.news <- struct{}{}:
	default:
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

func (f *webClient) possible(in record.Input) bool {
	switch in.Kind {
	case record.Guidance, record.Stop:
	case record.Decide:
		return f.asks(in)
	case record.DecideCost:
		return f.costs(in)
	default:
		return true
	}
	_, ok := f.board(in.Gate)
	return ok || f.answered(in.Gate) || in.Kind == record.Guidance
}

func (f *webClient) do(in record.Input) bool {
	switch in.Kind {
	case record.Stop:
		return f.stops(in)
	case record.Decide:
		return f.decide(in, f.push)
	case record.DecideCost:
		return f.decideCost(in, f.push)
	case record.Pause, record.Resume:
		in.Text = "/" + in.Text
	case record.Guidance:
	default:
		if in.Apart {
			in.Text = "/task " + in.Text
		}
	}
	if !f.says(in) {
		return false // the browser sends it again, with the same key
	}
	f.done[in.ID] = true
	return true
}

// says sends the message of an input. It reports whether legwork has taken it.
func (f *webClient) says(in record.Input) bool {
	body, err := json.Marshal(map[string]any{"key": in.ID, "text": in.Text})
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply := f.open(ctx, in.From, http.MethodPost, "conversations/"+webRoom(in.From)+"/messages", string(body), "")
	if reply == nil {
		return false
	}
	defer reply.Body.Close()
	var p web.Post
	if reply.StatusCode != http.StatusAccepted || json.NewDecoder(reply.Body).Decode(&p) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[in.From+" "+p.ID] = in.ID
	return true
}

// stops presses Stop once in each life, until the question has its answer.
func (f *webClient) stops(in record.Input) bool {
	if f.answered(in.Gate) {
		return true
	}
	if p, ok := f.board(in.Gate); ok && !f.pressed[in.ID] && slices.Contains(p.Buttons, record.StopLabel) {
		f.pressed[in.ID] = true
		f.push(p, record.StopLabel, in.From)
	}
	return false
}

// push presses a button. Only the owner of a conversation can press there.
func (f *webClient) push(p record.Post, label, by string) {
	who := strings.TrimPrefix(p.Chat, "private ")
	if by != who {
		return
	}
	f.wire.Lock()
	key := fmt.Sprintf("press-%s-%d-%d", p.ID, f.life, record.Hash(label+strconv.FormatInt(time.Now().UnixNano(), 10)))
	f.wire.Unlock()
	body, err := json.Marshal(map[string]any{"key": key, "post": p.ID, "data": p.Data[label]})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if reply := f.open(ctx, who, http.MethodPost, "conversations/"+webRoom(who)+"/press", string(body), ""); reply != nil {
		_ = reply.Body.Close()
	}
}

// disturb cuts all streams.
func (f *webClient) disturb(*rand.Rand) { f.http.CloseIdleConnections() }

func (f *webClient) drain(context.Context) error { return nil }

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
