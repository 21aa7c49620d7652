package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// The optional roles of a model that looks at pictures and listens to recordings.
const (
	sees  = "roles: {vision: main}\n"
	hears = "roles: {vision: main, transcribe: ear}\n"
	ear   = "\n  ear: {base_url: %q, api_key: sk-secret-e2e, model: whisper-1}"
)

var shownFile = regexp.MustCompile(`(?s)<data file="([^"]*)" name="([^"]*)"[^>]*>\n(.*?)\n?</data>`)

// readsFiles is a model that answers with what it was given: the goal, the files and how
// many pictures there are.
func readsFiles(r llmfake.Request) llmfake.Response {
	goal, _ := r.Tagged("goal")
	answer, pictures := "goal: "+goal, 0
	for _, m := range r.Messages {
		pictures += len(m.Images)
		for _, f := range shownFile.FindAllStringSubmatch(m.Content, -1) {
			answer += fmt.Sprintf("\n\nfile %s %s: %s", f[1], f[2], f[3])
		}
	}
	if pictures > 0 {
		answer += fmt.Sprintf("\n\npictures: %d", pictures)
	}
	return llmfake.Say(answer)
}

// docx is a Word document of one paragraph.
func docx(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:body></w:document>`},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTelegramFiles: what people send is read, and the answer comes from it.
func TestTelegramFiles(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles, more: sees + "files: {max_bytes: 100000}\n"}})
	b.opens()
	photo := telegramfake.File{Type: "image/png", Content: llmfake.PNG(40, 30)}
	b.Say(b.ann.ID, b.ann, "what is this?", telegramfake.Attach("photo", photo))
	b.once(b.ann.ID, "goal: what is this?", "file f1 photo", "pictures: 1")
	b.SayAlbum(b.bob.ID, b.bob, "which is better?", "photo", []telegramfake.File{photo, {Type: "image/png", Content: llmfake.PNG(50, 30)}})
	b.once(b.bob.ID, "goal: which is better?", "file f1 photo", "file f2 photo", "pictures: 2")

	b.Say(b.bob.ID, b.bob, "", telegramfake.Attach("document", telegramfake.File{Name: "offer.docx", Content: docx(t, "The price is 300 crowns.")}))
	ask := b.offers(b.bob.ID, b.says("button.goal_summarize", nil), "offer.docx: what shall I do with it?")
	b.taps(b.bob, b.bob.ID, ask.ID, b.says("button.goal_summarize", nil))
	b.once(b.bob.ID, "goal: "+b.says("button.goal_summarize", nil), "file f1 offer.docx", "The price is 300 crowns.")

	b.Say(b.ann.ID, b.ann, "", telegramfake.Attach("document", telegramfake.File{Name: "notes.txt", Content: []byte("Water boils at 100 degrees.")}))
	b.sees(b.ann.ID, "notes.txt: what shall I do with it?")
	b.Say(b.ann.ID, b.ann, "at how many degrees?")
	b.once(b.ann.ID, "goal: at how many degrees?", "Water boils at 100 degrees.")

	b.Say(b.ann.ID, b.ann, "sum it up", telegramfake.Attach("document", telegramfake.File{Name: "large.txt", Content: bytes.Repeat([]byte("x"), 100_001)}))
	b.once(b.ann.ID, "goal: sum it up", b.says("file.large", map[string]any{"Name": "large.txt", "Max": "100 kB"}))
	b.Say(b.ann.ID, b.ann, "", telegramfake.Attach("document", telegramfake.File{Name: "huge.txt", Content: bytes.Repeat([]byte("x"), 100_001)}))
	b.once(b.ann.ID, b.says("file.large", map[string]any{"Name": "huge.txt", "Max": "100 kB"}))
	b.Say(b.ann.ID, b.ann, "", telegramfake.Attach("voice", telegramfake.File{Type: "audio/ogg", Seconds: 1, Content: llmfake.OGG(1)}))
	b.once(b.ann.ID, b.says("file.unheard", map[string]any{"Name": "voice"}))
	b.goesOn(b.ann)
}

// TestTelegramVoice: the words of a voice message are the person's question, and the
// answer begins with them. The recording that somebody forwards is material.
func TestTelegramVoice(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles, more: hears}})
	b.configure(strings.Replace(b.config, "servers:\n", strings.TrimPrefix(fmt.Sprintf(ear, b.models.URL), "\n")+"\nservers:\n", 1))
	b.opens()
	voice := telegramfake.File{Type: "audio/ogg", Seconds: 1, Content: llmfake.OGG(1)}
	b.Say(b.ann.ID, b.ann, "", telegramfake.Attach("voice", voice))
	b.once(b.ann.ID, b.says("answer.heard", map[string]any{"Text": "hello from the recording"}), "goal: hello from the recording")
	b.Say(b.bob.ID, b.bob, "", telegramfake.Attach("voice", voice), telegramfake.ForwardOf(b.eve))
	ask := b.offers(b.bob.ID, b.says("button.goal_write", nil), "voice message: what shall I do with it?")
	b.taps(b.bob, b.bob.ID, ask.ID, b.says("button.goal_write", nil))
	b.once(b.bob.ID, "goal: "+b.says("button.goal_write", nil), "file f1 voice: hello from the recording")
}

// TestSlackFiles: the files of a mention and of the thread that it stands in are read.
func TestSlackFiles(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: readsFiles, more: sees}})
	o.opens()
	root := o.SayFiles(general, ben, "the offer of last year", "", slackfake.File{Name: "offer.docx", Content: docx(t, "The price was 280 crowns.")})
	o.SayFiles(general, ann, bots+"which is cheaper?", root, slackfake.File{Name: "new.txt", Content: []byte("The price is 300 crowns.")})
	o.sees(under(general, root), "goal: which is cheaper?", "file f1 new.txt", "The price is 300 crowns.", "file f2 offer.docx", "The price was 280 crowns.")
	o.SayFiles(annDM, ann, "", "", slackfake.File{Name: "picture.png", Type: "image/png", Content: llmfake.PNG(40, 30)})
	o.sees(in(annDM), "picture.png: what shall I do with it?")
	o.Say(annDM, ann, "describe it in one word", "")
	o.sees(in(annDM), "goal: describe it in one word", "pictures: 1")
}

// TestChatFile: a file goes along with a question in the terminal.
func TestChatFile(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: readsFiles})
	if err := os.WriteFile(w.file("notes.csv"), []byte("city,people\nOslo,709037\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := w.finish("", "chat", "--file", w.file("notes.csv"), "how many people?")
	if code != 0 || !holdsAll(out, []string{"goal: how many people?", "file f1 notes.csv", "709037"}) {
		t.Errorf("exit code %d, output %q, said %q; want an answer from the file", code, out, said)
	}
}

// uploads keeps a file for tasks, and returns its id.
func (o outsider) uploads(name string, content []byte) string {
	o.t.Helper()
	code, text := o.posts(name, bytes.NewReader(content))
	var kept struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(text, &kept); err != nil || code != http.StatusCreated {
		o.t.Fatalf("the upload gave %d %s, %v", code, text, err)
	}
	return kept.ID
}

// TestUploadedFile: a program uploads a file, and a task answers from it.
func TestUploadedFile(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: readsFiles, more: fmt.Sprintf("http: {listen: \"127.0.0.1:0\", tokens: [%s]}\n", tokenLine("ops", "operator"))})
	s := w.serve()
	ops := outsider{t: t, url: "http://" + s.address, token: tokenOf("ops")}
	kept := ops.uploads("offer.docx", docx(t, "The price is 300 crowns."))
	var task struct {
		ID     string `json:"id"`
		Answer string `json:"answer"`
	}
	ops.calls(http.MethodPost, "/v1/tasks", fmt.Sprintf(`{"goal": "what is the price?", "files": [%q]}`, kept), &task)
	ops.outcome(task.ID, &task)
	if !holdsAll(task.Answer, []string{"goal: what is the price?", "file f1 offer.docx", "The price is 300 crowns."}) {
		t.Errorf("the answer is %q", task.Answer)
	}
}

// TestLentFile: a tool gets a file only by the grant of its group and the person's yes to
// exactly this call.
func TestLentFile(t *testing.T) {
	t.Parallel()
	for grant, granted := range map[string]bool{"": false, "], files: read, free: [": true} {
		b := newTelegramEnv(t, telegramOptions{options: options{tools: grant, think: steps{
			plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "Look at f1."}, {"name": "llm_tool", "description": "Say hello.", "after": []}]}`)),
			work: func(r llmfake.Request) llmfake.Response {
				if _, ok := r.Tool("lookup"); !ok && exposed(r, "lookup") == "lookup" {
					return llmfake.Say("hello")
				}
				if told, ok := toolResult(r); ok {
					return llmfake.Say("told: " + told)
				}
				if intro := strings.Contains(prompt(r), "write file:f1"); intro != granted {
					t.Errorf("the agent is told how to pass a file on: %v, want %v", intro, granted)
				}
				return llmfake.Call(exposed(r, "lookup"), `{"query": "file:f1"}`)
			},
		}.think}})
		b.opens()
		b.Say(b.ann.ID, b.ann, "look at this", telegramfake.Attach("document", telegramfake.File{Name: "notes.txt", Content: []byte("Water boils at 100 degrees.")}))
		ask := b.offers(b.ann.ID, b.says("button.allow_once", nil), "file:f1")
		b.taps(b.ann, b.ann.ID, ask.ID, b.says("button.allow_once", nil))
		b.until("the call", func(telegramfake.View) bool { return len(b.calls("lookup")) > 0 })
		if got := b.calls("lookup")[0]; strings.Contains(got, "legwork-files-") != granted || granted && !strings.Contains(got, "/notes.txt") {
			t.Errorf("granted %v: the call is %s", granted, got)
		}
	}
}

