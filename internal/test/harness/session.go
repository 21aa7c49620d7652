package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
)

// haste is how many times faster the time of the chat platforms goes, and
// second how long one of their seconds lasts then.
const (
	haste  = 4
	second = time.Second / haste
)

// session is a run in progress. One goroutine owns all fields but notes.
type session struct {
	h        *Harness
	dir      string
	fault    string
	order    Order
	rand     *rand.Rand
	client   client
	wire     string    // the model's log
	database *database // nil: a data file

	ahead       time.Duration // of legwork's wall clock
	due         time.Time     // when its schedules fire, by its clock
	record      record.Record
	sent        map[string]bool
	accepted    map[string]bool
	gates       map[string]bool // "work q1", "answer q1"
	seen        int             // things on the wires in this life
	all         int             // and in all lives
	disturbAt   []int           // after how many of them the platform fails
	maintainAt  []int           // after how many of them an operator maintains the data
	maintained  int
	maintaining sync.WaitGroup
	backups     chan string // files that were reported as made
	notes       chan string // "work q1", or empty for anything else that was seen
}

// Run does one run in dir, a new folder, which the caller removes.
func (h *Harness) Run(ctx context.Context, o Order) (r record.Record, dir string, err error) {
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	dir, err = os.MkdirTemp(h.Dir, fmt.Sprintf("seed-%d-", o.Seed))
	if err != nil {
		return r, dir, err
	}
	s := &session{
		h: h, dir: dir, fault: o.Fault, order: o, rand: rand.New(rand.NewPCG(uint64(o.Seed), 1)), wire: filepath.Join(dir, "model.jsonl"),
		record: record.Record{Seed: o.Seed, Client: o.Client, DoneAt: map[string]time.Time{}}, sent: map[string]bool{}, accepted: map[string]bool{}, gates: map[string]bool{},
		notes: make(chan string, 4096), backups: make(chan string, 8),
	}
	if o.Server != nil {
		if s.database, err = openDatabase(o.Server, o.Seed, filepath.Join(dir, "database.log")); err != nil {
			return r, dir, err
		}
		defer func() { err = errors.Join(err, s.database.close(&r)) }()
	}
	if s.client, err = s.openClient(ctx, func() { s.notify(ctx, "") }); err != nil {
		return r, dir, err
	}
	s.record.Inputs = s.client.scenario(s.rand)
	s.setBudget()
	for range s.rand.IntN(4) {
		s.disturbAt = append(s.disturbAt, 10+s.rand.IntN(80))
	}
	if s.rand.IntN(3) == 0 {
		s.maintainAt = []int{5 + s.rand.IntN(60), 65 + s.rand.IntN(60)}
	}
	s.due = time.Now().Truncate(time.Minute).Add(3 * time.Minute)
	if err := s.keepFiles(); err != nil {
		return r, dir, err
	}
	err = s.serve(ctx)
	s.client.collect(&s.record)
	s.keepPosts()
	if closed := s.client.close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.gather(&s.record)
	}
	return s.record, dir, err
}

// serve starts the model endpoint and runs legwork's lives.
func (s *session) serve(ctx context.Context) error {
	brain := llmfake.Brain{First: 20 * time.Millisecond, PerToken: 3 * time.Millisecond, Heard: s.heard()} // some ten times faster than real ones
	if s.lasting() {
		brain.PerToken = 8 * time.Millisecond // answers grow visibly
	}
	model, err := llmfake.Start(llmfake.Options{Models: []string{"fake", "whisper-1", "gpt-image-1", "tts-1"}, Log: s.wire, Respond: func(r llmfake.Request) llmfake.Response {
		note := "model"
		if task, ok := r.Tagged("task"); ok {
			id, _, _ := strings.Cut(task, " ")
			note = "work " + id
		}
		s.notify(ctx, note)
		response := brain.Respond(r)
		response.Usage = usageOf(r, response)
		return response
	}, Media: func(r llmfake.Request) llmfake.Response {
		s.notify(ctx, "media")
		return brain.Media(r)
	}})
	if err != nil {
		return err
	}
	err = s.run(ctx, model.URL)
	if closed := model.Close(); err == nil {
		err = closed
	}
	return err
}

