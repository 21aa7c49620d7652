package planner

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/files"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
)

// EarlierFile is a file of an earlier task of the conversation.
type EarlierFile struct {
	Reference string // what read_attachment is given: "K3X9Q2/f1"
	Name      string
	Kind      string
	Bytes     int64
	At        time.Time // of the message that it came with
	Given     *ReadFile // work: the description of the sub-task names the file
}

// How much text of files a prompt holds at first, in bytes: of one file, of all files
// together, and of each file once there is no room for all of it.
const (
	MaxFileText  = 12 << 10
	maxFilesText = 32 << 10
	fileHead     = 2 << 10
)

// MaxSeen is how many pictures a prompt holds of files that come together.
const MaxSeen = 16

// filePart adds the files of a prompt.
type filePart struct{ *builder }

// of adds the files that came with an event.
func (b filePart) of(source int) {
	b.that(func(i int) bool { return b.s.Files[i].Source == source })
}

// that adds the chosen files of the task.
func (b filePart) that(chosen func(index int) bool) {
	var list []shownFile
	for i, f := range b.s.Files {
		if f.Read == 0 || f.Gone || !chosen(i) {
			continue
		}
		r := b.journal(f.Read).Read
		if r == nil || r.Spoken {
			continue
		}
		shown := shownFile{name: FileName(i), read: r}
		if all := Attachments(b.journal(f.Source)); f.Index < len(all) {
			shown.from = all[f.Index].From
		}
		list = append(list, shown)
	}
	b.add(list, false)
}

// given adds the files of earlier tasks that a sub-task is given.
func (b filePart) given() {
	var list []shownFile
	for _, f := range b.input.EarlierFiles {
		if f.Given != nil {
			list = append(list, shownFile{name: f.Reference, read: f.Given})
		}
	}
	b.add(list, true)
}

// shownFile is a file that a prompt holds.
type shownFile struct {
	name string // "f1", "K3X9Q2/f1"
	from string // its author, when that is not the person
	read *ReadFile
}

// add adds files: their text, or the beginning of it, and their pictures for a model
// that can see. earlier says that they are of earlier tasks.
func (b filePart) add(list []shownFile, earlier bool) {
	if len(list) == 0 {
		return
	}
	var texts []string
	var pictures []llm.Image
	room := maxFilesText
	for _, f := range list {
		show := len(f.read.Text)
		if show > room {
			show = min(show, fileHead)
		}
		room -= show
		texts = append(texts, b.file(f, show))
		if b.input.Picture == nil {
			continue
		}
		for _, p := range f.read.Pictures {
			if data, ok := b.input.Picture(p.ID); ok && len(pictures) < MaxSeen {
				pictures = append(pictures, llm.Image{Type: p.Type, Data: data})
			}
		}
	}
	b.hasFiles = true
	intro := b.text("prompt.files", nil)
	if b.plans {
		intro += " " + b.text("prompt.files_plan", nil)
	}
	if b.input.LendsFiles {
		intro += " " + b.text("prompt.files_lent", map[string]any{"Name": LentFile + list[0].name})
	}
	content := intro + "\n" + strings.Join(texts, "\n")
	if len(pictures) == 0 {
		b.messages.add(llm.User, content)
		return
	}
	b.pictures = true
	b.messages.addPictures(llm.Message{Role: llm.User, Content: content, Images: pictures}, earlier)
}

// file is a file as data.
func (b filePart) file(f shownFile, show int) string {
	r := f.read
	attributes := []string{"file", f.name, "name", r.Name, "kind", r.Kind}
	if f.from != "" {
		attributes = append(attributes, "from", f.from)
	}
	body := clip.Bytes(r.Text, show)
	if r.Problem != "" {
		body = b.text("prompt.file_unread", map[string]any{"Reason": FileProblem(b.input.Texts, b.lang, r)}) + "\n" + body
	}
	switch {
	case len(r.Pictures) > 0 && b.input.Picture == nil:
		body = strings.TrimSpace(body + "\n" + b.text("prompt.file_unseen", nil))
	case len(r.Pictures) > 0 && r.Pictures[0].Name != "":
		var pages []string
		for _, p := range r.Pictures {
			pages = append(pages, p.Name)
		}
		body = strings.TrimSpace(body + "\n" + b.text("prompt.file_pages", map[string]any{"Names": strings.Join(pages, ", "), "Total": r.Total}))
	}
	if whole := max(int(r.TextBytes), len(r.Text)); show < whole {
		more := ""
		if len(r.Parts) < r.Total {
			more = ", …"
		}
		body += "\n" + b.text("prompt.file_more", map[string]any{
			"Name": f.name, "Shown": show, "Bytes": whole, "Parts": strings.Join(r.Parts, ", ") + more, "Total": r.Total,
		})
	}
	return tag("data", strings.TrimSpace(body), attributes...)
}