// TestKillInMidDownload: the message was acknowledged, so the next run fetches its file
// again and answers once. No copy stays behind.
func TestKillInMidDownload(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles}})
	s := b.opens()
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultStall, Method: "download"})
	b.Say(b.bob.ID, b.bob, "how many?", telegramfake.Attach("document", telegramfake.File{Name: "notes.csv", Content: []byte("city,people\nOslo,709037\n")}))
	b.until("the download", func(v telegramfake.View) bool {
		return slices.ContainsFunc(v.Log(), func(e telegramfake.Entry) bool { return e.Method == "download" })
	})
	s.kill()
	s = b.opens()
	b.once(b.bob.ID, "goal: how many?", "file f1 notes.csv", "709037")
	b.goesOn(b.bob)
	s.stops()
	if left, err := os.ReadDir(b.file("data/tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind are %v, %v", left, err)
	}
}

// TestEarlierFiles: a later question reads a part of a file that came before, and looks at
// a picture that came before. After /forget nothing of them is left.
func TestEarlierFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Nothing happens in this line of the book.\n", 2000) + "The treasure lies under the old oak.\n"
	var looked, seen atomic.Int64
	b := newTelegramEnv(t, telegramOptions{options: options{more: sees, think: func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		step, _ := llmfake.StepOf(r)
		named := earlierName.FindAllString(prompt(r), -1)
		switch {
		case step == llmfake.StepPlan && strings.HasPrefix(goal, "where") && len(named) > 0:
			return llmfake.Call("plan", fmt.Sprintf(`{"plan": [{"name": "llm_tool", "description": "Find the treasure in %s."}, {"name": "llm_tool", "description": "Describe %s.", "after": []}]}`, named[1], named[0]))
		case step == llmfake.StepWork:
			task, _ := r.Tagged("task")
			if strings.HasPrefix(task, "Describe") {
				for _, m := range r.Messages {
					seen.Add(int64(len(m.Images)))
				}
				return llmfake.Say("a picture")
			}
			if told, ok := toolResult(r); ok {
				looked.Add(int64(strings.Count(told, "old oak")))
				return llmfake.Say("found: " + told)
			}
			return llmfake.Call("read_attachment", fmt.Sprintf(`{"file": %q, "find": "treasure"}`, earlierName.FindString(task)))
		case step == llmfake.StepReview:
			return llmfake.Say("under the oak")
		}
		return llmfake.Say("thanks for " + goal)
	}}})
	s := b.opens()
	b.Say(b.bob.ID, b.bob, "a book", telegramfake.Attach("document", telegramfake.File{Name: "book.txt", Content: []byte(long)}))
	b.once(b.bob.ID, "thanks for a book")
	b.Say(b.bob.ID, b.bob, "a photo", telegramfake.Attach("photo", telegramfake.File{Content: llmfake.PNG(40, 30)}))
	b.once(b.bob.ID, "thanks for a photo")
	b.Say(b.bob.ID, b.bob, "where is the treasure?")
	b.once(b.bob.ID, "under the oak")
	if looked.Load() != 1 || seen.Load() != 1 {
		t.Errorf("the words were found %d times and the picture was seen %d times, want once each", looked.Load(), seen.Load())
	}
	if len(b.stored("treasure lies")) == 0 {
		t.Error("the book is not stored")
	}
	b.Say(b.bob.ID, b.bob, "/forget yes")
	b.sees(b.bob.ID, "Deleted")
	s.stops()
	b.runs([]string{}, "data", "compact")
	if files := b.stored("treasure lies"); len(files) > 0 {
		t.Errorf("after /forget the book stands in %v", files)
	}
}

