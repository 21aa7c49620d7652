package llmfake

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // of pictures that people send
	"regexp"
	"strings"
)

// Brain's files. A part such as "make csv beta" of a goal wants a file of that kind, which
// Brain makes in its answer. What stands in files that people send goes into every answer:
// the first line of a text, the size of a picture.

// makePart begins a part of a goal that wants a file.
const makePart = "make "

// Made is a file that a goal wants.
type Made struct {
	Kind string // the ending of its name
	Name string // "q4-beta.csv"
	Part string // "make csv beta"
	Says string // what stands in it: "q4 make csv beta"; of pictures and speech it is the prompt
}

// Makes lists the files that a goal wants.
func (q Question) Makes() (list []Made) {
	for _, round := range q.Rounds {
		for _, part := range round {
			if wanted, ok := strings.CutPrefix(part, makePart); ok {
				kind, word, _ := strings.Cut(wanted, " ")
				list = append(list, Made{Kind: kind, Name: q.ID + "-" + word + "." + kind, Part: part, Says: q.ID + " " + part})
			}
		}
	}
	return list
}

// arguments are those of make_file.
func (m Made) arguments() string {
	a := map[string]any{"name": m.Name, "caption": "file of " + m.Part}
	switch m.Kind {
	case "xlsx":
		a["sheets"] = []any{map[string]any{"name": "Sheet", "columns": []any{map[string]any{"title": "What"}, map[string]any{"title": "Value", "type": "number"}}, "rows": []any{[]any{m.Says, 12}}}}
	case "csv":
		a["text"] = "What,Value\n" + m.Says + ",12\n"
	case "md", "docx":
		a["text"] = "# Report\n\n" + m.Says + "\n"
	default:
		a["text"] = m.Says
	}
	return marshal(a)
}

// Drawn is the picture that Brain's endpoint makes for a prompt, and Spoken the recording of
// a text. They differ for different ones.
func Drawn(prompt string) []byte { return PNG(20+int(hash(prompt)%90), 20+int(hash(prompt)/90%90)) }

// Spoken returns it as Opus in Ogg.
func Spoken(text string) []byte { return OGG(1 + int(hash(text)%50)) }

// Media answers a call beside chat.
func (b Brain) Media(r Request) Response {
	response := Usual(r)
	response.First = b.First
	switch r.Call {
	case CallImage:
		response.Data = Drawn(r.Fields["prompt"])
	case CallSpeech:
		response.Data = Spoken(r.Fields["input"])
	case CallTranscribe:
		if text, ok := b.Heard[string(r.Audio)]; ok {
			response.Text = text
		}
	}
	return response
}

// makeCalls calls make_file for each file that a goal wants; ok is false when the tool is
// not offered, or was called.
func (q Question) makeCalls(r Request) (response Response, ok bool) {
	if _, offered := r.Tool("make_file"); !offered {
		return response, false
	}
	for _, m := range r.Messages {
		if m.Role == "tool" {
			return response, false
		}
	}
	for _, m := range q.Makes() {
		response.ToolCalls = append(response.ToolCalls, ToolCall{Name: "make_file", Arguments: m.arguments()})
	}
	return response, len(response.ToolCalls) > 0
}

var fileTag = regexp.MustCompile(`(?s)<data file="[^"]*" name="[^"]*"[^>]*>\n(.*?)\n?</data>`)

// filesIn tells what is in the files of a prompt, and which files were made.
func (q Question) filesIn(r Request) string {
	var b strings.Builder
	var told []string // results of make_file
	for _, m := range r.Messages {
		if m.Role == "tool" {
			told = append(told, strings.TrimSpace(strings.TrimPrefix(m.Content, "<data>"))) // in a task that has read what others wrote
		}
		for _, f := range fileTag.FindAllStringSubmatch(m.Content, -1) {
			text := strings.TrimSpace(f[1])
			if _, rest, parts := strings.Cut(text, "]\n"); parts && strings.HasPrefix(text, "[") {
				text = rest // the name of its first part
			}
			line, _, _ := strings.Cut(text, "\n")
			if line != "" {
				b.WriteString("\n- file: " + line)
			}
		}
		for _, p := range m.Images {
			b.WriteString("\n- " + SizeOf(p.Data))
		}
	}
	for i, m := range q.Makes() {
		switch {
		case i >= len(told):
		case strings.HasPrefix(told[i], m.Name):
			b.WriteString("\n- " + m.Part + ": made")
		default:
			b.WriteString("\n- " + m.Part + ": " + told[i])
		}
	}
	return b.String()
}

// SizeOf says how large a picture is, as Brain does: "picture of 40 by 30".
func SizeOf(picture []byte) string {
	c, _, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return "no picture"
	}
	return fmt.Sprintf("picture of %d by %d", c.Width, c.Height)
}
