package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/servers"
)

// The roles of models that paint and speak, and these models.
const (
	paints  = "roles: {image: painter, speech: speaker}\n"
	artists = "  painter: {base_url: %[1]q, api_key: sk-secret-e2e, model: gpt-image-1, price: {input: 0, output: 0, image: 0.04}}\n" +
		"  speaker: {base_url: %[1]q, api_key: sk-secret-e2e, model: tts-1, price: {input: 0, output: 0, speech_1k: 0.015}}\n"
)

// What a person asks for, and the call that makes it.
var made = map[string]string{
	"a report as DOCX":     `{"name":"report.docx","text":"# Sales\n\nThey rose by **4 %**.\n\n| Year | Sales |\n|---|---|\n| 2026 | 12.5 |","caption":"Sales of 2026"}`,
	"a report as PDF":      `{"name":"report.pdf","text":"# Sales\n\nThey rose."}`,
	"compare in a sheet":   `{"name":"offers.xlsx","sheets":[{"name":"Offers","columns":[{"title":"Who"},{"title":"Price","type":"currency","format":"EUR"}],"rows":[["A",12.5],["B",9]],"charts":[{"kind":"bar","title":"Offers","series":[{"name":"Price"}]}]}],"caption":"Three offers"}`,
	"a list as CSV":        `{"name":"offers.csv","text":"Who,Price\nA,12.5\n"}`,
	"a spoken summary":     `{"name":"summary.ogg","text":"Sales rose by four per cent."}`,
	"a picture of a cat":   `{"name":"cat.png","text":"A cat on a roof","caption":"The cat"}`,
	"a file of a bad kind": `{"name":"report.pptx","text":"# Sales"}`,
}

// makesFiles is a model that makes the file which the goal asks for.
func makesFiles(r llmfake.Request) llmfake.Response {
	goal, _ := r.Tagged("goal")
	arguments, known := made[goal]
	step, _ := llmfake.StepOf(r)
	_, makes := r.Tool("make_file")
	last := r.Messages[len(r.Messages)-1]
	switch {
	case !known:
		return llmfake.Brain{}.Respond(r)
	case step == llmfake.StepPlan:
		return llmfake.Call("plan", `{"plan":[],"wants_file":true}`)
	case makes && last.Role != "tool":
		return llmfake.Call("make_file", arguments)
	case strings.Contains(last.Content, "No file was made"):
		return llmfake.Say("I cannot: " + last.Content)
	}
	return llmfake.Say("Here it is: " + goal)
}

// withArtists adds models that paint and speak to the config.
func (w *env) withArtists() {
	w.t.Helper()
	w.configure(strings.Replace(w.config, "servers:\n", fmt.Sprintf(artists, w.models.URL)+"servers:\n", 1))
}

// member is a file of a ZIP; empty when it is not there.
func member(t *testing.T, archive []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatalf("%v in %.40q", err, archive)
	}
	f, err := z.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkMade checks what is in a made file.
func checkMade(t *testing.T, goal, name string, content []byte) {
	t.Helper()
	holds := map[string]func() bool{
		"report.docx": func() bool { return strings.Contains(member(t, content, "word/document.xml"), "Sales") },
		"offers.xlsx": func() bool {
			return member(t, content, "xl/worksheets/sheet1.xml") != "" && member(t, content, "xl/charts/chart1.xml") != ""
		},
		"report.pdf":  func() bool { return bytes.HasPrefix(content, []byte("%PDF-")) },
		"offers.csv":  func() bool { return string(content) == "\ufeffWho,Price\r\nA,12.5\r\n" },
		"summary.ogg": func() bool { return bytes.HasPrefix(content, []byte("OggS")) },
		"cat.png":     func() bool { return bytes.Equal(content, llmfake.PNG(8, 8)) },
	}[name]
	if holds == nil || !holds() {
		t.Errorf("%s: the file %q holds %.60q", goal, name, content)
	}
}

