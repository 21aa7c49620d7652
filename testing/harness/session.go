package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"legwork/fakes/llmfake"
)

// Order is what one run is to do.
type Order struct {
	Seed  int64
	Kills []Kill // one per life; a last life without a kill follows
	Fault string // planted faults, separated by commas
	// Patience is how long the wires may be silent before a life counts as
	// hung; 0: 30 s.
	Patience time.Duration
}

// Kill says when a life ends.
type Kill struct {
	Point string        // "name:n" of a failpoint; empty: by what follows
	After int           // so many things were seen on the wires
	Delay time.Duration // and this time went by
}

// String is the kill as ParseKills reads it; empty for none.
func (k Kill) String() string {
	switch {
	case k.Point != "":
		return k.Point
	case k.After > 0:
		return fmt.Sprintf("%d+%v", k.After, k.Delay)
	}
	return ""
}

// ParseKills reads a list such as "commit.after.replied:2,12+3ms": at the
// second hit of a failpoint in the first life, and 3 ms after the twelfth
// event in the second one.
func ParseKills(list string) ([]Kill, error) {
	var kills []Kill
	for word := range strings.SplitSeq(list, ",") {
		after, delay, random := strings.Cut(word, "+")
		if !random {
			kills = append(kills, Kill{Point: word})
			continue
		}
		n, err := strconv.Atoi(after)
		if err != nil {
			return nil, fmt.Errorf("reading kill %q: %w", word, err)
		}
		d, err := time.ParseDuration(delay)
		if err != nil {
			return nil, fmt.Errorf("reading kill %q: %w", word, err)
		}
		kills = append(kills, Kill{After: n, Delay: d})
	}
	return kills, nil
}

// session is a run in progress. One goroutine owns all but the notes.
type session struct {
	h     *Harness
	dir   string
	fault string
	order Order
	rand  *rand.Rand

	record   Record
	sent     map[string]bool
	accepted map[string]bool
	gates    map[string]bool // "work q1", "answer q1"
	seen     int             // things on the wires in this life
	notes    chan string     // from the model's wire: "work q1", or "model"
}

// Run does one run in dir, a new folder, which the caller removes.
func (h *Harness) Run(ctx context.Context, o Order) (r Record, dir string, err error) {
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	dir, err = os.MkdirTemp(h.Dir, fmt.Sprintf("seed-%d-", o.Seed))
	if err != nil {
		return r, dir, err
	}
	random := rand.New(rand.NewPCG(uint64(o.Seed), 1))
	s := &session{
		h: h, dir: dir, fault: o.Fault, order: o, rand: random,
		record: Record{Seed: o.Seed, Inputs: Scenario(random)},
		sent:   map[string]bool{}, accepted: map[string]bool{}, gates: map[string]bool{},
		notes: make(chan string, 4096),
	}
	brain := llmfake.Brain{First: 5 * time.Millisecond, PerToken: 300 * time.Microsecond}
	wire := filepath.Join(dir, "model.jsonl")
	model, err := llmfake.Start(llmfake.Options{Models: []string{"fake"}, Log: wire, Respond: func(r llmfake.Request) llmfake.Response {
		s.note(ctx, r)
		return brain.Respond(r)
	}})
	if err != nil {
		return r, dir, err
	}
	err = s.run(ctx, model.URL)
	if closed := model.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return s.record, dir, err
	}
	if s.record.Model, err = llmfake.ReadLog(wire); err != nil {
		return s.record, dir, err
	}
	for n := range s.record.Lives {
		calls, err := readCalls(s.calls(n), n)
		if err != nil {
			return s.record, dir, err
		}
		s.record.Calls = append(s.record.Calls, calls...)
	}
	return s.record, dir, nil
}

// note tells the run's goroutine of a request.
func (s *session) note(ctx context.Context, r llmfake.Request) {
	note := "model"
	if task, ok := r.Tagged("task"); ok {
		id, _, _ := strings.Cut(task, " ")
		note = "work " + id
	}
	select {
	case s.notes <- note:
	case <-ctx.Done():
	}
}

