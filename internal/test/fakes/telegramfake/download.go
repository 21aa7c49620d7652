package telegramfake

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	// maxDownload is the largest file that a bot may download, in bytes
	// (core.telegram.org/bots/api#getfile).
	maxDownload = 20 << 20
	// pathLife is how long a file_path is valid at least, in seconds; here it is not
	// valid any longer.
	pathLife = 3600
	// methodDownload is what the log and faults call the download of a file.
	methodDownload = "download"
)

// Faults of downloads.
const (
	FaultStall = "stall" // half of the content comes, then nothing more
	FaultShort = "short" // the content is shorter than getFile says, and ends well
	FaultLong  = "long"  // the content is longer than getFile says
	// FaultUnavailable is a getFile that the service cannot answer for a while.
	FaultUnavailable = "unavailable"
)

// heldFile is a file that the service has, by its file_id.
type heldFile struct {
	kind    string
	content []byte
}

// filePath is where a file can be downloaded for a while.
type filePath struct {
	id string
	at time.Time
}

// hold keeps a file and gives it its id; it is called with the lock held.
func (s *state) hold(kind string, f *File) {
	s.nextFile++
	f.ID, f.Size = fmt.Sprintf("AgAC%s-%d", kind, s.nextFile), len(f.Content)
	s.held[f.ID] = heldFile{kind, f.Content}
}

// LoseFile lets the service lose a file: its id means nothing any more.
func (s *state) LoseFile(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
}

// LosePaths lets all addresses for downloads run out before their time.
func (s *state) LosePaths() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.paths)
}

// MoveFilesToDisk lets getFile answer as a server that runs with --local.
func (s *state) MoveFilesToDisk() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.local = true
}

func (s *botAPI) getFile(c *call) (any, *refusal) {
	id := c.params["file_id"]
	f, known := s.held[id]
	switch {
	case !known:
		return nil, bad("invalid file_id")
	case len(f.content) > maxDownload:
		return nil, bad("file is too big")
	}
	s.nextFile++
	at := fmt.Sprintf("%ss/file_%d", f.kind, s.nextFile)
	s.paths[at] = filePath{id, s.o.Now()}
	if s.local {
		at = "/var/lib/telegram-bot-api/" + at
	}
	return map[string]any{"file_id": id, "file_unique_id": "U" + id, "file_size": len(f.content), "file_path": at}, nil
}

// serveFile answers a download, at /file/botTOKEN/PATH.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	token, at, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	c := &call{params: params{"file_path": at}, entry: Entry{At: time.Now(), Method: methodDownload, Params: map[string]string{"file_path": at}}}
	fault, cut := s.meet(r.Context(), c)
	if cut {
		panic(http.ErrAbortHandler)
	}
	why := fault.refusal()
	var content []byte
	if why == nil {
		content, why = s.download(token, at)
	}
	c.entry.Done = why == nil
	s.conclude(c, fault, why)
	if why != nil {
		fault.answer(r.Context(), w, nil, why)
		return
	}
	kind := ""
	if fault != nil {
		kind = fault.Kind
	}
	switch kind {
	case FaultShort:
		content = content[:len(content)/2]
	case FaultLong:
		content = append(content[:len(content):len(content)], content...)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.Header().Set("Content-Disposition", `attachment; filename="`+path.Base(at)+`"`)
	if kind != FaultStall && kind != FaultHalf {
		_, _ = w.Write(content)
		return
	}
	_, _ = w.Write(content[:len(content)/2])
	_ = http.NewResponseController(w).Flush()
	if kind == FaultStall {
		select {
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
	}
	panic(http.ErrAbortHandler)
}

// download finds the content behind a path.
func (s *state) download(token, at string) ([]byte, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != s.o.Token {
		return nil, &refusal{Code: http.StatusUnauthorized, Text: "Unauthorized"}
	}
	p, ok := s.paths[at]
	f, held := s.held[p.id]
	if !ok || !held || s.o.Now().Sub(p.at) > s.seconds(pathLife) {
		return nil, &refusal{Code: http.StatusNotFound, Text: "Not Found"}
	}
	return f.content, nil
}

// Attach gives a message a file: a photo, voice, document or the like. Its text is the
// caption.
func Attach(kind string, f File) Opt {
	return func(m *Message) { m.Media, m.File = kind, &f }
}

// ForwardOf makes it one that its author only passes on.
func ForwardOf(u User) Opt { return func(m *Message) { m.Origin = &u } }

// SayAlbum is a person sending files of a kind together: the text is the caption of
// the first one. It returns the ids of the messages.
func (s *activity) SayAlbum(chatID int64, u User, text, kind string, files []File, opts ...Opt) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextFile++
	album := strconv.Itoa(s.nextFile)
	var ids []int
	for _, f := range files {
		all := append([]Opt{Attach(kind, f), func(m *Message) { m.Album = album }}, opts...)
		ids = append(ids, s.say(chatID, u, text, all))
		text = ""
	}
	return ids
}

// samples are the files of people whose content does not matter to a test, by kind.
func samples() map[string]heldFile {
	all := map[string]heldFile{}
	for _, kind := range []string{"photo", "document", "voice", "audio", "video", "video_note", "animation", "sticker"} {
		all["AgADfile-"+kind] = heldFile{kind, []byte("a " + kind)}
	}
	return all
}

// fileJSON is a file as a message of that kind holds it.
func fileJSON(kind string, f *File) any {
	j := map[string]any{"file_id": f.ID, "file_unique_id": "U" + f.ID, "file_size": f.Size}
	if kind == "photo" {
		j["width"], j["height"] = 1280, 960
		small := map[string]any{"file_id": f.ID + "-small", "file_unique_id": "S" + f.ID, "file_size": 900, "width": 90, "height": 68}
		return []any{small, j}
	}
	if f.Name != "" && kind != "voice" && kind != "video_note" {
		j["file_name"] = f.Name
	}
	if f.Type != "" && kind != "video_note" {
		j["mime_type"] = f.Type
	}
	if kind != "document" {
		j["duration"] = f.Seconds
	}
	return j
}