// TestTelegramMadeFiles: files of each kind come before the answer, as documents, photos
// and voice messages, and a kind that does not exist is answered with a sentence.
func TestTelegramMadeFiles(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: makesFiles, more: paints}})
	b.withArtists()
	b.opens()
	for _, c := range []struct{ goal, name, media, caption string }{
		{"a report as DOCX", "report.docx", "document", "Sales of 2026"},
		{"a report as PDF", "report.pdf", "document", ""},
		{"compare in a sheet", "offers.xlsx", "document", "Three offers"},
		{"a list as CSV", "offers.csv", "document", ""},
		{"a spoken summary", "summary.ogg", "voice", "summary.ogg"},
		{"a picture of a cat", "cat.png", "photo", "The cat"},
	} {
		asked := b.Say(b.ann.ID, b.ann, c.goal)
		answer := b.once(b.ann.ID, "Here it is: "+c.goal)
		i := slices.IndexFunc(b.Chat(b.ann.ID).Bots(), func(m telegramfake.Message) bool { return m.File != nil && m.ReplyTo == asked })
		if i < 0 {
			t.Errorf("%s: no file came", c.goal)
			continue
		}
		if strings.Contains(answer.Text, "sub-task") {
			t.Errorf("%s: the answer counts itself as a sub-task: %q", c.goal, answer.Text)
		}
		m := b.Chat(b.ann.ID).Bots()[i]
		if m.Media != c.media || m.Text != c.caption || m.ID > answer.ID {
			t.Errorf("%s: a %s with %q came as message %d, the answer as %d; want a %s with %q before it", c.goal, m.Media, m.Text, m.ID, answer.ID, c.media, c.caption)
		}
		checkMade(t, c.goal, c.name, m.File.Content)
	}
	b.Say(b.ann.ID, b.ann, "a file of a bad kind")
	b.once(b.ann.ID, "I cannot", `there is no kind "pptx"`)
	g := b.group(b.Group("Team", b.ann, b.bob))
	b.ForbidFiles(g, true)
	b.Say(g, b.ann, "/task@legwork_bot a report as DOCX")
	b.once(g, b.says("made.refused", map[string]any{"Name": "report.docx"}))
	b.once(g, "Here it is")
}

// TestSlackMadeFiles: files come into the thread of the question, or the direct messages.
func TestSlackMadeFiles(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: makesFiles, more: paints}})
	o.withArtists()
	o.opens()
	for _, c := range []struct{ goal, name string }{
		{"a report as DOCX", "report.docx"},
		{"compare in a sheet", "offers.xlsx"},
		{"a list as CSV", "offers.csv"},
		{"a spoken summary", "summary.ogg"},
		{"a picture of a cat", "cat.png"},
	} {
		ts := o.Say(general, ann, bots+c.goal, "")
		o.sees(under(general, ts), "Here it is: "+c.goal)
		found := 0
		for _, m := range o.said(under(general, ts)) {
			for _, f := range m.Files {
				found++
				checkMade(t, c.goal, f.Name, f.Content)
			}
		}
		if found != 1 {
			t.Errorf("%s: %d files came, want one", c.goal, found)
		}
	}
	o.GrantFiles(false)
	o.Say(annDM, ann, "a report as DOCX", "")
	o.sees(in(annDM), o.text("made.refused", map[string]any{"Name": "report.docx"}))
	o.sees(in(annDM), "Here it is: a report as DOCX")
}

// TestChatMadeFiles: made files are saved under names that do not exist yet, and the
// paths are printed.
func TestChatMadeFiles(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: makesFiles, more: paints})
	w.withArtists()
	for goal, names := range map[string][]string{
		"a report as DOCX": {"report.docx", "report-2.docx"}, "compare in a sheet": {"offers.xlsx"}, "a list as CSV": {"offers.csv"}, "a spoken summary": {"summary.ogg"}, "a picture of a cat": {"cat.png"},
	} {
		for _, name := range names {
			code, out, said := w.finish("", "chat", goal)
			if code != 0 || !strings.Contains(out, "Here it is: "+goal) || !strings.Contains(said, w.file(name)) {
				t.Errorf("%s: exit code %d, output %q, said %q; want the path of %s", goal, code, out, said, name)
			}
			content, err := os.ReadFile(w.file(name))
			if err != nil {
				t.Fatal(err)
			}
			checkMade(t, goal, names[0], content)
		}
	}
}