// lasting reports that messages stay on the screen.
func (s *session) lasting() bool { return s.order.Client != record.Terminal && s.order.Client != "" }

// keepPosts writes the posts at the end to a file, for people.
func (s *session) keepPosts() {
	if text, err := json.MarshalIndent(s.record.Posts, "", "\t"); err == nil && s.lasting() {
		_ = os.WriteFile(filepath.Join(s.dir, "posts.json"), text, 0o600) // only people read it
	}
}

// gather reads the logs of the model and of the tools.
func (s *session) gather(r *record.Record) (err error) {
	if r.Model, err = llmfake.ReadLog(s.wire); err != nil {
		return err
	}
	r.Calls, r.Elicitations = nil, nil
	for n := range r.Lives {
		if err := r.ReadCalls(s.calls(n), n); err != nil {
			return err
		}
	}
	return nil
}

// notify wakes the run's goroutine because something was seen.
func (s *session) notify(ctx context.Context, note string) {
	select {
	case s.notes <- note:
	case <-ctx.Done():
	}
}

func (s *session) run(ctx context.Context, url string) error {
	if err := s.storeSchedules(ctx, url); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := s.configure(url, n); err != nil {
			return err
		}
		var kill Kill
		if n < len(s.order.Kills) {
			kill = s.order.Kills[n]
		}
		life, err := s.runLife(ctx, n, kill)
		s.record.Lives = append(s.record.Lives, life)
		if err == nil {
			err = s.drained(ctx)
		}
		s.maintaining.Wait() // the next life must not find the data in use
		if s.database != nil {
			s.database.rest()
		}
		if err == nil && !life.Cut() {
			err = s.readData(ctx, life)
		}
		if err != nil || !life.Cut() {
			return err
		}
		if life.Killed && n >= len(s.order.Kills) {
			return fmt.Errorf("life %d was killed by somebody else", n)
		}
	}
}

// readData reads what is stored after the last life. One that hung was killed in the midst
// of something, and says nothing about what should be stored.
func (s *session) readData(ctx context.Context, last record.Life) (err error) {
	damaged := func(err error) {
		if err != nil {
			s.record.Damage = append(s.record.Damage, err.Error())
		}
	}
	if !last.Hung {
		damaged(s.readDisk(ctx))
	}
	s.verifyData(ctx)
	s.record.Ledger, err = s.ledger(ctx)
	damaged(err)
	if err == nil && !last.Hung {
		damaged(s.sweepDisk(ctx))
	}
	s.record.Saved, err = s.saved()
	return err
}

// drained waits until the messages of a life are on the screens.
func (s *session) drained(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s.client.drain(ctx)
}

// calls is the tool server's log of a life.
func (s *session) calls(n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("calls.%d", n))
}

// configure writes the config file of a life. The key tells the model endpoint
// which life asks.
func (s *session) configure(url string, n int) error {
	roles, models := mediaConfig(url, lifeKey(n))
	text := fmt.Sprintf(`language: en
timezone: UTC
data_dir: %q
log: {level: debug}
models:
  main: {base_url: %q, api_key: %q, model: fake, max_output_tokens: 500, price: {input: 1, output: 2}}
%[7]sroles: {plan: main, review: main, work: main, answer: main%[6]s}
servers:
  desk: {command: %[4]q, args: [%[5]s], open_world: false}
  old: {command: %[4]q, args: [-era, legacy, %[5]s], protocol: "2025-11-25", open_world: false}
groups:
  lookup: {description: Looks things up., servers: [desk], tools: [lookup], read_only: ["*"]}
  book: {description: Books things., servers: [desk], tools: [book], approve: never}
  pay: {description: Pays for things., servers: [desk], tools: [pay], approve: writes}
  ask: {description: Asks people., servers: [old], tools: [choose], read_only: ["*"]}
  inquire: {description: Asks people in the newer way., servers: [desk], tools: [choose], read_only: ["*"]}
`, filepath.Join(s.dir, "data"), url, lifeKey(n), s.h.Server, serverArgs(s.calls(n)), roles, models)
	if s.database != nil {
		store, err := s.database.config()
		if err != nil {
			return err
		}
		text += store
	}
	return os.WriteFile(filepath.Join(s.dir, "config.yaml"), []byte(text+s.client.config()+s.schedules()+s.record.Budget.Config()), 0o600)
}

