package e2e_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/need"
)

// notes is a document that the model repeats when it could be read.
func notes() telegramfake.File {
	return telegramfake.File{Name: "notes.csv", Type: "text/csv", Content: []byte("city,people\nOslo,709037\n")}
}

// unread checks that the log has one line of the task that says why a file was not read.
func (b *telegramEnv) unread(s *serving, cause string) {
	b.t.Helper()
	s.logged("file not read", "task=", "action=", cause)
}

// TestUnreadRecordings: of an hour of silence, and without a model that hears or sees,
// the person reads a sentence, and a question beside the file is answered.
func TestUnreadRecordings(t *testing.T) {
	t.Parallel()
	voice := telegramfake.File{Type: "audio/ogg", Seconds: 3600, Content: llmfake.OGG(3600)}
	photo := telegramfake.File{Type: "image/png", Content: llmfake.PNG(40, 30)}
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles, more: hears, media: always(llmfake.Response{Seconds: 3600})}})
		b.configure(strings.Replace(b.config, "servers:\n", strings.TrimPrefix(fmt.Sprintf(ear, b.models.URL), "\n")+"\nservers:\n", 1))
		s := b.opens()
		b.Say(b.ann.ID, b.ann, "", telegramfake.Attach("voice", voice))
		b.once(b.ann.ID, b.says("file.silent", map[string]any{"Name": "voice"}))
		b.unread(s, "no words")
		b.goesOn(b.ann)
	})
	t.Run("no such models", func(t *testing.T) {
		t.Parallel()
		b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles}})
		s := b.opens()
		b.Say(b.ann.ID, b.ann, "what do I say?", telegramfake.Attach("voice", voice))
		b.once(b.ann.ID, "goal: what do I say?", b.says("file.unheard", map[string]any{"Name": "voice"}))
		b.unread(s, "role transcribe")
		b.Say(b.ann.ID, b.ann, "what is this?", telegramfake.Attach("photo", photo))
		b.once(b.ann.ID, "goal: what is this?", b.says("file.unseen", map[string]any{"Name": "photo"}))
		b.unread(s, "role vision")
		b.Say(b.bob.ID, b.bob, "", telegramfake.Attach("photo", photo))
		b.once(b.bob.ID, b.says("file.unseen", map[string]any{"Name": "photo"}))
	})
}

// TestUnreadDownloads: of a file that Telegram deletes before it is fetched, or whose
// length is not what Telegram says, the person reads a sentence.
func TestUnreadDownloads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault      telegramfake.Fault
		lost       bool
		key, cause string
	}{
		"deleted":   {telegramfake.Fault{Kind: telegramfake.FaultUnavailable, Method: "getFile"}, true, "file.gone", "file_id"},
		"too short": {telegramfake.Fault{Kind: telegramfake.FaultShort, Method: "download", Count: telegramfake.Forever}, false, "file.unreachable", "the platform said 24"},
		"too long":  {telegramfake.Fault{Kind: telegramfake.FaultLong, Method: "download", Count: telegramfake.Forever}, false, "file.unreachable", "more than 24 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles}})
			s := b.opens()
			b.Fail(c.fault)
			asked := b.Say(b.bob.ID, b.bob, "how many?", telegramfake.Attach("document", notes()))
			if c.lost { // while legwork waits for another try
				b.until("the first try", func(v telegramfake.View) bool {
					return slices.ContainsFunc(v.Log(), func(e telegramfake.Entry) bool { return e.Method == "getFile" })
				})
				for _, m := range b.Chat(b.bob.ID).Messages {
					if m.ID == asked {
						b.LoseFile(m.File.ID)
					}
				}
			}
			b.once(b.bob.ID, "goal: how many?", b.says(c.key, map[string]any{"Name": "notes.csv"}))
			b.unread(s, c.cause)
			b.Heal()
			b.goesOn(b.bob)
		})
	}
}

// TestStalledDownload: a download that brings nothing more is cut, and the next try reads
// the file.
func TestStalledDownload(t *testing.T) {
	t.Parallel()
	need.Check(t)
	b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles}})
	b.opens()
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultStall, Method: "download"})
	b.Say(b.bob.ID, b.bob, "how many?", telegramfake.Attach("document", notes()))
	b.once(b.bob.ID, "goal: how many?", "file f1 notes.csv", "709037")
}

// TestSlackUnreadDownloads: a link that ran out is replaced by a new one, and of a file
// that was deleted before it was fetched the person reads a sentence.
func TestSlackUnreadDownloads(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: readsFiles}})
	s := o.opens()
	file := slackfake.File{Name: "notes.csv", Type: "text/csv", Content: notes().Content}
	o.Break(slackfake.Fault{Method: "download", Kind: slackfake.FaultStatus, Status: 404})
	o.SayFiles(annDM, ann, "how many?", "", file)
	o.once(in(annDM), "goal: how many?", "file f1 notes.csv", "709037")

	o.Break(slackfake.Fault{Method: "download", Kind: slackfake.FaultStatus, Status: 500})
	before := len(o.Calls("download"))
	ts := o.SayFiles(benDM, ben, "how many?", "", file)
	o.until("the first try", func() bool { return len(o.Calls("download")) > before })
	m, _ := o.Message(benDM, ts)
	o.DeleteFile(m.Files[0].ID)
	o.once(in(benDM), "goal: how many?", o.text("file.gone", map[string]any{"Name": "notes.csv"}))
	s.logged("file not read", "task=", "file_deleted")
	o.goesOn(ben)
}

// TestSheetOfAMillionRows: a sheet that is too large is not made, and the model is told
// why, so that it can say so.
func TestSheetOfAMillionRows(t *testing.T) {
	t.Parallel()
	need.Check(t)
	b := newTelegramEnv(t, telegramOptions{options: options{model: ", context_tokens: 8000000, max_output_tokens: 4000000", more: "budget: {task_tokens: 0, day_tokens: 0}\n", think: func(r llmfake.Request) llmfake.Response {
		step, _ := llmfake.StepOf(r)
		last := r.Messages[len(r.Messages)-1]
		switch {
		case step == llmfake.StepPlan:
			return llmfake.Call("plan", `{"plan":[],"wants_file":true}`)
		case last.Role == "tool":
			return llmfake.Say("told: " + last.Content)
		}
		rows := bytes.TrimSuffix(bytes.Repeat([]byte("[1],"), 1_050_000), []byte(","))
		call := llmfake.Call("make_file", fmt.Sprintf(`{"name":"all.xlsx","sheets":[{"name":"All","rows":[%s]}]}`, rows))
		call.Token = 1 << 20
		return call
	}}})
	s := b.opens()
	b.Say(b.bob.ID, b.bob, "a sheet of a million rows")
	b.once(b.bob.ID, "told: ", "1048576")
	s.logged("file not made", "task=")
	b.goesOn(b.bob)
}