// TestMadeFileAfterKill: a process that is killed while a file is sent, before or after
// the chat has it, does not lose it. It comes twice at most, and the answer once.
func TestMadeFileAfterKill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind string
		most int // messages with the file
	}{{telegramfake.FaultDelayAfter, 2}, {telegramfake.FaultDropBefore, 1}} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: options{think: makesFiles}})
			s := b.opens()
			b.Fail(telegramfake.Fault{Method: "sendDocument", Kind: c.kind, Delay: time.Minute, Count: telegramfake.Forever})
			b.Say(b.bob.ID, b.bob, "a report as DOCX")
			s.until("the file on its way", func() bool {
				return slices.ContainsFunc(b.Log(), func(e telegramfake.Entry) bool { return e.Method == "sendDocument" })
			})
			s.kill()
			b.Heal()
			b.opens()
			b.meets(b.bob.ID, "the file", func(m telegramfake.Message) bool { return m.File != nil }) // perhaps after the answer
			b.once(b.bob.ID, "Here it is: a report as DOCX")
			n := 0
			for _, m := range b.Chat(b.bob.ID).Bots() {
				if m.File != nil {
					n++
					checkMade(t, "a report as DOCX", "report.docx", m.File.Content)
				}
			}
			if n < 1 || n > c.most {
				t.Errorf("the file came %d times, want 1 to %d", n, c.most)
			}
		})
	}
	t.Run("slack", func(t *testing.T) {
		t.Parallel()
		o := newSlackEnv(t, slackOptions{options: options{think: makesFiles}})
		s := o.opens()
		o.Break(slackfake.Fault{Method: "files.completeUploadExternal", Kind: slackfake.FaultDelay, Delay: time.Second})
		o.Say(benDM, ben, "a report as DOCX", "")
		o.until("the file on its way", func() bool { return len(o.Calls("files.completeUploadExternal")) > 0 })
		s.kill()
		o.Heal()
		o.opens()
		o.meets(in(benDM), "the file", func(m slackfake.Message) bool { return len(m.Files) > 0 })
		o.sees(in(benDM), "Here it is: a report as DOCX")
		n := 0
		for _, m := range o.said(in(benDM)) {
			n += len(m.Files)
		}
		if n < 1 || n > 2 {
			t.Errorf("the file came %d times, want once or twice", n)
		}
	})
}

// TestMadeFilesOverHTTP: the context of a task lists the files that it has made, and the
// API gives them as attachments of their types.
func TestMadeFilesOverHTTP(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: makesFiles, more: fmt.Sprintf("http: {listen: \"127.0.0.1:0\", tokens: [%s]}\n", tokenLine("ops", "operator"))})
	ops := outsider{t: t, url: "http://" + w.serve().address, token: tokenOf("ops")}
	var task struct{ ID string }
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal": "compare in a sheet"}`, &task)
	ops.outcome(task.ID, &task)
	var context struct {
		Messages []struct {
			Files []struct{ ID, Name, Type string }
		}
	}
	ops.calls(http.MethodGet, fmt.Sprintf("/v1/tasks/%s/context?type=tool_result", task.ID), "", &context)
	if len(context.Messages) != 1 || len(context.Messages[0].Files) != 1 {
		t.Fatalf("the context is %+v, want one result with a file", context)
	}
	f := context.Messages[0].Files[0]
	resp := ops.asks(http.MethodGet, "/v1/files/"+f.ID, "")
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	const kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	if got := resp.Header.Get("Content-Type"); got != kind || f.Type != kind || f.Name != "offers.xlsx" {
		t.Errorf("the file %+v has the type %q, want %q", f, got, kind)
	}
	if got := resp.Header.Get("Content-Disposition"); got != "attachment; filename=offers.xlsx" || resp.Header.Get("Content-Security-Policy") != "sandbox" {
		t.Errorf("the headers are %v, want a sandboxed attachment", resp.Header)
	}
	checkMade(t, "compare in a sheet", f.Name, content)
}