var earlierName = regexp.MustCompile(`[0-9A-Z]{6}/f1`)

// TestMemberOfArchive: the list of an archive stands in the prompt, and an agent reads a
// member by its name.
func TestMemberOfArchive(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: steps{
		plan: func(r llmfake.Request) llmfake.Response {
			if !strings.Contains(prompt(r), "word/document.xml") {
				t.Errorf("the prompt does not list the members: %s", prompt(r))
			}
			return llmfake.Call("plan", `{"plan": [{"name": "llm_tool", "description": "Read word/document.xml in f1."}]}`)
		},
		work: func(r llmfake.Request) llmfake.Response {
			if told, ok := toolResult(r); ok {
				return llmfake.Say("told: " + told)
			}
			return llmfake.Call("read_attachment", `{"file": "f1", "parts": "word/document.xml"}`)
		},
	}.think})
	if err := os.WriteFile(w.file("old.zip"), bytes.ReplaceAll(docx(t, "The price is 300 crowns."), []byte("[Content_Types].xml"), []byte("[Content-Types].xml")), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := w.finish("", "chat", "--file", w.file("old.zip"), "what is the price?")
	if code != 0 || !holdsAll(out, []string{"told: ", "The price is 300 crowns."}) {
		t.Errorf("exit code %d, output %q, said %q; want an answer from the member", code, out, said)
	}
}

// TestPartOfSmallFile: an agent that asks for a part of a small file reads the file, of
// which no parts are kept.
func TestPartOfSmallFile(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "llm_tool", "description": "Read page 1 of f1."}]}`)),
		work: func(r llmfake.Request) llmfake.Response {
			if told, ok := toolResult(r); ok {
				return llmfake.Say("told: " + told)
			}
			return llmfake.Call("read_attachment", `{"file": "f1", "parts": "lines 1-2"}`)
		},
	}.think})
	if err := os.WriteFile(w.file("notes.txt"), []byte("Water boils\nat 100 degrees."), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := w.finish("", "chat", "--file", w.file("notes.txt"), "at how many degrees?")
	if code != 0 || !holdsAll(out, []string{"told: ", "at 100 degrees."}) {
		t.Errorf("exit code %d, output %q, said %q; want an answer from the file", code, out, said)
	}
}
