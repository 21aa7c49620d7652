package telegramfake

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"legwork/internal/test/fakes/wire"
)

// kindHeal as the kind of a fault that is posted takes all faults back.
const kindHeal = "heal"

// Said is the body of POST /fake/say: who says what where.
type Said struct {
	Chat    int64  `json:"chat"` // 0: the private chat of the user
	User    User   `json:"user"`
	Text    string `json:"text"`
	Media   string `json:"media,omitempty"`
	File    *File  `json:"file,omitempty"` // of Media; null: any
	ReplyTo int    `json:"reply_to,omitempty"`
	Topic   int    `json:"topic,omitempty"`
}

// Tapped is the body of POST /fake/press.
type Tapped struct {
	Chat    int64  `json:"chat"`
	Message int    `json:"message"`
	Button  string `json:"button"` // label or data
	User    User   `json:"user"`
}

// control is for other programs than the one that started the fake:
//
//	POST /fake/fault       a Fault as JSON; of kind "heal": takes all back
//	POST /fake/say         Said; returns {"message_id": N}
//	POST /fake/press       Tapped; returns {"callback_query_id": ID}
//	GET  /fake/messages?chat=ID    Chat
//	GET  /fake/events?chat=ID      a list of Event
//	GET  /fake/transcript?chat=ID  text; with &frames=1 of every frame
//	GET  /fake/log         a list of Entry
//	GET  /fake/violations  a list of text
func (s *Server) control(w http.ResponseWriter, r *http.Request, what string) {
	chatID, _ := strconv.ParseInt(r.URL.Query().Get("chat"), 10, 64)
	var result any
	switch r.Method + " " + what {
	case "GET messages":
		result = s.Chat(chatID)
	case "GET events":
		result = s.Events(chatID)
	case "GET log":
		result = append([]Entry{}, s.Log()...)
	case "GET violations":
		result = append([]string{}, s.Violations()...)
	case "GET transcript":
		s.sendTranscript(w, r, chatID)
		return
	case "POST fault", "POST say", "POST press":
		var problem string
		if result, problem = s.order(r, what); problem != "" {
			http.Error(w, problem, http.StatusBadRequest)
			return
		}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result)
}

func (s *Server) sendTranscript(w http.ResponseWriter, r *http.Request, chatID int64) {
	if s.Chat(chatID).Kind == "" {
		http.NotFound(w, r)
		return
	}
	text := s.Transcript(chatID)
	if r.URL.Query().Get("frames") != "" {
		text = s.Frames(chatID)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// order does what another program asks for; problem says what is wrong with it.
func (s *Server) order(r *http.Request, what string) (result any, problem string) {
	var f Fault
	var said Said
	var tapped Tapped
	into := map[string]any{"fault": &f, "say": &said, "press": &tapped}[what]
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return nil, err.Error()
	}
	switch what {
	case "fault":
		if f.Kind == kindHeal {
			s.Heal()
			return true, ""
		}
		if !f.known() {
			return nil, "there is no fault of kind " + strconv.Quote(f.Kind)
		}
		s.Fail(f)
		return true, ""
	case "say":
		if said.Chat == 0 {
			said.Chat = said.User.ID
		}
		if said.Chat != said.User.ID && s.Chat(said.Chat).Kind == "" {
			return nil, "there is no such chat"
		}
		file := func(m *Message) { m.File = said.File }
		id := s.Say(said.Chat, said.User, said.Text, Media(said.Media), file, ReplyTo(said.ReplyTo), InTopic(said.Topic))
		return map[string]int{"message_id": id}, ""
	}
	if s.Chat(tapped.Chat).Kind == "" {
		return nil, "there is no such chat"
	}
	return map[string]string{"callback_query_id": s.Press(tapped.Chat, tapped.Message, tapped.Button, tapped.User)}, ""
}

// What became of a request, or of a delivery to a webhook.
const (
	OutcomeOK      = "ok"      // it was done and answered
	OutcomeRefused = "refused" // it was answered with an error; Code and Error say which
	OutcomeFault   = "fault"   // it met a fault; Done says whether it was done all the same
	OutcomeGone    = "gone"    // the client went away before the answer
)

// Entry is one line of the wire log. It is written when the request was
// decided and before the answer goes out.
type Entry struct {
	Seq     int               `json:"seq"` // from 1
	At      time.Time         `json:"at"`  // when the request arrived
	Method  string            `json:"method"`
	Params  map[string]string `json:"params,omitempty"`
	File    *File             `json:"file,omitempty"` // that came along, without its content
	Outcome string            `json:"outcome"`
	Code    int               `json:"code,omitempty"`
	Error   string            `json:"error,omitempty"`
	Fault   string            `json:"fault,omitempty"` // the kind of fault it met
	Done    bool              `json:"done,omitempty"`  // it took effect
	Chat    int64             `json:"chat,omitempty"`
	Message int               `json:"message,omitempty"` // id of the message it made or changed
	Updates []int             `json:"updates,omitempty"` // ids that were delivered
	Notes   []string          `json:"notes,omitempty"`   // what the service does silently, such as leaving out entities
}

// Log returns the requests so far, in the order of their decisions.
func (s *state) Log() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// write is called with the lock held.
func (s *state) write(e Entry) {
	e.Seq = len(s.log) + 1
	s.log = append(s.log, e)
	s.change()
	s.file.Add(e)
}

// ReadLog reads a wire log.
func ReadLog(path string) ([]Entry, error) { return wire.ReadLog[Entry](path) }