// FileProblem is the sentence that says what was not read of a file, and why.
func FileProblem(texts *i18n.Texts, lang string, r *ReadFile) string {
	return texts.Text(lang, "file."+r.Problem, map[string]any{"Name": r.Name, "Max": files.Size(r.Limit)})
}

// listEarlier lists the files of earlier tasks.
func (b filePart) listEarlier(list []EarlierFile) {
	if len(list) == 0 {
		return
	}
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = fmt.Sprintf("%s · %s · %s · %s · %s", f.Reference, f.Name, f.Kind, files.Size(f.Bytes), f.At.In(b.zone()).Format("2006-01-02 15:04"))
	}
	b.hasFiles = true
	b.messages.add(llm.User, b.text("prompt.earlier_files", nil)+"\n"+tag("data", strings.Join(lines, "\n")))
}

var fileWord = regexp.MustCompile(`(?i)\b(?:[0-9a-z]{6}/)?f[1-9][0-9]?\b`)

// LentFile begins a value of a tool's arguments that stands for a file: "file:f1".
const LentFile = "file:"

var lentValue = regexp.MustCompile(`"` + LentFile + `((?:[0-9A-Za-z]{6}/)?[fF][1-9][0-9]?)"`)

// LentFiles lists the names of the files that values of arguments stand for: "f1".
func LentFiles(arguments []byte) (names []string) {
	for _, m := range lentValue.FindAllSubmatch(arguments, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// NamesFile reports whether the description of a sub-task names a file: "f1",
// "K3X9Q2/f1".
func NamesFile(description, name string) bool {
	return slices.Contains(namedFiles(description), strings.ToLower(name))
}

// namedFiles are the names of files in a text, in lower case: "f1", "k3x9q2/f1".
func namedFiles(text string) []string {
	return fileWord.FindAllString(strings.ToLower(text), -1)
}

// GivenFile reports whether the model of an action may read the file of a name: the
// description of its sub-task names the file, or its last turn is the answer.
func GivenFile(s State, a Action, journal Journal, name string) bool {
	w := workOf(s, a)
	return w.Closing || s.SingleSubtask() || NamesFile(Description(w, journal), name)
}

// looksAtFiles reports whether a sub-task is offered read_attachment.
func looksAtFiles(s State, w Work, journal Journal) bool {
	if len(s.Files) > 0 && (w.Closing || s.SingleSubtask()) {
		return true
	}
	return !w.Closing && len(namedFiles(Description(w, journal))) > 0
}

// files are the tools of the machine for files. They come only with a task that has
// to do with files, since each tool costs tokens in every turn.
func (b toolList) files(w Work) (list []llm.Tool) {
	if looksAtFiles(b.s, w, b.journal) {
		list = append(list, llm.Tool{Name: ToolReadAttachment, Description: b.text("tool.read_attachment", nil), Schema: schema([]property{
			{name: "file", kind: "string"},
			{name: "parts", kind: "string", optional: true},
			{name: "find", kind: "string", optional: true},
			{name: "offset", kind: "integer", optional: true},
		})})
	}
	if b.input.Makes != nil && makesFiles(b.s, w, b.journal) {
		list = append(list, llm.Tool{Name: ToolMakeFile, Description: b.text("tool.make_file", map[string]any{"Kinds": b.input.Makes.Kinds}), Schema: b.input.Makes.Schema})
	}
	return list
}

// FileTools lists the tools for files that are offered to the model of an action, so
// that a reply with a call of one of them can be told from a mistake.
func FileTools(s State, journal Journal, a Action, makes bool) (list []string) {
	if a.Role != llm.RoleAnswer && a.Role != llm.RoleWork {
		return nil
	}
	w := workOf(s, a)
	if looksAtFiles(s, w, journal) {
		list = append(list, ToolReadAttachment)
	}
	if makes && makesFiles(s, w, journal) {
		list = append(list, ToolMakeFile)
	}
	return list
}

// workOf is the sub-task of an action, such as a call; that of the answer before it has
// called a tool is not there yet.
func workOf(s State, a Action) Work {
	if a.ID.Subject == SubjectWork || a.ID.Subject == SubjectCall {
		return s.Subtasks[a.Place.Subtask]
	}
	return Work{ID: ClosingID, Name: LLMTool, Closing: true}
}

func lookCall(c Call) Call {
	var l Look
	if err := json.Unmarshal([]byte(c.Arguments), &l); err != nil || strings.TrimSpace(l.File) == "" || l.Offset < 0 {
		return refuse(c, `read_attachment needs {"file": ID, "parts": "3-7" or a name, "find": WORDS, "offset": BYTES}; all but file can be left out`)
	}
	l.Text, l.Bytes = "", 0
	c.Look = &l
	return c
}
