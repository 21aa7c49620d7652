package markdown

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

// corpus are documents that every renderer has to cope with: the examples of
// CommonMark, hostile texts and honest answers.
func corpus(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, text := range hostile(20_000) {
		all[name] = text
	}
	for i, example := range examples(t) {
		all[fmt.Sprintf("example %d", i+1)] = example
	}
	files, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("documents to render: %v, %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(source)
	}
	return all
}

// examples are those of the CommonMark specification.
func examples(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/commonmark.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Markdown string }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 652 {
		t.Fatalf("got %d examples, want 652", len(list))
	}
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].Markdown
	}
	return all
}

// scheme is the start of an address, which links of chats have in lower case.
var scheme = regexp.MustCompile(`(?i)(?:https?|tg)://`)

// lostLetters are the letters and digits of which have holds fewer than want.
func lostLetters(want, have string) string {
	lost := ""
	had := lettersOf(scheme.ReplaceAllStringFunc(have, strings.ToLower))
	for c, n := range lettersOf(scheme.ReplaceAllStringFunc(want, strings.ToLower)) {
		if had[c] < n {
			lost += fmt.Sprintf("%d of %d %q, ", n-had[c], n, c)
		}
	}
	return lost
}

// What typical answers look like on each platform.
func TestAnswersGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*.md")
	if err != nil || len(files) < 12 {
		t.Fatalf("answers to render: %v, %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(file, ".md")
		golden(t, name+".telegram.golden", joined(Telegram(string(source)), func(p Part) string { return p.Text }))
		golden(t, name+".slack.golden", joined(Slack(string(source)), func(p Part) string { return p.MarkdownText }))
		checkTelegram(t, file, string(source))
		checkSlack(t, file, string(source))
		checkMarks(t, file, string(source))
	}
}

func joined(parts []Part, text func(Part) string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("=== next message ===\n")
		}
		b.WriteString(text(part) + "\n")
	}
	return b.String()
}

// A document that is still being written can be shown at every moment.
func TestEveryPrefixCanBeShown(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.md")
	if err != nil || len(files) < 12 {
		t.Fatalf("documents: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source := string(data)
		for n := 0; n < len(source); n += need.Times(7, 1) {
			prefix := Partial(source[:n])
			checkTelegram(t, fmt.Sprintf("%s to %d", file, n), prefix)
			checkSlack(t, fmt.Sprintf("%s to %d", file, n), prefix)
			checkMarks(t, fmt.Sprintf("%s to %d", file, n), prefix)
		}
		if t.Failed() {
			break // one is enough to read
		}
	}
}

// mixedDocument is all the answers, over and over, up to 30,000 characters.
func mixedDocument(tb testing.TB) string {
	tb.Helper()
	files, err := filepath.Glob("testdata/*/*.md")
	if err != nil || len(files) < 12 {
		tb.Fatalf("documents: %v, %v", files, err)
	}
	var all []rune
	for len(all) < 30_000 {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, []rune(string(data)+"\n\n")...)
		}
	}
	return string(all[:30_000])
}

func BenchmarkMixed(b *testing.B) {
	text := mixedDocument(b)
	for name, render := range map[string]func(string) []Part{"telegram": Telegram, "slack": Slack} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render(text)
			}
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile(64 << 10) {
		b.Run("telegram/"+strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				Telegram(text)
			}
		})
		b.Run("slack/"+strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				Slack(text)
			}
		})
	}
}

// BenchmarkFrame is one frame of a long answer that is still being written.
func BenchmarkFrame(b *testing.B) {
	text := mixedDocument(b)[:8000]
	for b.Loop() {
		Telegram(Partial(text))
	}
}
