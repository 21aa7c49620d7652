package slackfake

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// methodDownload is what the log and faults call the download of a file.
const methodDownload = "download"

// Faults of downloads.
const (
	FaultStall    = "stall"    // half of the content comes, then nothing more
	FaultHalf     = "half"     // half of the content comes, then the connection is cut
	FaultRedirect = "redirect" // 302 to the address in Error
)

// The modes of files that are not there any more, or not here
// (docs.slack.dev/reference/objects/file-object).
const (
	modeHosted    = "hosted"
	modeTombstone = "tombstone"
	modeExternal  = "external"
)

// GrantReading gives the app the scope files:read, or takes it away.
func (s *webAPI) GrantReading(granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.NoReading = !granted
}

// scopes are what the app was given.
func (s *webAPI) scopes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []string{"app_mentions:read", "assistant:write", "channels:history", "chat:write", "commands", "groups:history", "im:history", "im:write", "mpim:history", "reactions:write", "users:read"}
	if !s.o.NoReading {
		all = append(all, "files:read")
	}
	if !s.o.NoFiles {
		all = append(all, "files:write")
	}
	return strings.Join(all, ",")
}

// keep stores a file of somebody and gives it its id. The caller holds the lock.
func (s *workspace) keep(owner string, f File) File {
	f.ID, f.Owner, f.Mode = fmt.Sprintf("FP%d", len(s.files)+1), or(f.Owner, owner), or(f.Mode, modeHosted)
	f.Title, f.address = or(f.Title, f.Name), s.URL
	s.files[f.ID] = &f
	return f
}

// DeleteFile lets somebody delete a file: the messages that hold it show that it is gone.
func (s *activity) DeleteFile(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[id]; f != nil {
		f.Mode = modeTombstone
	}
	for _, list := range s.messages {
		for _, m := range list {
			for i := range m.Files {
				if m.Files[i].ID == id {
					m.Files[i].Mode = modeTombstone
				}
			}
		}
	}
	s.change()
}

// SayFiles lets a person share files, with words or without, and returns the ts. It
// panics when there is no such channel or person.
func (s *activity) SayFiles(channel, user, text, thread string, files ...File) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Message{Channel: channel, User: user, Text: text, Thread: thread, Subtype: "file_share"}
	for _, f := range files {
		m.Files = append(m.Files, s.keep(user, f))
	}
	ts, err := s.write(m)
	if err != nil {
		panic(err)
	}
	return ts
}

// wire is a file as messages hold it, or whole as files.info shows it.
func (f File) wire(whole bool) answer {
	switch {
	case f.Mode == modeTombstone:
		return answer{"id": f.ID, "mode": modeTombstone}
	case f.CheckInfo && !whole:
		return answer{"id": f.ID, "created": 0, "timestamp": 0, "user": "", "file_access": "check_file_info"}
	}
	w := answer{
		"id": f.ID, "name": f.Name, "title": f.Title, "mimetype": or(f.Type, "application/octet-stream"), "mode": f.Mode, "user": f.Owner,
		"size": len(f.Content), "is_external": f.Mode == modeExternal, "file_access": "visible",
	}
	if f.Subtype != "" {
		w["subtype"], w["duration_ms"] = f.Subtype, f.Seconds*1000
	}
	if f.Mode == modeExternal {
		w["url_private"], w["external_type"] = "https://drive.example.com/open?id=1", "gdrive"
		return w
	}
	at := f.address + "/files-pri/" + Team + "-" + f.ID
	w["url_private"], w["url_private_download"] = at+"/"+f.Name, at+"/download/"+f.Name
	return w
}

func (s *webAPI) fileInfo(c call) (answer, *refusal) {
	if s.o.NoReading {
		r := refuse("missing_scope")
		r.more = answer{"needed": "files:read", "provided": "chat:write"}
		return nil, r
	}
	f := s.files[c.text("file")]
	switch {
	case f == nil:
		return nil, refuse("file_not_found")
	case f.Mode == modeTombstone:
		return nil, refuse("file_deleted")
	}
	if late := s.late[f.ID]; late != nil {
		if late.asks--; late.asks <= 0 {
			delete(s.late, f.ID)
			s.show(late.channel, late.message)
		}
	}
	w := f.wire(true)
	w["shares"] = s.shares(f.ID)
	return answer{"file": w, "comments": []any{}, "paging": answer{"count": 100, "total": 0, "page": 1, "pages": 0}}, nil
}

// shares are the messages that hold a file, by kind of channel and channel. The caller
// holds the lock.
func (s *webAPI) shares(id string) answer {
	all := map[string]map[string][]answer{}
	for _, list := range s.messages {
		for _, m := range list {
			if m.Deleted || !slices.ContainsFunc(m.Files, func(f File) bool { return f.ID == id }) {
				continue
			}
			kind := "public"
			if c := s.channels[m.Channel]; c.Private || c.User != "" {
				kind = "private"
			}
			if all[kind] == nil {
				all[kind] = map[string][]answer{}
			}
			share := answer{"ts": m.TS, "reply_users": []string{}, "reply_count": 0, "team_id": Team}
			if m.Thread != "" {
				share["thread_ts"] = m.Thread
			}
			all[kind][m.Channel] = append(all[kind][m.Channel], share)
		}
	}
	w := answer{}
	for kind, channels := range all {
		w[kind] = channels
	}
	return w
}

// lateShare is a share that shows after some calls of files.info.
type lateShare struct {
	asks    int
	channel *Channel
	message *Message
}

// serveFile answers a download. Without the app's token it leads to the page where
// people sign in, and without the scope it shows one.
func (s *webAPI) serveFile(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.PathValue("key"), Team+"-")
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.note(Entry{Seq: seq, Event: EventCall, Method: methodDownload, Args: map[string]any{"file": id}})
	fault := s.fault(methodDownload)
	token, scoped, f := s.o.BotToken, !s.o.NoReading, s.files[id]
	s.mu.Unlock()
	kind := ""
	if fault != nil {
		kind = fault.Kind
	}
	switch {
	case kind == FaultRedirect:
		http.Redirect(w, r, fault.Error, http.StatusFound)
		return
	case kind != "" && kind != FaultStall && kind != FaultHalf:
		s.fail(w, seq, methodDownload, fault)
		return
	case r.Header.Get("Authorization") != "Bearer "+token:
		http.Redirect(w, r, s.URL+"/signin", http.StatusFound)
		return
	case !scoped:
		s.serveSignIn(w, r)
		return
	case f == nil || f.Mode == modeTombstone:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", or(f.Type, "application/octet-stream"))
	w.Header().Set("Content-Disposition", `attachment; filename="file"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Content)))
	if kind == "" {
		_, _ = w.Write(f.Content)
		return
	}
	_, _ = w.Write(f.Content[:len(f.Content)/2])
	_ = http.NewResponseController(w).Flush()
	if kind == FaultStall {
		s.linger(r.Context().Done(), time.Hour)
	}
	panic(http.ErrAbortHandler)
}

// serveSignIn is the page where people sign in. A token must never come here.
func (s *webAPI) serveSignIn(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/signin" && r.Header.Get("Authorization") != "" {
		s.mu.Lock()
		s.violate("the token was sent to the page where people sign in")
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprint(w, "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to your workspace</body></html>")
}
