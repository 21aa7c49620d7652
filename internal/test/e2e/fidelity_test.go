package e2e_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// strangeSchema is what the fake's tool strange takes.
const strangeSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Strange","type":"object",
	"$defs":{"id":{"type":"string","pattern":"^(?!x)[a-z]+$"}},"properties":{"id":{"$ref":"#/$defs/id"},"n":{"type":"integer","default":3}},
	"oneOf":[{"required":["id"]},{"required":["n"]}]}`

// offering is an environment whose group desk has all well-behaved tools, and a model
// for images.
func offering(t *testing.T) *env {
	t.Helper()
	w := newEnv(t, options{
		// What only the server names stands in no goal.
		think:      orders{words: map[string]string{"TODAY": "note://today", "MONDAY": "note://day/monday"}}.think,
		serverArgs: ", -full", limit: patience, wait: patience,
		tools: ", strange, pid, violate, unstructured, weather, picture, sound, document, list_resources, read_resource, steps",
		more:  "roles: {vision: eyes}\n",
	})
	w.configure(strings.Replace(w.config, "servers:\n", fmt.Sprintf("  eyes: {base_url: %q, api_key: sk-secret-e2e, model: eyes}\nservers:\n", w.models.URL), 1))
	return w
}

// TestSchemaWhole: the model is shown a tool's schema with everything in it, and
// what it calls without arguments arrives as an empty object.
func TestSchemaWhole(t *testing.T) {
	t.Parallel()
	w := offering(t)
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: desk strange {"n":5} then strange {} then pid `), false, "The tools said: ")
	p.end()
	var want any
	if err := json.Unmarshal([]byte(strangeSchema), &want); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, r := range w.asked("q1: strange") {
		tool, ok := r.Tool("desk__strange")
		if !ok {
			continue
		}
		shown++
		var got any
		if err := json.Unmarshal(tool.Schema, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the model is shown the schema %s, want all of %s", tool.Schema, strangeSchema)
		}
	}
	if shown == 0 {
		t.Error("the tool was not offered")
	}
	if calls := w.calls("strange"); len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{"n":5}`) {
		t.Errorf("the server got the calls %q, want only the one that fits the schema", calls)
	}
	if calls := w.calls("pid"); len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{}`) {
		t.Errorf("a call without arguments arrived as %q, want {}", calls)
	}
	if len(w.asked("missing property 'id'")) == 0 {
		t.Error("the model did not read what is wrong with arguments that fit no branch")
	}
}

// TestResultsShown: whatever a tool returns is shown to the model between marks
// that say it is data: words, images by a model that sees, sounds by their kind,
// documents, and links that can be read.
func TestResultsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		goal string
		want []string // in the prompt after the last call
	}{
		"a text":              {`desk lookup {"key":"x"}`, []string{"<data>\nvalue of x\n</data>"}},
		"structured":          {`desk weather {"place":"Paris"}`, []string{`"celsius":21.5`}},
		"a broken promise":    {`desk violate {}`, []string{`"celsius":"warm"`, "does not fit"}},
		"a forgotten promise": {`desk unstructured {}`, []string{"it is warm", "structured"}},
		"a sound":             {`desk sound {}`, []string{"audio/wav", "a tone"}},
		"a document":          {`desk document {}`, []string{"Buy bread.", "note://tomorrow", "read_resource"}},
		"resources":           {`desk list_resources {} then read_resource {"uri":"TODAY"}`, []string{"note://day/{day}", "<data>\nBuy bread.\n</data>"}},
		"a linked resource":   {`desk document {} then read_resource {"uri":"MONDAY"}`, []string{"Nothing to do on monday."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := offering(t)
			p := w.start("chat", "--json")
			answer := p.ask("q1", "q1: "+c.goal)
			p.end()
			if answer.Failed {
				t.Errorf("the answer is %q", answer.Text)
			}
			asked := w.asked("q1: " + strings.TrimPrefix(c.goal, "desk "))
			if last := prompt(asked[len(asked)-1]); !holdsAll(last, c.want) {
				t.Errorf("the last prompt lacks one of %q:\n%s", c.want, last)
			}
		})
	}
}

// TestImageSeen: an image goes to the model of the role vision, as it was.
func TestImageSeen(t *testing.T) {
	t.Parallel()
	w := offering(t)
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: desk picture {}`), false, "The tools said: ")
	p.end()
	for _, r := range w.models.Requests() {
		var images []llmfake.Image
		for _, m := range r.Messages {
			images = append(images, m.Images...)
		}
		if _, told := toolResult(r); told != (r.Model == "eyes") {
			t.Errorf("request %d went to the model %s, want the one that sees with the result and no other", r.Seq, r.Model)
		}
		if r.Model == "eyes" && (len(images) != 1 || images[0].Type != "image/png" || !strings.HasPrefix(string(images[0].Data), "\x89PNG")) {
			t.Errorf("the model that sees got %d images, want the PNG", len(images))
		}
	}
}

// TestProgress: a call's progress is on the board, and /stop reaches its server.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: options{think: orders{}.think, serverArgs: ", -full, -era, " + era, limit: patience, wait: patience, tools: ", steps"}})
			s := b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, `q1: desk steps {"n":100,"ms":200}`)
			b.offers(chat, "Stop", "desk.steps", " %: step ", " of 100")
			b.Say(chat, b.bob, "/stop")
			b.sees(chat, b.says("problem.stopped", nil))
			s.until("the server's cancel", func() bool { return strings.Contains(b.read("calls.jsonl"), `"event":"cancelled"`) })
			if strings.Contains(b.read("calls.jsonl"), `"event":"done"`) {
				t.Error("the call went on to its end")
			}
			b.goesOn(b.bob)
		})
	}
}