// lifeKey is the API key of a life.
func lifeKey(n int) string { return fmt.Sprintf("life-%d", n) }

// setBudget gives some runs low budgets, which their planned questions may reach.
func (s *session) setBudget() {
	how := record.Hash(fmt.Sprintf("%d budget", s.order.Seed))
	if how%4 > 0 || s.order.Client == record.API {
		return
	}
	b := record.Budget{Asker: how/8%4 > 0}
	if how/4%2 == 0 {
		b.Tokens = 8000 + how/32%3*2000
	} else {
		b.Micros = 9000 + how/32%3*2000
	}
	planned := map[string]int{} // by conversation
	for _, in := range s.record.Inputs {
		if in.Kind == record.Planned {
			planned[in.Chat]++
			b.Asker = b.Asker || s.lasting() && planned[in.Chat] > 1
		}
	}
	s.record.Budget = b
	for _, in := range s.record.Inputs {
		if in.Kind == record.Planned {
			alone := !s.lasting() || planned[in.Chat] == 1 // a task without an answer names no question there
			id := fmt.Sprintf("a%d", len(s.record.Inputs)+1)
			s.record.Inputs = append(s.record.Inputs, record.Input{
				Kind: record.DecideCost, ID: id, Chat: in.Chat, From: in.From, Gate: in.ID, Key: in.ID + " cost of seed " + strconv.FormatInt(s.order.Seed, 10),
				Extends: !alone || (b.Asker || !s.lasting()) && record.Hash(id+in.Text)%4 > 0,
			})
		}
	}
}

// storeSchedules lets legwork store the schedules of the config in a life that is not
// judged, and then sets its clock so far ahead that they fire within a few seconds. A
// schedule that is stored after its minute does not fire until the next day.
func (s *session) storeSchedules(ctx context.Context, url string) error {
	if s.schedules() == "" {
		return nil
	}
	if err := s.configure(url, 0); err != nil {
		return err
	}
	for stored := false; !stored; {
		p, err := s.launch(storing, Kill{})
		if err != nil {
			return err
		}
		stored = p.listened(ctx)
		p.terminate()
		for range p.lines { // until it has ended
		}
		switch life, err := p.wait(); {
		case err != nil:
			return err
		case !stored && ctx.Err() != nil:
			return ctx.Err()
		case !stored && !life.Lost:
			return fmt.Errorf("storing the schedules: legwork has ended, see %s", p.said)
		}
	}
	at := time.Now().Add(time.Second + time.Duration(s.rand.IntN(3000))*time.Millisecond)
	s.ahead = s.due.Sub(at)
	for _, in := range s.record.Inputs {
		if in.Fired {
			s.record.DoneAt[in.ID] = at
		}
	}
	return nil
}

// schedules are those of the config.
func (s *session) schedules() string {
	var b strings.Builder
	for _, in := range s.record.Inputs {
		if in.Fired {
			fmt.Fprintf(&b, "  - {name: %s, when: %q, text: %q, chat: %q, as: %q}\n", in.ID, s.due.UTC().Format("every day 15:04"), in.Text, in.Place, in.As)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "schedules:\n" + b.String()
}

// tokensOfPicture is how many tokens a small picture has in a prompt.
const tokensOfPicture = 85

// usageOf is the usage that the model reports: a token for each four bytes, and some for
// each picture.
func usageOf(r llmfake.Request, said llmfake.Response) *llmfake.Usage {
	out, in := len(said.Text), len(r.Raw)
	for _, m := range r.Messages {
		for _, p := range m.Images {
			in += 4*tokensOfPicture - base64.StdEncoding.EncodedLen(len(p.Data))
		}
	}
	for _, c := range said.ToolCalls {
		out += len(c.Name) + len(c.Arguments)
	}
	return &llmfake.Usage{Input: in / 4, Output: (out + 3) / 4}
}

// serverArgs are the tool server's arguments, as items of a YAML list.
func serverArgs(log string) string { return fmt.Sprintf("-counter, -log, %q", log) }

// recordPress records the press of a button under a question.
func (s *session) recordPress(key, label, by string) {
	s.record.Presses = append(s.record.Presses, record.Press{At: time.Now(), Key: key, Label: label, By: by})
}
