package harness

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/harness/record"
)

// apiClient is legwork serve with its HTTP API: programs that ask, follow, guide,
// decide and work on contexts of their own, over all lives. Each input is done by
// a goroutine that goes on until it is answered. Outcomes go to a webhook or to a
// chat of Telegram, which is there for nothing else.
type apiClient struct{ *apiWork }

// apiRequests are the requests of all programs, and what they have seen so far.
type apiRequests struct {
	s      *session
	seen   func()
	chat   *telegramClient
	hooks  *hooks
	http   *http.Client
	work   sync.WaitGroup
	begin  func(func(context.Context)) // starts a goroutine with a context that ends with the run
	cancel context.CancelFunc

	streams streams

	mu       sync.Mutex // guards the fields below
	process  *process   // of the present life; nil: none yet
	news     chan struct{}
	wire     []record.Request
	streamed []record.StreamEvent
	asked    []record.Event // approvals that were seen, and decisions that were taken
	recorded []record.Press
	misuse   []string            // replies that no program should get
	tasks    map[string][]string // ids by input: there should be one each
	over     map[string]string   // the ends of tasks, by id
	done     map[string]bool     // inputs
	going    map[string]bool     // likewise, that have begun
	resent   map[string]bool     // likewise, sent again in this life
	feed     chan struct{}       // closed when the stream of all tasks has begun
	final    map[string]record.Context
	listed   []record.Task
	uploaded []record.Upload
	found    map[string]string        // contents of uploads at the end, by token and id
	made     map[string][]record.Sent // by input
	looked   int                      // the life in which the end was read; -1: none
}

func newAPIClient(ctx context.Context, s *session, seen func()) (client, error) {
	chat, err := newTelegramClient(ctx, s, seen)
	if err != nil {
		return nil, err
	}
	requests := &apiRequests{
		s: s, seen: seen, chat: chat, looked: -1, news: make(chan struct{}), feed: make(chan struct{}),
		tasks: map[string][]string{}, over: map[string]string{}, done: map[string]bool{}, going: map[string]bool{}, resent: map[string]bool{},
		final: map[string]record.Context{}, made: map[string][]record.Sent{},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4, ResponseHeaderTimeout: 40 * time.Second}},
	}
	f := &apiClient{&apiWork{requests}}
	if f.hooks, err = newHooks(ctx, f.noticed); err != nil {
		return nil, err
	}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.begin = func(do func(context.Context)) { f.work.Go(func() { do(ctx) }) }
	f.begin(func(ctx context.Context) { f.follow(ctx, ops, "/v1/events", record.All) })
	return f, nil
}

func (f *apiClient) config() string {
	var tokens strings.Builder
	for name, role := range map[string]string{ops: "operator", scout: "agent", writer: "agent"} {
		fmt.Fprintf(&tokens, "    - {name: %s, role: %s, chats: [\"*\"], sha256: %q}\n", name, role, fmt.Sprintf("%x", sha256.Sum256([]byte(secretOf(name)))))
	}
	return f.chat.platform() + "http:\n  listen: \"127.0.0.1:0\"\n  rate: 10000\n  tokens:\n" + tokens.String() +
		fmt.Sprintf("alerts: {webhooks: {ops: {url: %q, secret: %q, kinds: [task.review]}}}\n", f.hooks.url, record.WebhookSecret)
}

// started wakes the programs for a new life.
func (f *apiClient) started(p *process) {
	f.chat.started(p)
	f.mu.Lock()
	f.process = p
	clear(f.resent)
	f.mu.Unlock()
	f.wake()
}

// possible: an input about a task needs its id, and the stream of all tasks begins
// first.
func (f *apiClient) possible(in record.Input) bool { return in.Gate == "" || f.task(in.Gate) != "" }

func (*apiClient) costPending(record.Input) bool { return false }

// do begins an input, once in all lives, and repeats its request in some, with the
// same key.
func (f *apiClient) do(in record.Input) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.going[in.ID] {
		f.going[in.ID] = true
		f.begin(func(ctx context.Context) {
			f.run(ctx, in)
			f.mu.Lock()
			f.done[in.ID] = true
			f.mu.Unlock()
			f.noticed()
		})
	} else if f.done[in.ID] && in.Starts() && !f.resent[in.ID] {
		f.resent[in.ID] = true
		f.begin(func(ctx context.Context) { f.starts(ctx, in) })
	}
	return f.done[in.ID]
}

// run does an input.
func (f *apiClient) run(ctx context.Context, in record.Input) {
	switch in.Kind {
	case record.Plain, record.Planned:
		f.question(ctx, in)
	case record.Guidance, record.Note:
		f.adds(ctx, in)
	case record.Decide:
		f.decides(ctx, in)
	case record.Stop:
		_, _ = f.ask(ctx, call{token: ops, method: http.MethodPost, path: path.Join("/v1/tasks", f.task(in.Gate), "cancel")}, http.StatusOK, http.StatusConflict)
	case record.Merge:
		f.merges(ctx, in)
	case record.Review:
		f.reviews(ctx, in)
	case record.Shared:
		f.shares(ctx, in)
	case record.Pause, record.DecideCost, record.Resume: // there are none here
	}
}

// task is the id of the task of an input; empty as long as it is not known.
func (f *apiRequests) task(input string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ids := f.tasks[input]; len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// begun notes that the stream of all tasks has begun.
func (f *apiRequests) begun() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.feed:
	default:
		close(f.feed)
	}
}

