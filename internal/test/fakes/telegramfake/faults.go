package telegramfake

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of fault.
const (
	FaultDropBefore = "drop_before" // the connection breaks, nothing is done
	FaultDropAfter  = "drop_after"  // it is done, then the connection breaks
	FaultDelay      = "delay"       // it is done and answered late
	FaultDelayAfter = "delay_after" // it is done at once and answered late
	FaultError      = "error"       // a server error with an HTML body, nothing is done
	FaultBusy       = "busy"        // 429; a call before its time is up is a violation
	FaultDown       = "down"        // every connection breaks, polls that wait too
	FaultRevoked    = "revoked"     // 401
	FaultGarbage    = "garbage"     // it is done, and the answer is no JSON
	FaultHalf       = "half"        // it is done, and the answer ends in the middle
	FaultMarkup     = "markup"      // a text with a parse_mode or a rich message is refused; others do not meet it
)

func (f *Fault) known() bool {
	return slices.Contains([]string{
		FaultDropBefore, FaultDropAfter, FaultDelay, FaultDelayAfter, FaultError,
		FaultBusy, FaultDown, FaultRevoked, FaultGarbage, FaultHalf, FaultMarkup,
		FaultStall, FaultShort, FaultLong, FaultUnavailable,
	}, f.Kind)
}

// Forever as Fault.Count lasts until Heal.
const Forever = -1

// Fault is something that goes wrong with the next calls that it fits.
type Fault struct {
	Kind       string        `json:"kind"`
	Method     string        `json:"method,omitempty"`      // empty: every one
	Chat       int64         `json:"chat,omitempty"`        // 0: every one
	Count      int           `json:"count,omitempty"`       // how many calls; 0: one; Forever
	Skip       int           `json:"skip,omitempty"`        // how many go well before
	Delay      time.Duration `json:"delay,omitempty"`       // nanoseconds, of the delays
	RetryAfter int           `json:"retry_after,omitempty"` // seconds, of FaultBusy; 0: 1
	Status     int           `json:"status,omitempty"`      // of FaultError; 0: 502
}

// Fail adds a fault. A call meets the oldest one that fits. It panics on an
// unknown kind.
func (s *state) Fail(f Fault) {
	if !f.known() {
		panic(fmt.Sprintf("telegramfake: there is no fault of kind %q", f.Kind))
	}
	if f.Count == 0 {
		f.Count = 1
	}
	if f.Status == 0 {
		f.Status = http.StatusBadGateway
	}
	if f.RetryAfter == 0 {
		f.RetryAfter = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	s.change()
}

// Heal takes all faults back, and the waiting times that they set.
func (s *state) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	s.rates.forgive()
	s.change()
}

// isDown is called with the lock held.
func (s *state) isDown() bool {
	return slices.ContainsFunc(s.faults, func(f Fault) bool { return f.Kind == FaultDown && f.Method == "" && f.Count != 0 && f.Skip == 0 })
}

// meet finds the fault of a call, and does what comes before the call itself.
// cut says that the connection must break now.
func (s *state) meet(ctx context.Context, c *call) (f *Fault, cut bool) {
	s.mu.Lock()
	f = s.takeFault(c)
	s.mu.Unlock()
	if f == nil {
		return nil, false
	}
	switch f.Kind {
	case FaultDown, FaultDropBefore:
		s.conclude(c, f, nil)
		return f, true
	case FaultDelay:
		pause(ctx, f.Delay)
	}
	return f, false
}

