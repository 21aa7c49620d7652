package harness

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
)

// kindsOfMade are the files that people ask for. Models make the last two, for money.
var kindsOfMade = []string{"md", "csv", "xlsx", "docx", "png", "ogg"}

// withFiles lets a question have a file, want files, or both, in half of the cases. voice
// says that it may be spoken, as half of those are that need no sub-tasks.
func withFiles(r *rand.Rand, in *record.Input, voice bool) {
	how, chance, id := r.IntN(1000), r.IntN(12), in.ID
	if voice && in.Kind == record.Plain && how%2 == 0 {
		in.File = record.NewFile(record.Voice, id, how, false)
		return
	}
	if chance >= 6 {
		return
	}
	send := func() {
		kind := []string{record.Document, record.Document, record.Photo}[how%3]
		in.File = record.NewFile(kind, id, how, how%5 == 0)
	}
	switch {
	case in.Kind == record.Plain && chance < 3:
		send()
		return
	case in.Kind == record.Plain:
		in.Kind, in.Text = record.Planned, id+":"
		if chance == 5 {
			send()
		}
	default:
		in.Text += ";"
		if several := len(llmfake.ReadQuestion(in.Text).Rounds[0]) > 1; several && chance < 3 {
			send() // the report of a single sub-task would be the answer
		}
	}
	for n := range 1 + r.IntN(2) {
		if n > 0 {
			in.Text += ";"
		}
		in.Text += " make " + kindsOfMade[r.IntN(len(kindsOfMade))] + " " + words[(how+n)%len(words)]
	}
}

// mediaConfig are the roles of models that see, hear, paint and speak, and these models.
func mediaConfig(url, key string) (roles, models string) {
	roles = ", vision: main, transcribe: ear, image: painter, speech: speaker"
	for name, model := range map[string]string{"ear": "whisper-1", "painter": "gpt-image-1", "speaker": "tts-1"} {
		models += fmt.Sprintf("  %s: {base_url: %q, api_key: %q, model: %s, price: {input: 0, output: 0}}\n", name, url, key, model)
	}
	return roles, models
}

// heard are the words in the recordings that people send, by their content.
func (s *session) heard() map[string]string {
	words := map[string]string{}
	for _, in := range s.record.Inputs {
		if in.File != nil && in.File.Kind == record.Voice {
			words[string(in.File.Content)] = in.Text
		}
	}
	return words
}

// keepFiles writes the files that people send from a terminal, and returns an error.
func (s *session) keepFiles() error {
	dir := filepath.Join(s.dir, "sent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, in := range s.record.Inputs {
		if in.File != nil {
			if err := os.WriteFile(filepath.Join(dir, in.File.Name), in.File.Content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathOf is where the file of an input lies for the terminal.
func (s *session) pathOf(in record.Input) []string {
	if in.File == nil {
		return nil
	}
	return []string{filepath.Join(s.dir, "sent", in.File.Name)}
}

// forgets adds a question with a file, or a spoken one, in a room of its own, and the wish that all of it be
// forgotten, in a third of the runs. The file may be one that others send as well.
func forgets(r *rand.Rand, inputs []record.Input, at room) []record.Input {
	if r.IntN(3) > 0 {
		return inputs
	}
	in := record.Input{Kind: record.Plain, ID: fmt.Sprintf("q%d", len(inputs)+1), Chat: at.name, From: at.people[0]}
	in.Text = in.ID + ": say " + words[r.IntN(len(words))]
	in.File = record.NewFile([]string{record.Document, record.Voice}[r.IntN(2)], in.ID, r.IntN(1000), r.IntN(2) == 0)
	forget := record.Input{Kind: record.Forget, ID: fmt.Sprintf("f%d", len(inputs)+2), Chat: in.Chat, From: in.From, Text: "forget yes", Gate: in.ID}
	return append(inputs, in, forget)
}

// saidForgotten reports whether a message says that a conversation was deleted.
func (c *chats) saidForgotten(in record.Input) bool {
	for _, p := range c.list() {
		if p.Chat == in.Chat && record.SaysForgotten(p.Text) {
			return true
		}
	}
	return false
}

// caption is what people write beside the file of an input.
func caption(in record.Input, text string) string {
	if in.File != nil && in.File.Kind == record.Voice {
		return strings.TrimSpace(strings.TrimSuffix(text, in.Text))
	}
	return text
}
