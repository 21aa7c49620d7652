package i18n_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/i18n"
	"legwork/llm"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// embedded sorts what i18n.Embedded lists, so that it can be compared.
func embedded(t *testing.T, lang string) (fields, plurals map[string][]string) {
	t.Helper()
	fields, plurals, err := i18n.Embedded(lang)
	if err != nil {
		t.Fatalf("texts of %s: %v", lang, err)
	}
	for _, list := range fields {
		slices.Sort(list)
	}
	return fields, plurals
}

func TestSameTextsInAllLanguages(t *testing.T) {
	want, wantPlurals := embedded(t, i18n.Default)
	if len(want) < 140 {
		t.Fatalf("only %d texts were found", len(want))
	}
	for _, l := range i18n.Languages()[1:] {
		got, gotPlurals := embedded(t, l.Code)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("keys and fields of %s differ from those of %s (-%[2]s +%[1]s):\n%s", l.Code, i18n.Default, diff)
		}
		for key, categories := range gotPlurals {
			if len(categories) > 0 && len(wantPlurals[key]) == 0 {
				t.Errorf("%s has plural forms in %s but not in %s", key, l.Code, i18n.Default)
			}
		}
		for _, name := range i18n.PromptNames() {
			if diff := cmp.Diff(promptFields(t, i18n.Default, name), promptFields(t, l.Code, name)); diff != "" {
				t.Errorf("fields of prompt %s in %s differ (-%s +%s):\n%s", name, l.Code, i18n.Default, l.Code, diff)
			}
		}
	}
}

func promptFields(t *testing.T, lang, name string) []string {
	t.Helper()
	fields, err := i18n.PromptFields(lang, name)
	if err != nil {
		t.Fatalf("fields of prompt %s in %s: %v", name, lang, err)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// TestPluralForms holds the forms of every text against CLDR: those that whole
// numbers take, and "other", which fractions take everywhere.
func TestPluralForms(t *testing.T) {
	names := map[plural.Form]string{
		plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
	}
	for _, l := range i18n.Languages() {
		needed := map[string]bool{"other": true}
		for n := range 1000 {
			needed[names[plural.Cardinal.MatchPlural(language.MustParse(l.Code), n, 0, 0, 0, 0)]] = true
		}
		want := slices.Sorted(maps.Keys(needed))
		_, plurals := embedded(t, l.Code)
		counted := 0
		for key, got := range plurals {
			if len(got) == 0 {
				continue
			}
			counted++
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %s: plural forms differ (-want +got):\n%s", key, l.Code, diff)
			}
		}
		if counted == 0 && l.Code != "zh" {
			t.Errorf("no text of %s has plural forms", l.Code)
		}
	}
}

// sample holds every field that the Go code gives to texts.
func sample() map[string]any {
	return map[string]any{
		"Allowed": "en, zh, ru", "Answer": "The first is the best", "Bytes": 1048576, "Command": "/dance", "Count": 3, "Date": "2026-11-20 14:05", "Days": 3, "Done": 2,
		"Elapsed": 125 * time.Second, "Goal": "Compare three phones", "Hours": 1, "Language": "en",
		"Line": 7, "Link": "http://127.0.0.1:8080/console/enter#CODE", "Local": true, "From": "mail", "Values": "url to evil.example", "Parameter": "url", "To": "evil.example", "Max": 65536, "Media": "photo", "Minutes": 2, "Model": "offline", "Name": "English", "Offset": 32768, "Groups": "web, llm_tool", "Near": "/status", "Page": false, "Waits": true, "Path": "~/.legwork", "Person": "telegram:12345", "Provider": "Brave Search", "Reason": "the reason.", "Result": 41, "Seconds": 5, "Shown": 16384, "Status": 502, "Token": "lw_abc", "State": "planning", "Names": "web__fetch, web__search", "More": 4, "Parts": "page 1, page 2", "Total": 12, "Kinds": "docx, pdf",
		"Code": "ABCDEFGH", "Config": "config.yaml", "Keys": "slack, telegram", "Was": "telegram:-42", "Chat": "telegram:-10042", "Problem": "config.yaml:3:1: colour: unknown key",
		"Host": "login.example.com", "Who": "slack:U1", "Shared": true, "Paste": true, "Revoked": false, "Deletes": true, "Secret": true, "By": "slack:U1", "Others": 2, "Scopes": "read write", "Since": "2026-11-28", "Used": "2026-11-28",
		"Limit": "$2.00", "Spent": "$1.97", "Price": "$0.02",
		"Task": "01JD0000000000000000000000", "Tenths": 3, "Text": "yes", "Timezone": "Europe/Paris", "Tokens": 4512,
		"Tool": "web.fetch", "Typed": true, "Until": "2026-12-20 14:05", "Server": "tickets", "URL": "http://127.0.0.1:8080", "Version": "1.0.0", "Ways": "\"/start ABCDEFGH\" in Telegram",
	}
}

func TestEveryText(t *testing.T) {
	texts := load(t, "")
	data := sample()
	for _, l := range i18n.Languages() {
		fields, plurals := embedded(t, l.Code)
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			for _, name := range fields[key] {
				if data[name] == nil {
					t.Errorf("%s in %s uses .%s, which no caller is known to give", key, l.Code, name)
				}
			}
			counts := []int{data["Count"].(int)}
			if len(plurals[key]) > 0 {
				counts = []int{0, 1, 2, 5, 21}
			}
			for _, count := range counts {
				with := maps.Clone(data)
				with["Count"] = count
				got := texts.Text(l.Code, key, with)
				if got == key || strings.TrimSpace(got) == "" && key != "unit.separator" || strings.Contains(got, "<no value>") || strings.Contains(got, "%!") {
					t.Errorf("%s in %s with %v = %q", key, l.Code, with, got)
				}
				fmt.Fprintf(&b, "%s: %s\n", key, got)
			}
		}
		golden(t, l.Code+"/texts.txt", b.String())
	}
}

// TestFieldsLeftOut renders every text without any data: nothing may show that
// a field is missing, apart from the gap.
func TestFieldsLeftOut(t *testing.T) {
	texts := load(t, "")
	for _, l := range i18n.Languages() {
		fields, _ := embedded(t, l.Code)
		for key := range fields {
			if got := texts.Text(l.Code, key, nil); got == key || strings.Contains(got, "<no value>") {
				t.Errorf("Text(%q, %q, nil) = %q", l.Code, key, got)
			}
		}
	}
}

// TestEveryProblemHasASentence covers the kinds of trouble that package llm
// knows, which are keys here.
func TestEveryProblemHasASentence(t *testing.T) {
	fields, _ := embedded(t, i18n.Default)
	for _, p := range []llm.Problem{
		llm.Unreachable, llm.Refused, llm.NotFound, llm.Busy, llm.Invalid, llm.TooLong, llm.Filtered, llm.CutOff, llm.Garbage,
	} {
		if _, ok := fields["problem."+string(p)]; !ok {
			t.Errorf("there is no text problem.%s", p)
		}
	}
}
