package i18n_test

import (
	"strings"
	"testing"

	"legwork/i18n"
)

func fullData() i18n.PromptData {
	return i18n.PromptData{
		Groups: []i18n.Group{
			{Name: "clock", Description: "Tells the time in a place or time zone and does date arithmetic.", ReadOnly: true},
			{Name: "web", Description: "Reads public web pages\nand returns their text."},
		},
		MaxSubtasks: 12, Instructions: "Use metric units.", ChatInstructions: "Be brief here.",
		GroupInstructions: "Prefer official pages.", Final: true, Language: "English",
	}
}

func TestPrompts(t *testing.T) {
	texts := load(t, "")
	work := fullData()
	work.Final = false
	for _, l := range i18n.Languages() {
		for _, test := range []struct {
			file, name string
			data       i18n.PromptData
		}{
			{"plan", "plan", fullData()},
			{"review", "review", fullData()},
			{"answer", "answer", fullData()},
			{"work", "work", work},
			{"work-final", "work", fullData()},
			{"plan-bare", "plan", i18n.PromptData{MaxSubtasks: 1}},
			{"work-bare", "work", i18n.PromptData{}},
			{"summary", "summary", i18n.PromptData{}},
		} {
			got, err := texts.Prompt(l.Code, test.name, test.data)
			if err != nil {
				t.Fatalf("Prompt(%q, %q): %v", l.Code, test.name, err)
			}
			golden(t, l.Code+"/"+test.file+".md", got)
		}
	}
}

// TestPromptsNameTheirParts keeps the words that the Go code, models and the
// offline stand-in go by in every language.
func TestPromptsNameTheirParts(t *testing.T) {
	texts := load(t, "")
	parts := map[string][]string{
		"plan": {
			"\n- clock: Tells the time in a place or time zone and does date arithmetic. ", "\n- web: Reads public web pages and returns their text. ", "\n- llm_tool: ",
			"`plan`", `{"plan": []}`, `"name": "clock"`, `"after": []`, `"1/`, " 12", "Use metric units.", "Be brief here.",
			"<goal>", "<guidance>", "<earlier_question>", "<result>", "<data>", "<state>",
		},
		"review":  {"`plan`"},
		"work":    {"<task>", "<goal>", "<result>", "<data>", "<state>", "Markdown", "Prefer official pages.", "Use metric units."},
		"answer":  {"<goal>", "<guidance>", "<earlier_question>", "<result>", "<data>", "<state>", "Markdown", "Use metric units.", "Be brief here."},
		"summary": {"<summary>", "<question>", "<answer>"},
	}
	for _, l := range i18n.Languages() {
		for name, words := range parts {
			got, err := texts.Prompt(l.Code, name, fullData())
			if err != nil {
				t.Fatalf("Prompt(%q, %q): %v", l.Code, name, err)
			}
			for _, word := range words {
				if !strings.Contains(got, word) {
					t.Errorf("prompt %s in %s lacks %q:\n%s", name, l.Code, word, got)
				}
			}
			if lines := strings.Count(got, "\n- "); name == "plan" && lines != 3 {
				t.Errorf("prompt %s in %s has %d lines that look like groups, want 3:\n%s", name, l.Code, lines, got)
			}
		}
	}
}

// TestPromptSizes keeps the prompts affordable: a work prompt is paid for at
// every turn of every sub-task.
func TestPromptSizes(t *testing.T) {
	texts := load(t, "")
	limits := map[string]map[string]int{
		"plan":    {"en": 3700, "zh": 3700, "ru": 6600},
		"review":  {"en": 800, "zh": 800, "ru": 1400},
		"work":    {"en": 700, "zh": 700, "ru": 1300},
		"answer":  {"en": 1600, "zh": 1500, "ru": 2800},
		"summary": {"en": 1600, "zh": 1500, "ru": 2800},
	}
	for name, languages := range limits {
		for lang, limit := range languages {
			got, err := texts.Prompt(lang, name, i18n.PromptData{MaxSubtasks: 12})
			if err != nil {
				t.Fatalf("Prompt(%q, %q): %v", lang, name, err)
			}
			if len(got) > limit {
				t.Errorf("prompt %s in %s has %d bytes, want at most %d", name, lang, len(got), limit)
			}
		}
	}
}

func TestPromptUnknown(t *testing.T) {
	if got, err := load(t, "").Prompt("en", "dance", i18n.PromptData{}); err == nil || got != "" {
		t.Errorf("Prompt(%q) = %q, %v, want an error", "dance", got, err)
	}
}