// takeFault is called with the lock held.
func (s *state) takeFault(c *call) *Fault {
	id, _ := strconv.ParseInt(c.params["chat_id"], 10, 64)
	for i := range s.faults {
		f := &s.faults[i]
		if f.Method != "" && !strings.EqualFold(f.Method, c.entry.Method) || f.Chat != 0 && f.Chat != id || f.Count == 0 ||
			f.Kind == FaultMarkup && c.params["parse_mode"]+c.params["rich_message"] == "" {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		met := *f
		if met.Kind == FaultBusy {
			m := s.methods[strings.ToLower(c.entry.Method)]
			s.rates.lane(m, m.chatOf(id)).hold(s.o.Now(), s.seconds(met.RetryAfter))
		}
		s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool { return f.Count == 0 })
		return &met
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// refusal is what the fault answers in place of doing the call; nil: it is done.
func (f *Fault) refusal() *refusal {
	switch {
	case f == nil:
	case f.Kind == FaultError:
		return &refusal{Code: f.Status, Text: http.StatusText(f.Status)}
	case f.Kind == FaultBusy:
		return busy(f.RetryAfter)
	case f.Kind == FaultMarkup:
		return bad("can't parse entities: unsupported start tag at byte offset 0")
	case f.Kind == FaultUnavailable:
		return bad("wrong file_id or the file is temporarily unavailable")
	case f.Kind == FaultRevoked:
		return &refusal{Code: http.StatusUnauthorized, Text: "Unauthorized"}
	}
	return nil
}

// answer writes the reply, or what the fault makes of it.
func (f *Fault) answer(ctx context.Context, w http.ResponseWriter, result any, why *refusal) {
	if why == gone {
		panic(http.ErrAbortHandler)
	}
	kind := ""
	if f != nil {
		kind = f.Kind
	}
	switch kind {
	case FaultDropAfter:
		panic(http.ErrAbortHandler)
	case FaultDelayAfter:
		pause(ctx, f.Delay)
	case FaultError:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte("<html>\r\n<head><title>" + http.StatusText(f.Status) + "</title></head>\r\n<body><hr>nginx</body>\r\n</html>\r\n"))
		return
	case FaultGarbage:
		_, _ = w.Write([]byte("\x00\x1f\x8b garbage {\"ok\":"))
		return
	case FaultHalf:
		status, body := encode(result, why)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	reply(w, result, why)
}

// rated says which limits a method counts for.
type rated int

const (
	unrated rated = iota
	sends
	previews
)

// The rates of the service, as its documents name them, with some patience.
const (
	chatBurst   = 5   // then one per second
	groupWindow = 20  // per minute
	allRate     = 30  // per second
	allBurst    = 100 // at once
)

// rates are the limits at work. They are guarded by the server's lock.
type rates struct {
	all   lane
	lanes map[string]*lane
}

// lane is what is counted together: the messages of a chat and their edits, its
// previews, or any other method.
type lane struct {
	bucket
	window      []time.Time // of a group: the messages of the last minute
	told, until time.Time   // a waiting time, and when the client was told
}

// bucket fills at a rate up to its burst; the zero value is full.
type bucket struct {
	missing float64
	at      time.Time
}

// wait is how many seconds until there is one.
func (b *bucket) wait(now time.Time, second time.Duration, rate, burst float64) float64 {
	b.missing = max(0, b.missing-rate*float64(now.Sub(b.at))/float64(second))
	b.at = now
	return max(0, (b.missing+1-burst)/rate)
}

func (r *rates) lane(m method, chatID int64) *lane {
	name := strings.ToLower(m.name)
	if chatID != 0 {
		name = strconv.FormatInt(chatID, 10) + " " + name
		if m.rated == sends {
			name = strconv.FormatInt(chatID, 10)
		}
	}
	if r.lanes == nil {
		r.lanes = map[string]*lane{}
	}
	if r.lanes[name] == nil {
		r.lanes[name] = &lane{}
	}
	return r.lanes[name]
}

func (l *lane) hold(now time.Time, d time.Duration) { l.told, l.until = now, now.Add(d) }

func (r *rates) forgive() {
	r.all.until = time.Time{}
	for _, l := range r.lanes {
		l.until = time.Time{}
	}
}

// limit refuses a call that comes too early. One that comes although its client
// was told to wait is a violation and prolongs the wait; a quarter of a second
// is granted to those that were on their way.
func (s *state) limit(c *call) *refusal {
	now, own := s.o.Now(), s.rates.lane(c.method, c.entry.Chat)
	lanes := []*lane{own, &s.rates.all}
	if c.method.rated == unrated {
		lanes = lanes[:1]
	}
	for _, l := range lanes {
		rest := l.until.Sub(now)
		if rest <= 0 {
			continue
		}
		if now.Sub(l.told) > s.o.Second/4 {
			s.violate("%s to chat %d came %.1f s before its retry_after was over", c.method.name, c.entry.Chat, float64(rest)/float64(s.o.Second))
			rest *= 2
			l.hold(now, rest)
		}
		return busy(s.whole(rest))
	}
	if s.o.NoLimits || c.method.rated == unrated {
		return nil
	}
	return s.count(c, own, now)
}

// count takes a place in the lane of the call and among all, if there is one.
func (s *state) count(c *call, own *lane, now time.Time) *refusal {
	group := c.chat.kind != "private"
	one := own.wait(now, s.o.Second, 1, chatBurst)
	if group {
		one = max(one, s.windowWait(own, now))
	}
	all := s.rates.all.wait(now, s.o.Second, allRate, allBurst)
	for _, full := range []struct {
		lane *lane
		wait float64
	}{{own, one}, {&s.rates.all, all}} {
		if full.wait > 0 {
			after := max(1, int(math.Ceil(full.wait)))
			full.lane.hold(now, s.seconds(after))
			return busy(after)
		}
	}
	s.rates.all.missing++
	own.missing++
	if group {
		own.window = append(own.window, now)
	}
	return nil
}

// windowWait is how many seconds until a group may get one more.
func (s *state) windowWait(l *lane, now time.Time) float64 {
	for len(l.window) > 0 && now.Sub(l.window[0]) >= s.seconds(60) {
		l.window = l.window[1:]
	}
	if len(l.window) < groupWindow {
		return 0
	}
	return float64(s.seconds(60)-now.Sub(l.window[0])) / float64(s.o.Second)
}

// whole rounds up to seconds of the service.
func (s *state) whole(d time.Duration) int {
	return max(1, int(math.Ceil(float64(d)/float64(s.o.Second))))
}
