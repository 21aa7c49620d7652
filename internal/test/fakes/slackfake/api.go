package slackfake

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// webAPI are the methods that the app calls.
type webAPI struct{ *streams }

// serveAPI answers one call of the Web API.
func (s *webAPI) serveAPI(w http.ResponseWriter, r *http.Request) {
	c, refused := readCall(r, s.known)
	w.Header().Set("X-OAuth-Scopes", s.scopes())
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.note(Entry{Seq: seq, Event: EventCall, Method: c.method, Args: c.shown()})
	fault := s.fault(c.method)
	s.mu.Unlock()
	if fault.before() {
		s.fail(w, seq, c.method, fault)
		return
	}
	if fault != nil && !s.linger(r.Context().Done(), fault.Delay) {
		return
	}
	result, refused := s.perform(seq, c, refused)
	if fault != nil && fault.Kind != FaultDelay {
		s.fail(w, seq, c.method, fault)
		return
	}
	respond(w, result, refused)
}

// perform does what a call asks, unless it was refused already.
func (s *webAPI) perform(seq int, c call, refused *refusal) (result answer, why *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused == nil {
		refused = s.admit(c)
	}
	if refused == nil {
		result, refused = c.spec.run(s, c)
	}
	s.conclude(seq, c, result, refused)
	return result, refused
}

// linger waits, and reports false when the client went away before.
func (s *workspace) linger(gone <-chan struct{}, wait time.Duration) bool {
	select {
	case <-gone:
		return false
	case <-s.done:
		return false
	case <-time.After(wait):
		return true
	}
}

// shown are the arguments for the log.
func (c *call) shown() map[string]any {
	if c.args == nil {
		return nil
	}
	args := maps.Clone(c.args)
	for name, value := range args {
		if raw, is := value.(json.RawMessage); is {
			var decoded any
			_ = json.Unmarshal(raw, &decoded) // checked before
			args[name] = decoded
		}
	}
	return args
}

// conclude writes down what became of a call. The caller holds the lock.
func (s *webAPI) conclude(seq int, c call, result answer, refused *refusal) {
	e := Entry{Seq: seq, Event: EventAnswer, Method: c.method, Performed: refused == nil}
	e.TS, _ = result["ts"].(string)
	if refused != nil {
		e.Error, e.Problem = refused.code, strings.Join(refused.detail, " ")
		if refused.blame != "" {
			s.violate("%s: %s: %s", c.method, refused.code, refused.blame)
		}
	}
	s.note(e)
}

// admit checks the token and the rate. The caller holds the lock.
func (s *webAPI) admit(c call) *refusal {
	want, other := s.o.BotToken, s.o.AppToken
	if c.spec.app {
		want, other = other, want
	}
	if code := s.revoked[c.token]; code != "" {
		return refuse(code)
	}
	switch {
	case c.token == want:
		return s.spend(c)
	case c.token == other || c.spec.app && strings.HasPrefix(c.token, "xoxb-") || !c.spec.app && strings.HasPrefix(c.token, "xapp-"):
		return blame("not_allowed_token_type", "%s with the other kind of token", c.method)
	}
	return refuse("invalid_auth")
}

