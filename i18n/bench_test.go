package i18n_test

import (
	"testing"

	"legwork/i18n"
)

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		load(b, "")
	}
}

// BenchmarkFirstText is what the first text of a language costs.
func BenchmarkFirstText(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		load(b, "").Text("ru", "status.done", nil)
	}
}

func BenchmarkText(b *testing.B) {
	texts := load(b, "")
	data := map[string]any{"Done": 2, "Count": 3}
	b.ReportAllocs()
	for b.Loop() {
		texts.Text("ru", "status.working", data)
	}
}

func BenchmarkPrompt(b *testing.B) {
	texts := load(b, "")
	data := fullData()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := texts.Prompt("en", "plan", data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstPrompt is what the first plan prompt costs.
func BenchmarkFirstPrompt(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := load(b, "").Prompt("en", "plan", i18n.PromptData{}); err != nil {
			b.Fatal(err)
		}
	}
}
