package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestMedia: parts that are more than a text are shown, kept or described.
func TestMedia(t *testing.T) {
	for _, by := range transports() {
		t.Run(by, func(t *testing.T) {
			s := ready(t, fake(t, by, "-full"))
			r := call(t, s, "picture", "{}")
			wantText(t, "picture", r, false, "a red square\n[image: image/png, ")
			if len(r.Files) != 1 || r.Files[0].Name != "image.png" || r.Files[0].Type != "image/png" || len(r.Files[0].Data) == 0 {
				t.Errorf("the picture as a file: %+v", r.Files)
			}
			if len(r.Images) != 1 || r.Images[0].Type != "image/png" {
				t.Fatalf("got %d images, want one PNG", len(r.Images))
			}
			m, err := png.Decode(bytes.NewReader(r.Images[0].Data))
			if err != nil || m.Bounds().Dx() != 16 {
				t.Errorf("the image: got %v, %v; want one of 16 by 16", m, err)
			}
			sound := call(t, s, "sound", "{}")
			wantText(t, "sound", sound, false, "a tone\n[audio: audio/wav, 0.1 seconds, 844 bytes, not shown]")
			if len(sound.Files) != 1 || sound.Files[0].Name != "audio.wav" || len(sound.Files[0].Data) != 844 {
				t.Errorf("the sound as a file: %+v", sound.Files)
			}
			wantText(t, "document", call(t, s, "document", "{}"), false,
				"[resource: note://today]\nBuy bread.\n[resource: tomorrow note://tomorrow The note of tomorrow. Read it with s.read_resource {\"uri\":\"note://tomorrow\"}]")
			wantText(t, "attachment", call(t, s, "attachment", "{}"), false, "[resource: note://letter.txt]\nBuy bread.")
			wantText(t, "weather", call(t, s, "weather", `{"place":"Rome"}`), false, `{"celsius":21.5,"sky":"clear"}`)
			if d := s.Catalog().Tools["weather"]; !strings.Contains(string(d.OutputSchema), "celsius") {
				t.Errorf("output schema: got %s", d.OutputSchema)
			}
		})
	}
}

// TestResources are listed and read by two tools of legwork's own.
func TestResources(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			s := ready(t, fake(t, w.by, "-full", "-era", w.era, "-log", path))
			cat := s.Catalog()
			for _, name := range []string{"list_resources", "read_resource"} {
				if d := cat.Tools[name]; d == nil || !d.ForResources || !d.Annotations.ReadOnly {
					t.Fatalf("%s: got %+v, want one of our own that only reads", name, d)
				}
			}
			wantText(t, "all", call(t, s, "list_resources", ""), false, "note://today: today (text/plain). A note: today.", "template note://day/{day}", "note://square.png: square (image/png)")
			r := call(t, s, "list_resources", `{"filter":"BREAD"}`)
			wantText(t, "none", r, false, "There are no such resources here.")
			wantText(t, "text", call(t, s, "read_resource", `{"uri":"note://today"}`), false, "Buy bread.")
			wantText(t, "template", call(t, s, "read_resource", `{"uri":"note://day/monday"}`), false, "Nothing to do on monday.")
			r = call(t, s, "read_resource", `{"uri":"note://square.png"}`)
			if wantText(t, "blob", r, false, "[resource: note://square.png: image/png"); len(r.Images) != 1 {
				t.Errorf("blob: got %d images, want 1", len(r.Images))
			}
			for uri, want := range map[string]string{
				"note://letter.txt": "Grüße aus Rom.", "note://data.json": `{"bread":2}`,
				"note://latin.txt": "[resource: note://latin.txt, text/plain, 5 bytes, not shown]",
			} {
				if r := call(t, s, "read_resource", `{"uri":"`+uri+`"}`); r.Text != want || r.Failed {
					t.Errorf("%s: got %q, want %q", uri, r.Text, want)
				}
			}
			r = call(t, s, "read_resource", `{"uri":"note://huge.txt"}`)
			if !strings.HasPrefix(r.Text, "Grüße. Grüße.") || !utf8.ValidString(r.Text) || strings.Contains(r.Text, "\uFFFD") || len(r.Text) < 700<<10 || len(r.Text) > 1<<20 || r.Bytes <= len(r.Text) {
				t.Errorf("huge blob: got %d of %d bytes, beginning %.40q; want about a megabyte of whole letters", len(r.Text), r.Bytes, r.Text)
			}
			r = call(t, s, "read_resource", `{"uri":"note://huge"}`)
			if len(r.Text) != 1<<20 || r.Bytes < 8<<20-20 {
				t.Errorf("huge: got %d of %d bytes, want 1 MiB of 8", len(r.Text), r.Bytes)
			}
			if r := call(t, s, "read_resource", `{"uri":"note://nowhere/at/all"}`); !r.Failed || r.Unknown || strings.Count(r.Text, "not found") != 1 {
				t.Errorf("unknown: got %+v, want a failure that says once what was not found", r)
			}
			if _, err := try(t, s, "read_resource", `{}`); !errors.Is(err, client.ErrArguments) {
				t.Errorf("no uri: got %v, want %v", err, client.ErrArguments)
			}
			if strings.Contains(read(path), `"violation"`) {
				t.Errorf("the server complained: %s", read(path))
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			s := ready(t, fake(t, w.by, "-full", "-era", w.era))
			var names []string
			for _, p := range s.Catalog().Prompts {
				n := p.Name
				for _, a := range p.Arguments {
					n += fmt.Sprintf(" %s=%v", a.Name, a.Required)
				}
				names = append(names, n)
			}
			if got, want := strings.Join(names, "; "), "greet; summarize text=true style=false"; got != want {
				t.Errorf("prompts: got %q, want %q", got, want)
			}
			for _, c := range []struct {
				name string
				args map[string]string
				want string
				err  string
			}{
				{"greet", nil, "user: Say hello.\n\nassistant: Hello.", ""},
				{"summarize", map[string]string{"text": "War and Peace", "style": "brief"}, "Summarize: War and Peace Style: brief", ""},
				{"summarize", nil, "", `needs the argument "text"`},
				{"other", nil, "", "no such prompt"},
			} {
				got, err := s.Prompt(t.Context(), c.name, c.args)
				if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s %v: got %q, %v; want %q, %q", c.name, c.args, got, err, c.want, c.err)
				}
			}
		})
	}
}