func respond(w http.ResponseWriter, result answer, refused *refusal) {
	body := map[string]any{"ok": refused == nil}
	maps.Copy(body, result)
	status := http.StatusOK
	if refused != nil {
		body["error"] = refused.code
		maps.Copy(body, refused.more)
		if refused.detail != nil {
			body["response_metadata"] = map[string]any{"messages": refused.detail}
		}
		for name, value := range refused.headers {
			w.Header().Set(name, value)
		}
		status = max(status, refused.status)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Limit is a rate: so many calls within any such span of Slack's time.
type Limit struct {
	Calls   int
	Within  time.Duration
	Channel bool // in each channel by itself
}

// DefaultLimits are Slack's, as documented or measured. Slack lets short bursts
// of posts pass, which is the 4 in 4 seconds.
func DefaultLimits() map[string][]Limit {
	minute := func(calls int) []Limit { return []Limit{{Calls: calls, Within: time.Minute}} }
	return map[string][]Limit{
		"chat.postMessage":             {{Calls: 4, Within: 4 * time.Second, Channel: true}, {Calls: 300, Within: time.Minute}},
		"chat.postEphemeral":           minute(100),
		"chat.update":                  minute(50),
		"chat.delete":                  minute(50),
		"chat.startStream":             minute(20),
		"chat.appendStream":            minute(100),
		"chat.stopStream":              minute(20),
		"assistant.threads.setStatus":  minute(600),
		"agents.sessions.setStatus":    minute(50),
		"agents.sessions.rename":       minute(50),
		"conversations.open":           minute(50),
		"conversations.info":           minute(50),
		"conversations.history":        minute(50),
		"conversations.replies":        minute(50),
		"users.info":                   minute(100),
		"team.info":                    minute(50),
		"files.getUploadURLExternal":   minute(100),
		"files.completeUploadExternal": minute(100),
		"files.info":                   minute(100),
		"reactions.add":                minute(50),
		"reactions.remove":             minute(50),
		"views.open":                   minute(100),
	}
}

// window remembers when the calls of one rate were made.
type window struct {
	calls  []time.Time
	closed time.Time // calls before are refused, and violations
	told   time.Time // when an app heard of that first
}

// underway is how long after it was told to wait an app's calls may still come
// that it had sent before.
const underway = 100 * time.Millisecond

// spend counts a call against its rates. The caller holds the lock.
func (s *webAPI) spend(c call) *refusal {
	now := s.o.Now()
	var open []*window
	for i, limit := range s.o.Limits[c.method] {
		key := c.method + " " + strconv.Itoa(i)
		if limit.Channel {
			key += " " + c.text("channel")
		}
		w := s.windows[key]
		if w == nil {
			w = &window{}
			s.windows[key] = w
		}
		if now.Before(w.closed) {
			if now.Sub(w.told) < underway {
				return limited(w.closed.Sub(now))
			}
			s.violate("%s: called again %v before the end of Retry-After", c.method, w.closed.Sub(now).Round(time.Millisecond))
			return limited(w.closed.Sub(now))
		}
		span := s.span(limit.Within)
		for len(w.calls) > 0 && now.Sub(w.calls[0]) >= span {
			w.calls = w.calls[1:]
		}
		if len(w.calls) >= limit.Calls {
			w.closed, w.told = w.calls[0].Add(span), now
			return limited(w.closed.Sub(now))
		}
		open = append(open, w)
	}
	for _, w := range open {
		w.calls = append(w.calls, now)
	}
	return nil
}

// limited is the answer to a call over its rate. Retry-After is in whole real
// seconds, never too few.
func limited(wait time.Duration) *refusal {
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	return &refusal{code: "ratelimited", status: http.StatusTooManyRequests, headers: map[string]string{"Retry-After": strconv.Itoa(seconds)}}
}

// method says what a method of the Web API takes, after its reference page.
type method struct {
	app      bool // it wants the app token, not the bot token
	json     bool // it takes JSON besides forms
	args     map[string]kind
	required []string
	run      func(*webAPI, call) (answer, *refusal)
}

// answer are the fields besides ok.
type answer map[string]any

// arguments reads "name name:kind ...", required ones with a star.
func arguments(list string) (map[string]kind, []string) {
	kinds := map[string]kind{"ts": aTS, "bool": aBool, "int": anInt, "array": anArray, "object": anObject, "blocks": aBlocks, "list": aList}
	args, required := map[string]kind{}, []string(nil)
	for field := range strings.FieldsSeq(list) {
		field, star := strings.CutSuffix(field, "*")
		name, of, typed := strings.Cut(field, ":")
		args[name] = aString
		if typed {
			args[name] = kinds[of]
		}
		if star {
			required = append(required, name)
		}
	}
	return args, required
}

// Arguments that many methods share. Slack lists unfurl_links and unfurl_media
// for chat.postMessage alone and passes over them elsewhere; libraries send
// them with everything, so that they are let through.
const (
	content  = " text blocks:blocks attachments:array markdown_text metadata:object link_names:bool parse unfurl_links:bool unfurl_media:bool mrkdwn:bool as_user:bool"
	guise    = " username icon_url icon_emoji"
	streamed = " markdown_text chunks:array unfurl_links:bool unfurl_media:bool"
	paged    = " cursor limit:int latest:ts oldest:ts inclusive:bool include_all_metadata:bool"
)

func methods() map[string]method {
	table := map[string]method{}
	form := func(name, list string, run func(*webAPI, call) (answer, *refusal)) {
		args, required := arguments(list)
		table[name] = method{args: args, required: required, run: run}
	}
	both := func(name, list string, run func(*webAPI, call) (answer, *refusal)) {
		form(name, list, run)
		m := table[name]
		m.json = true
		table[name] = m
	}
	both("auth.test", "", (*webAPI).authTest)
	both("apps.connections.open", "", (*webAPI).openConnection)
	both("chat.postMessage", "channel* thread_ts:ts reply_broadcast:bool"+content+guise, (*webAPI).postMessage)
	both("chat.postEphemeral", "channel* user* thread_ts:ts"+content+guise, (*webAPI).postEphemeral)
	both("chat.update", "channel* ts:ts* reply_broadcast:bool file_ids:array"+content, (*webAPI).update)
	both("chat.delete", "channel* ts:ts* as_user:bool", (*webAPI).remove)
	both("chat.startStream", "channel* thread_ts:ts recipient_user_id recipient_team_id task_display_mode"+streamed+guise, (*webAPI).startStream)
	both("chat.appendStream", "channel* ts:ts*"+streamed, (*webAPI).appendStream)
	both("chat.stopStream", "channel* ts:ts* blocks:blocks metadata:object session_status"+streamed, (*webAPI).stopStream)
	both("assistant.threads.setStatus", "channel_id* thread_ts:ts* status loading_messages:list"+guise, (*webAPI).setThreadStatus)
	both("agents.sessions.setStatus", "status* channel_id thread_ts:ts title initiator_user_id"+guise, (*webAPI).setSessionStatus)
	both("agents.sessions.rename", "title* channel_id thread_ts:ts", (*webAPI).renameSession)
	both("conversations.open", "channel users:list return_im:bool prevent_creation:bool", (*webAPI).openDirect)
	form("conversations.info", "channel* include_locale:bool include_num_members:bool", (*webAPI).channelInfo)
	form("conversations.history", "channel*"+paged, (*webAPI).history)
	form("conversations.replies", "channel* ts:ts*"+paged, (*webAPI).replies)
	form("users.info", "user* include_locale:bool", (*webAPI).userInfo)
	form("team.info", "team domain", (*webAPI).teamInfo)
	both("reactions.add", "channel* name* timestamp:ts*", (*webAPI).react)
	both("reactions.remove", "channel* name* timestamp:ts*", (*webAPI).unreact)
	both("views.open", "trigger_id* view:object*", (*webAPI).openView)
	both("files.getUploadURLExternal", "filename* length:int* alt_txt snippet_type", scoped((*webAPI).askUpload))
	form("files.info", "file* count:int page:int cursor limit:int", (*webAPI).fileInfo)
	both("files.completeUploadExternal", "files:array* channel_id channels thread_ts:ts initial_comment blocks:blocks", scoped((*webAPI).completeUpload))
	open := table["apps.connections.open"]
	open.app = true
	table["apps.connections.open"] = open
	return table
}