// TestFilesOverMCP: a program gives a file to a task, and the made ones come back with it:
// a small one as it is, a large one as a link that the program can read.
func TestFilesOverMCP(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat("Oslo,709037\n", 4000)
	w := newEnv(t, options{more: fmt.Sprintf("http: {listen: \"127.0.0.1:0\", tokens: [%s]}\n", tokenLine("bot", "agent")), think: func(r llmfake.Request) llmfake.Response {
		step, _ := llmfake.StepOf(r)
		switch told, made := toolResult(r); {
		case step == llmfake.StepPlan:
			return llmfake.Call("plan", `{"plan":[],"wants_file":true}`)
		case made:
			return llmfake.Say("made: " + told)
		case !strings.Contains(prompt(r), "City of fjords"):
			t.Errorf("the file is not in the prompt: %s", prompt(r))
		}
		return llmfake.Response{ToolCalls: []llmfake.ToolCall{
			{Name: "make_file", Arguments: jsonText(map[string]any{"name": "small.md", "text": "# Bergen"})},
			{Name: "make_file", Arguments: jsonText(map[string]any{"name": "large.csv", "text": "City,People\n" + rows})},
		}}
	}})
	s := w.serve(tokenOf("bot"))
	c, err := client.NewStreamableHttpClient("http://"+s.address+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + tokenOf("bot")}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	call := func(tool string, arguments map[string]any) *mcp.CallToolResult {
		t.Helper()
		result, err := servers.Call(t.Context(), c, tool, arguments, nil)
		if err != nil || result.IsError {
			t.Fatalf("%s: %+v, %v", tool, result, err)
		}
		return result
	}
	file := outsider{t, "http://" + s.address, tokenOf("bot")}.uploads("notes.txt", []byte("City of fjords"))
	var task struct {
		ID, State string
		Files     []struct {
			Name  string
			Bytes int64
		}
	}
	for result := call("start_task", map[string]any{"goal": "the cities as files", "files": []string{file}}); ; result = call("get_task", map[string]any{"task_id": task.ID, "wait_seconds": 20}) {
		if err := json.Unmarshal([]byte(servers.Text(result)), &task); err != nil {
			t.Fatal(err)
		}
		if task.State != "done" {
			continue
		}
		if len(task.Files) != 2 || len(result.Content) != 3 {
			t.Fatalf("the task has the files %+v and the content %+v", task.Files, result.Content)
		}
		small, _ := result.Content[1].(mcp.EmbeddedResource)
		if text, _ := small.Resource.(mcp.TextResourceContents); strings.TrimSpace(text.Text) != "# Bergen" {
			t.Errorf("the small file came as %+v", result.Content[1])
		}
		link, _ := result.Content[2].(mcp.ResourceLink)
		if link.Name != "large.csv" || link.Size == nil || *link.Size != task.Files[1].Bytes {
			t.Errorf("the large file came as %+v", result.Content[2])
		}
		read, err := c.ReadResource(t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: link.URI}})
		if err != nil || len(read.Contents) != 1 {
			t.Fatalf("reading %s: %+v, %v", link.URI, read, err)
		}
		if text, _ := read.Contents[0].(mcp.TextResourceContents); strings.Count(text.Text, "709037") != 4000 {
			t.Errorf("the large file holds %.100q", text.Text)
		}
		break
	}
	unknown := "legwork://files/" + strings.Repeat("0", 64)
	if read, err := c.ReadResource(t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: unknown}}); err == nil || !strings.Contains(err.Error(), "o such file") {
		t.Errorf("an unknown file: %+v, %v; want that there is none", read, err)
	}
	s.stops()
}