// noticed wakes the run, and all waiting programs, because something was seen.
func (f *apiRequests) noticed() {
	f.wake()
	f.seen()
}

func (f *apiRequests) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.news)
	f.news = make(chan struct{})
}

// await waits for something; false when the run is over. Facts that only
// replies carry wake no waiter, so it also looks now and then.
func (f *apiRequests) await(ctx context.Context, there func() bool) bool {
	for {
		f.mu.Lock()
		news := f.news
		f.mu.Unlock()
		if there() {
			return true
		}
		select {
		case <-news:
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}

// disturb cuts streams, lets the receiver of the webhook fail, or Telegram.
func (f *apiClient) disturb(r *rand.Rand) {
	switch r.IntN(4) {
	case 0, 1:
		f.streams.cut()
	case 2:
		f.hooks.fail(1) // legwork waits a second after it
	case 3:
		f.chat.disturb(r)
	}
}

// gates are the outcomes that streams brought.
func (f *apiClient) gates() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var open []string
	for input, ids := range f.tasks {
		if slices.ContainsFunc(ids, func(id string) bool { return f.over[id] != "" }) {
			open = append(open, "answer "+input)
		}
	}
	return open
}

// finish looks at all contexts once everything was done, and asks for a clean end
// when all is settled.
func (f *apiClient) finish(p *process, settled func() bool) bool {
	f.mu.Lock()
	looked := f.looked
	if looked < p.n {
		f.looked = p.n
		f.begin(f.look)
	}
	f.mu.Unlock()
	if looked < p.n || !settled() {
		return false
	}
	p.terminate()
	return true
}

func (f *apiClient) collect(r *record.Record) {
	f.chat.collect(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Misuse, r.Presses = append(slices.Clone(r.Misuse), f.misuse...), slices.Clone(f.recorded)
	r.Wire, r.Streamed, r.Webhooks = slices.Clone(f.wire), slices.Clone(f.streamed), f.hooks.list()
	r.Tasks, r.Contexts, r.Listed = map[string][]string{}, map[string]record.Context{}, slices.Clone(f.listed)
	for input, ids := range f.tasks {
		r.Tasks[input] = slices.Clone(ids)
	}
	for id, c := range f.final {
		r.Contexts[id] = c
	}
	r.Uploads, r.Made = slices.Clone(f.uploaded), maps.Clone(f.made)
	for i, u := range r.Uploads {
		r.Uploads[i].Found = f.found[u.Token+" "+u.ID]
	}
	r.Events = append(slices.Clone(f.asked), f.outcomes()...)
	slices.SortStableFunc(r.Events, func(a, b record.Event) int { return a.At.Compare(b.At) })
}

func (f *apiClient) drain(ctx context.Context) error { return f.chat.drain(ctx) }

func (f *apiClient) close() error {
	f.cancel()
	f.work.Wait()
	f.http.CloseIdleConnections()
	f.hooks.close()
	return f.chat.close()
}

// look reads all contexts and the list of tasks, as they stand in the end.
func (f *apiClient) look(ctx context.Context) {
	f.mu.Lock()
	var ids []string
	for _, list := range f.tasks {
		ids = append(ids, list...)
	}
	f.mu.Unlock()
	for _, id := range ids {
		if c, ok := f.context(ctx, id); ok {
			f.mu.Lock()
			f.final[id] = c
			f.mu.Unlock()
		}
	}
	f.lookAtFiles(ctx)
	var all []record.Task
	for cursor := ""; ; {
		r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: "/v1/tasks?limit=3&cursor=" + url.QueryEscape(cursor)}, http.StatusOK)
		if !ok {
			return
		}
		page := decoded[struct {
			Items []record.Task
			Next  *string `json:"next_cursor"`
		}](f.apiRequests, r)
		all = append(all, page.Items...)
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	f.mu.Lock()
	f.listed = all
	f.mu.Unlock()
	f.noticed()
}

// context reads one, page by page.
func (f *apiClient) context(ctx context.Context, id string) (whole record.Context, ok bool) {
	for after := 0; ; {
		r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: fmt.Sprintf("/v1/tasks/%s/context?limit=20&after=%d", id, after)}, http.StatusOK)
		if !ok {
			return whole, false
		}
		page := decoded[record.Context](f.apiRequests, r)
		page.Messages = append(whole.Messages, page.Messages...)
		whole = page
		if page.Next == nil {
			break
		}
		after = *page.Next
	}
	r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: "/v1/tasks/" + id}, http.StatusOK)
	whole.Task = decoded[record.Task](f.apiRequests, r)
	return whole, ok
}

// outcomes are the ends that streams brought, as answers.
func (f *apiClient) outcomes() []record.Event {
	var list []record.Event
	for _, t := range f.streamed {
		if t.Event != "end" {
			continue
		}
		for _, in := range f.s.record.Inputs {
			if !in.Question() || !slices.Contains(f.tasks[in.ID], t.Task) {
				continue
			}
			var task record.Task
			_ = json.Unmarshal([]byte(t.Data), &task) // misused has reported it
			e := record.Event{At: t.At, Life: t.Life, Type: "answer", Task: t.Task, Chat: in.Chat, Failed: task.State == "failed"}
			if task.Answer != nil {
				e.Text = *task.Answer
			}
			if record.EndedEarly(in, f.s.record.Inputs) && record.Mark(e.Text) == "" {
				e.Text = "[" + in.ID + "] " + e.Text // stopped before there was an answer
			}
			list = append(list, e)
		}
	}
	return list
}