func (s *session) run(ctx context.Context, url string) error {
	for n := 0; ; n++ {
		if err := s.configure(url, n); err != nil {
			return err
		}
		var kill Kill
		if n < len(s.order.Kills) {
			kill = s.order.Kills[n]
		}
		life, err := s.live(ctx, n, kill)
		s.record.Lives = append(s.record.Lives, life)
		if err != nil || !life.Killed {
			return err
		}
		if n >= len(s.order.Kills) {
			return fmt.Errorf("life %d was killed by somebody else", n)
		}
	}
}

// calls is the tool server's log of a life.
func (s *session) calls(n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("calls.%d", n))
}

// configure writes the config file of a life. The key tells the model endpoint
// which life asks.
func (s *session) configure(url string, n int) error {
	text := fmt.Sprintf(`language: en
timezone: UTC
data_dir: %q
log: {level: debug}
models:
  main: {base_url: %q, api_key: %q, model: fake}
roles: {plan: main, review: main, work: main, answer: main}
servers:
  desk: {command: %q, args: [%s]}
groups:
  lookup: {description: Looks things up., servers: [desk], tools: [lookup], read_only: ["*"]}
  book: {description: Books things., servers: [desk], tools: [book], approve: never}
`, filepath.Join(s.dir, "data"), url, lifeKey(n), s.h.Server, serverArgs(s.calls(n)))
	return os.WriteFile(filepath.Join(s.dir, "config.yaml"), []byte(text), 0o600)
}

// lifeKey is the API key of a life.
func lifeKey(n int) string { return fmt.Sprintf("life-%d", n) }

// live runs one life to its end.
func (s *session) live(ctx context.Context, n int, k Kill) (Life, error) {
	p, err := s.launch(n, k)
	if err != nil {
		return Life{}, err
	}
	s.seen = 0
	delivered := map[string]bool{} // in this life
	s.deliver(p, delivered)
	silence := time.NewTimer(s.order.Patience)
	defer silence.Stop()
	killer := time.NewTimer(time.Hour)
	defer killer.Stop()
	for {
		if len(s.accepted) == len(s.record.Inputs) {
			_ = p.stdin.Close() // again and again does no harm
		}
		select {
		case e, ok := <-p.lines:
			if !ok {
				return p.wait()
			}
			s.take(e)
		case note := <-s.notes:
			s.gates[note] = true
		case <-killer.C:
			p.kill()
			continue
		case <-silence.C:
			p.life.Hung = true
			p.kill()
			continue
		case <-ctx.Done():
			p.kill()
			for range p.lines { // it ends at once
			}
			life, _ := p.wait()
			return life, ctx.Err()
		}
		silence.Reset(s.order.Patience)
		if s.seen++; k.After > 0 && s.seen == k.After {
			killer.Reset(k.Delay)
		}
		s.deliver(p, delivered)
	}
}

// take notes an event of stdout.
func (s *session) take(e Event) {
	s.record.Events = append(s.record.Events, e)
	switch e.Type {
	case "accepted":
		s.accepted[e.Message] = true
	case "answer":
		s.gates["answer "+mark(e.Text)] = true
	}
}

// deliver sends what may be sent now: inputs that were never accepted, some of
// the others once more, and new ones whose gate is open, each conversation in
// its order.
func (s *session) deliver(p *process, delivered map[string]bool) {
	waiting := map[string]bool{} // conversations
	for _, in := range s.record.Inputs {
		if delivered[in.ID] || waiting[in.Chat] {
			continue
		}
		if !s.sent[in.ID] && !s.open(in) {
			waiting[in.Chat] = true
			continue
		}
		delivered[in.ID] = true
		if s.accepted[in.ID] && s.rand.IntN(3) > 0 {
			continue
		}
		s.sent[in.ID] = true
		p.write(in)
	}
}

func (s *session) open(in Input) bool {
	answered := s.gates["answer "+in.Gate]
	return in.Gate == "" || answered || in.Kind == Guidance && s.gates["work "+in.Gate]
}