// large is a model whose answers do not fit a chat.
func large(r llmfake.Request) llmfake.Response {
	switch goal, _ := r.Tagged("goal"); goal {
	case "a long answer":
		return llmfake.Say("Once upon a time.\n\n" + strings.Repeat("The story goes on and on.\n\n", 2000) + "The end.")
	case "a wide table":
		head, rule, row := "|", "|", "|"
		for i := range 12 {
			head, rule, row = head+fmt.Sprintf(" heading %d |", i), rule+"---|", row+fmt.Sprintf(" value of %d |", i)
		}
		return llmfake.Say("Compared:\n\n" + head + "\n" + rule + "\n" + row + "\n")
	}
	return llmfake.Brain{}.Respond(r)
}

// checkLarge checks the file of an answer that does not fit a chat.
func checkLarge(t *testing.T, name string, content []byte) {
	t.Helper()
	inside := map[string]string{"answer.docx": "word/document.xml", "tables.xlsx": "xl/worksheets/sheet1.xml"}[name]
	want := map[string][]string{"answer.docx": {"Once upon a time.", "The end."}, "tables.xlsx": {"heading 11", "value of 11"}}[name]
	if inside == "" {
		t.Fatalf("an unexpected file %s came", name)
	}
	if text := member(t, content, inside) + member(t, content, "xl/sharedStrings.xml"); !holdsAll(text, want) {
		t.Errorf("%s lacks one of %q", name, want)
	}
}

// TestTelegramLargeAnswer: a long answer comes as its first message and a document, and
// a wide table also as a workbook.
func TestTelegramLargeAnswer(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: large, more: "files: {answer_messages: 2}\n"}})
	b.opens()
	for _, c := range []struct{ goal, name, end string }{
		{"a long answer", "answer.docx", b.says("made.rest", map[string]any{"Name": "answer.docx"})},
		{"a wide table", "tables.xlsx", "Compared:"},
	} {
		asked := b.Say(b.bob.ID, b.bob, c.goal)
		b.meets(b.bob.ID, "the end of the answer", func(m telegramfake.Message) bool { return m.ID > asked && strings.Contains(m.Text, c.end) })
		found, texts := 0, 0
		for _, m := range b.Chat(b.bob.ID).Bots() {
			switch {
			case m.ID <= asked:
			case m.File != nil:
				found++
				if m.File.Name != c.name {
					t.Errorf("%s: the file is %s, want %s", c.goal, m.File.Name, c.name)
				}
				checkLarge(t, m.File.Name, m.File.Content)
			default:
				texts++
			}
		}
		if found != 1 || texts > 2 {
			t.Errorf("%s: %d files and %d messages came, want one file and two messages at most", c.goal, found, texts)
		}
	}
	b.goesOn(b.bob)
}

// TestSlackLargeAnswer is the same in Slack.
func TestSlackLargeAnswer(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: large, more: "files: {answer_messages: 2}\n"}})
	o.opens()
	for _, c := range []struct{ goal, name, end string }{
		{"a long answer", "answer.docx", o.text("made.rest", map[string]any{"Name": "answer.docx"})},
		{"a wide table", "tables.xlsx", "Compared:"},
	} {
		ts := o.Say(general, ben, bots+c.goal, "")
		o.sees(under(general, ts), c.end)
		found := 0
		for _, m := range o.said(under(general, ts)) {
			for _, f := range m.Files {
				found++
				if f.Name != c.name {
					t.Errorf("%s: the file is %s, want %s", c.goal, f.Name, c.name)
				}
				checkLarge(t, f.Name, f.Content)
			}
		}
		if found != 1 {
			t.Errorf("%s: %d files came, want one", c.goal, found)
		}
	}
	o.goesOn(ben)
}