// TestProgress is told in order, not too often, and to the end.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			s := ready(t, fake(t, w.by, "-full", "-era", w.era))
			var reports []client.Progress
			r := call(t, s, "steps", `{"n":20,"ms":10}`, func(c *client.Call) {
				c.Progress = func(p client.Progress) { reports = append(reports, p) }
			})
			wantText(t, "steps", r, false, "took 20 steps")
			last := reports[len(reports)-1]
			if last != (client.Progress{Done: 20, Total: 20, Message: "step 20 of 20"}) {
				t.Errorf("the last report: got %+v, want step 20 of 20", last)
			}
			if len(reports) > 12 {
				t.Errorf("got %d reports of 20 in 200 ms, want fewer", len(reports))
			}
			// Progress does not give a call more time.
			r = call(t, s, "steps", `{"n":2000,"ms":10}`, within(300*time.Millisecond), func(c *client.Call) { c.Progress = func(client.Progress) {} })
			wantText(t, "endless", r, true, "did not answer within 300ms")
		})
	}
}

// TestCancel: a caller that gives up gets its context's error at once, and the
// server is told.
func TestCancel(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			s := ready(t, fake(t, w.by, "-era", w.era, "-log", path))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				watch.Until(t, "the call arrived", func() bool { return strings.Contains(read(path), `"slow"`) })
				cancel()
			}()
			_, err := s.Call(ctx, client.Call{Tool: "slow", Arguments: []byte(`{"ms":60000}`), Timeout: time.Minute, Keep: 1 << 20})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
			if w.by != http || w.era == "legacy" {
				watch.Until(t, "the server is told", func() bool { return strings.Contains(read(path), `"cancelled"`) })
			}
			wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
		})
	}
}

// TestManyCalls: a server gets a bounded number of calls at once, and each its
// own answer.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	for _, by := range transports() {
		t.Run(by, func(t *testing.T) {
			s := ready(t, fake(t, by))
			var wait sync.WaitGroup
			var good atomic.Int32
			for i := range 100 {
				wait.Go(func() {
					r, _ := try(t, s, "lookup", fmt.Sprintf(`{"key":"k%d"}`, i))
					if r.Text == fmt.Sprintf("value of k%d", i) {
						good.Add(1)
					}
				})
			}
			wait.Wait()
			if good.Load() != 100 {
				t.Errorf("got %d good answers, want 100", good.Load())
			}
			slow := make(chan client.Result, 17)
			for range 17 {
				go func() {
					r, err := try(t, s, "slow", `{"ms":300}`, within(450*time.Millisecond))
					if errors.Is(err, client.ErrUnavailable) || r.Unknown {
						r.Failed = true
					}
					slow <- r
				}()
			}
			failed := 0
			for range 17 {
				if (<-slow).Failed {
					failed++
				}
			}
			if failed == 0 {
				t.Error("17 calls went at once, want 16 and the rest to wait")
			}
		})
	}
}

// TestMemory bounds what a result of 100 MiB takes.
func TestMemory(t *testing.T) {
	need.Check(t)
	for _, w := range []struct {
		by   string
		args []string
	}{{stdio, nil}, {http, nil}, {http, []string{"-stream"}}, {sse, nil}} {
		t.Run(strings.Join(append([]string{w.by}, w.args...), " "), func(t *testing.T) {
			s := ready(t, fake(t, w.by, append([]string{"-faults"}, w.args...)...))
			call(t, s, "lookup", `{"key":"k"}`)
			var r client.Result
			grown := watch.Memory(func() { r = call(t, s, "huge", "{}") })
			if r.Failed || len(r.Text) != 1<<20 || r.Bytes != 100<<20 {
				t.Errorf("got failed %v, %d bytes of %d, want 1 MiB of 100 MiB", r.Failed, len(r.Text), r.Bytes)
			}
			t.Logf("100 MiB result: heap grew by %.1f MiB at most", float64(grown)/(1<<20))
			if limit := int64(6 << 20); grown > limit {
				t.Errorf("memory: grew by %d bytes at most during the call, want at most %d", grown, limit)
			}
		})
	}
}
