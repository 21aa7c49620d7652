package slackfake

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
)

// maxFile is the most that Slack takes as a file, in bytes.
const maxFile = 1 << 30

// File is one that stands in a message.
type File struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Title   string `json:"title"`
	Type    string `json:"type,omitempty"`    // MIME type
	Mode    string `json:"mode,omitempty"`    // empty: hosted; "snippet", "external"
	Owner   string `json:"owner,omitempty"`   // who made it; empty: who shares it
	Subtype string `json:"subtype,omitempty"` // "slack_audio", "slack_video" of clips
	Seconds int    `json:"seconds,omitempty"` // of a clip
	Content []byte `json:"content"`
	// CheckInfo says that events hold only its id, as in channels that are shared with
	// another organisation.
	CheckInfo bool `json:"check_info,omitempty"`

	address string // of the fake
}

// upload is a file on its way: its address is asked for, its content sent
// there, and then it is shared, each once.
type upload struct {
	File
	ticket string // last part of the address; empty once it was used
	length int
	came   bool
	shared bool
}

// methodUpload is what the log and faults call sending a file to its address.
const methodUpload = "upload"

// GrantFiles gives the app the scope files:write, or takes it away.
func (s *webAPI) GrantFiles(granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.NoFiles = !granted
}

// scoped refuses calls of an app that may not write files.
func scoped(run func(*webAPI, call) (answer, *refusal)) func(*webAPI, call) (answer, *refusal) {
	return func(s *webAPI, c call) (answer, *refusal) {
		if s.o.NoFiles {
			r := refuse("missing_scope")
			r.more = answer{"needed": "files:write", "provided": "chat:write,im:write"}
			return nil, r
		}
		return run(s, c)
	}
}

func (s *webAPI) askUpload(c call) (answer, *refusal) {
	length := c.number("length", 0)
	if length < 1 || length > maxFile {
		return nil, blame("invalid_arguments", "length %d, 1 to %d allowed", length, maxFile)
	}
	u := &upload{ticket: rand.Text(), length: length}
	u.ID, u.Name = fmt.Sprintf("F%d", len(s.uploads)+1), c.text("filename")
	u.Mode, u.Owner, u.address = modeHosted, BotUser, s.URL
	s.uploads[u.ID] = u
	return answer{"upload_url": s.URL + "/upload/v1/" + u.ticket, "file_id": u.ID}, nil
}

// serveUpload takes the content of a file.
func (s *webAPI) serveUpload(w http.ResponseWriter, r *http.Request) {
	content, err := readUpload(r)
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.note(Entry{Seq: seq, Event: EventCall, Method: methodUpload, Args: map[string]any{"size": len(content)}})
	fault := s.fault(methodUpload)
	s.mu.Unlock()
	if fault.before() {
		s.fail(w, seq, methodUpload, fault)
		return
	}
	if fault != nil && !s.linger(r.Context().Done(), fault.Delay) {
		return
	}
	status, text := s.takeUpload(seq, r.PathValue("ticket"), content, err)
	if fault != nil && fault.Kind != FaultDelay {
		s.fail(w, seq, methodUpload, fault)
		return
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, text)
}

func (s *webAPI) takeUpload(seq int, ticket string, content []byte, err error) (status int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, text = s.fillUpload(ticket, content, err)
	e := Entry{Seq: seq, Event: EventAnswer, Method: methodUpload, Performed: status == http.StatusOK}
	if !e.Performed {
		e.Error = text
	}
	s.note(e)
	return status, text
}

// fillUpload puts content where its address leads. The caller holds the lock.
func (s *webAPI) fillUpload(ticket string, content []byte, err error) (status int, text string) {
	for _, u := range s.uploads {
		switch {
		case u.ticket != ticket:
			continue
		case err != nil:
			s.violate("upload of %s: %v", u.Name, err)
			return http.StatusBadRequest, "bad request"
		case len(content) != u.length:
			s.violate("upload of %s: %d bytes, %d were announced", u.Name, len(content), u.length)
			return http.StatusBadRequest, "wrong length"
		}
		u.ticket, u.Content, u.came = "", content, true
		kept := u.File
		s.files[u.ID] = &kept
		return http.StatusOK, fmt.Sprintf("OK - %d", len(content))
	}
	return http.StatusNotFound, "no such upload"
}

// readUpload reads raw bytes, or the only file of a form.
func readUpload(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxFile+1<<20))
	if err != nil {
		return nil, err
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return body, nil //nolint:nilerr // any other type is that of the file
	}
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	part, err := form.NextPart()
	if err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	return io.ReadAll(part)
}

func (s *webAPI) completeUpload(c call) (answer, *refusal) {
	uploads, refused := s.uploaded(c.raw("files"))
	if refused != nil {
		return nil, refused
	}
	if c.text("channel_id") == "" && c.text("thread_ts") != "" {
		return nil, blame("invalid_arguments", "thread_ts without channel_id")
	}
	var files []File
	var list []answer
	for _, u := range uploads {
		files = append(files, u.File)
		list = append(list, answer{"id": u.ID, "title": u.Title})
	}
	if c.text("channel_id") != "" {
		if refused := s.share(c, files); refused != nil {
			return nil, refused
		}
	}
	for _, u := range uploads {
		u.shared = true
		s.files[u.ID].Title = u.Title
	}
	return answer{"files": list}, nil
}

// uploaded finds the files that a call names. The caller holds the lock.
func (s *webAPI) uploaded(raw json.RawMessage) ([]*upload, *refusal) {
	var named []struct{ ID, Title string }
	if err := json.Unmarshal(raw, &named); err != nil || len(named) == 0 {
		return nil, blame("invalid_arguments", "files: %.100s", raw)
	}
	var all []*upload
	for _, n := range named {
		u := s.uploads[n.ID]
		switch {
		case u == nil || u.shared:
			return nil, refuse("file_not_found")
		case !u.came:
			return nil, blame("file_not_found", "the content of %s was not sent", n.ID)
		}
		u.Title = or(n.Title, u.Name)
		all = append(all, u)
	}
	return all, nil
}

// share posts files as a message. The caller holds the lock.
func (s *webAPI) share(c call, files []File) *refusal {
	if s.users[c.text("channel_id")] != nil {
		return blame("invalid_channel", "channel_id wants the id of a conversation, not a user's")
	}
	channel, refused := s.place(c.text("channel_id"))
	if refused != nil {
		return refused
	}
	m := &Message{Channel: channel.ID, User: BotUser, Text: c.text("initial_comment"), Files: files, Subtype: "file_share"}
	s.checkLinks(c, m)
	m.Thread = s.thread(channel, c.text("thread_ts"))
	if s.o.ShareLate > 0 {
		s.late[files[0].ID] = &lateShare{s.o.ShareLate, channel, m}
		return nil
	}
	s.show(channel, m)
	return nil
}

// show brings files into a channel. The caller holds the lock.
func (s *webAPI) show(channel *Channel, m *Message) {
	s.add(m)
	s.echo(channel, m, "")
}
