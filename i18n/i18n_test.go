package i18n_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/i18n"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func load(t testing.TB, dir string) *i18n.Texts {
	t.Helper()
	texts, err := i18n.Load(dir)
	if err != nil {
		t.Fatalf("Load(%q): %v", dir, err)
	}
	return texts
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("reading golden file (-update writes it): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

func TestText(t *testing.T) {
	texts := load(t, "")
	type count struct {
		Count, Done int
		hidden      int
	}
	tests := []struct {
		name, lang, key string
		data            any
		want            string
	}{
		{"no data", "en", "status.done", nil, "Done"},
		{"no data, chinese", "zh", "status.done", nil, "已完成"},
		{"map", "en", "status.working", map[string]any{"Done": 2, "Count": 3}, "Working: 2 of 3 sub-tasks done"},
		{"map, one", "en", "status.working", map[string]any{"Done": 0, "Count": 1}, "Working: 0 of 1 sub-task done"},
		{"struct", "en", "status.working", count{3, 1, 0}, "Working: 1 of 3 sub-tasks done"},
		{"pointer to struct", "ru", "status.working", &count{21, 1, 0}, "В работе: готово 1 из 21 подзадачи"},
		{"nil pointer", "en", "status.done", (*count)(nil), "Done"},
		{"russian one", "ru", "unit.tokens", map[string]any{"Count": 1}, "1 токен"},
		{"russian few", "ru", "unit.tokens", map[string]any{"Count": 3}, "3 токена"},
		{"russian many", "ru", "unit.tokens", map[string]any{"Count": 11}, "11 токенов"},
		{"unsigned count", "ru", "unit.tokens", map[string]any{"Count": uint8(22)}, "22 токена"},
		{"count of a wrong type", "en", "unit.tokens", map[string]any{"Count": "many"}, "many tokens"},
		{"missing field", "en", "board.calling", nil, "calling "},
		{"optional field", "en", "prompt.result_denied", map[string]any{"Reason": "too dear"}, "A person declined this call: too dear. Do not try it again; go on without it."},
		{"optional field left out", "en", "prompt.result_denied", nil, "A person declined this call. Do not try it again; go on without it."},
		{"values are not templates", "en", "board.calling", map[string]any{"Tool": "{{.X}}"}, "calling {{.X}}"},
		{"footer", "en", "answer.footer", map[string]any{"Count": 3, "Elapsed": 12 * time.Second, "Tokens": 4512, "Price": "$0.02"}, "3 sub-tasks · 12 s · 4.5k tokens · $0.02"},
		{"ready values", "en", "answer.footer", map[string]any{"Count": 3, "Elapsed": "soon", "Tokens": "few"}, "3 sub-tasks · soon · few"},
		{"language by tag", "ru-RU", "status.done", nil, "Готово"},
		{"unknown language", "de", "status.done", nil, "Done"},
		{"no language", "", "status.done", nil, "Done"},
		{"unknown key", "ru", "no.such.key", nil, "no.such.key"},
		{"empty key", "ru", "", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := texts.Text(test.lang, test.key, test.data); got != test.want {
				t.Errorf("Text(%q, %q, %v) = %q, want %q", test.lang, test.key, test.data, got, test.want)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	texts := load(t, "")
	moscow := time.FixedZone("MSK", 3*3600)
	at := time.Date(2026, 11, 20, 14, 5, 59, 0, moscow)
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %q, want %q", what, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 0: "0.0 s", 149 * time.Millisecond: "0.1 s", 9990 * time.Millisecond: "9.9 s",
		10 * time.Second: "10 s", 59999 * time.Millisecond: "59 s", time.Minute: "1 min 0 s",
		125 * time.Second: "2 min 5 s", time.Hour: "1 h 0 min", 26*time.Hour + 61*time.Second: "26 h 1 min",
	} {
		check("Elapsed of "+d.String(), texts.Elapsed("en", d), want)
	}
	check("Elapsed in Russian", texts.Elapsed("ru", 1500*time.Millisecond), "1,5 с")
	check("Elapsed in Chinese", texts.Elapsed("zh", 65*time.Second), "1 分 5 秒")
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -999: "-999", 1234567: "1,234,567"} {
		check("Number", texts.Number("en", n), want)
	}
	check("Number in Russian", texts.Number("ru", 1234567), "1\u00a0234\u00a0567")
	check("Date", texts.Date("en", at), "Friday, 2026-11-20 14:05")
	check("Date in Russian", texts.Date("ru", at), "пятница, 2026-11-20 14:05")
	check("Date in Chinese", texts.Date("zh", at), "2026-11-20 14:05 星期五")
	check("person", texts.Text("en", "prompt.person", map[string]any{"Timezone": "Europe/Moscow", "Date": at, "Language": "ru"}),
		"The person's time zone is Europe/Moscow; it is Friday, 2026-11-20 14:05 there. Reply in the language of the question; if unclear, in Русский.")
}

func TestMatch(t *testing.T) {
	for tag, want := range map[string]string{
		"en": "en", "en-GB": "en", "EN": "en", "zh": "zh", "zh-CN": "zh", "zh-Hant-TW": "zh", "ru": "ru", "ru_RU.UTF-8": "ru",
		"ru@latin": "ru", "Русский": "ru", "русский": "ru", "english": "en", "中文": "zh", " ru ": "ru",
		"de": "", "uk": "", "ja": "", "": "", "C": "", "C.UTF-8": "", "POSIX": "", "und": "", "x-klingon": "", "!!": "", "ru-": "",
		strings.Repeat("en-", 1000): "",
	} {
		if got := i18n.Match(tag); got != want {
			t.Errorf("Match(%.40q) = %q, want %q", tag, got, want)
		}
	}
}

func TestLanguages(t *testing.T) {
	all := i18n.Languages()
	if all[0].Code != i18n.Default {
		t.Errorf("Languages() begins with %q, want the default %q", all[0].Code, i18n.Default)
	}
	texts := load(t, "")
	for _, l := range all {
		if got := i18n.Match(l.Name); got != l.Code {
			t.Errorf("Match(%q) = %q, want %q", l.Name, got, l.Code)
		}
		if got := texts.Text(l.Code, "notice.language", map[string]any{"Name": l.Name}); !strings.Contains(got, l.Name) {
			t.Errorf("notice.language in %s = %q, want it to name %q", l.Code, got, l.Name)
		}
	}
}
