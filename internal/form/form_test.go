package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/internal/form"
)

const booking = `{"type":"object","required":["city","nights"],"properties":{
	"nights":{"type":"integer","minimum":1,"maximum":14,"title":"Nights"},
	"city":{"type":"string","minLength":2,"maxLength":20},
	"mail":{"type":"string","format":"email"},
	"site":{"type":"string","format":"uri"},
	"day":{"type":"string","format":"date"},
	"at":{"type":"string","format":"date-time"},
	"code":{"type":"string","pattern":"^[A-Z]{2}$"},
	"budget":{"type":"number","exclusiveMinimum":0.5},
	"breakfast":{"type":"boolean","default":true},
	"room":{"type":"string","enum":["s","d"],"enumNames":["Single","Double"],"default":"x"},
	"floor":{"type":"string","oneOf":[{"const":"g","title":"Ground, by the garden"},{"const":"t","title":"Top"}]},
	"extras":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["bike","boat","tea"]}},
	"days":{"type":"array","items":{"anyOf":[{"const":"sat","title":"Saturday"},{"const":"sun","title":"Sunday"}]}}}}`

func fields(t *testing.T) map[string]form.Field {
	t.Helper()
	all, err := form.Parse(json.RawMessage(booking))
	if err != nil {
		t.Fatalf("Parse(booking): %v", err)
	}
	by := map[string]form.Field{}
	for _, f := range all {
		by[f.Name] = f
	}
	return by
}

func TestParse(t *testing.T) {
	all, err := form.Parse(json.RawMessage(booking))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		s := f.Name
		if f.Required {
			s += "!"
		}
		if f.Many {
			s += "*"
		}
		if len(f.Default) > 0 {
			s += "=" + string(f.Default)
		}
		for _, c := range f.Choices {
			s += fmt.Sprintf(" %s:%s", c.Value, c.Label)
		}
		got = append(got, s)
	}
	want := []string{
		"nights!", "city!", "mail", "site", "day", "at", "code", "budget", "breakfast=true", `room "s":Single "d":Double`,
		`floor "g":Ground, by the garden "t":Top`, `extras* "bike":bike "boat":boat "tea":tea`, `days* "sat":Saturday "sun":Sunday`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseRefuses(t *testing.T) {
	many := `{"type":"object","properties":{`
	for i := range 60 {
		many += fmt.Sprintf(`"f%d":{"type":"string"},`, i)
	}
	for _, c := range []struct{ schema, want string }{
		{`{`, "reading the form"},
		{`{"type":"string"}`, "not object"},
		{`{"type":"object","properties":[]}`, "not an object"},
		{`{"type":"object","properties":{"a":{"type":"object"}}}`, `field "a": type "object" is not known`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, "a list without choices"},
		{`{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`, "choices of type"},
		{`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"string"}}}`, "twice"},
		{`{"type":"object","properties":{"a":{"type":"string","$ref":"file:///etc/passwd"}}}`, "outside of the form"},
		{`{"type":"object","properties":{"a":{"type":"number","minimum":0,"default":1e999999999}}}`, "too large"},
		{`{"type":"object","properties":{"a":{"type":"integer","maximum":1e999999}}}`, "too large"},
		{many + `"z":{"type":"string"}}}`, "more than 50 fields"},
	} {
		if _, err := form.Parse(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%.80s): got %v, want %q", c.schema, err, c.want)
		}
	}
	if got, err := form.Parse(json.RawMessage(`{"type":"object"}`)); err != nil || len(got) != 0 {
		t.Errorf("a form without fields: got %v, %v; want none", got, err)
	}
}

func TestRead(t *testing.T) {
	by := fields(t)
	for _, c := range []struct{ field, written, want, key string }{
		{"nights", "3", "3", ""},
		{"nights", " +03 ", "3", ""},
		{"nights", "３", "3", ""},
		{"nights", "0", "", "small 1"},
		{"nights", "15", "", "large 14"},
		{"nights", "two", "", "integer"},
		{"nights", "1.5", "", "integer"},
		{"nights", "1.000", "1", ""},
		{"nights", "", "", "missing"},
		{"city", "Rome", `"Rome"`, ""},
		{"city", "日本", `"日本"`, ""},
		{"city", "X", "", "short 2"},
		{"city", strings.Repeat("x", 21), "", "long 20"},
		{"mail", "a@example.com", `"a@example.com"`, ""},
		{"mail", "unknown", "", "email"},
		{"mail", "", "", ""},
		{"site", "https://example.com/a?b", `"https://example.com/a?b"`, ""},
		{"site", "not an address", "", "uri"},
		{"day", "2026-02-28", `"2026-02-28"`, ""},
		{"day", "2026-02-30", "", "date"},
		{"at", "2026-02-28T10:00:00Z", `"2026-02-28T10:00:00Z"`, ""},
		{"day", "31.12.2026", `"2026-12-31"`, ""},
		{"day", "2026年1月2日", `"2026-01-02"`, ""},
		{"day", "31.2.2026", "", "date"},
		{"day", "3/4/2026", "", "date"},
		{"at", "noon", "", "date-time"},
		{"at", "2026-02-28 10:00", `"2026-02-28T10:00:00+03:00"`, ""},
		{"at", "28.02.2026, 9:30", `"2026-02-28T09:30:00+03:00"`, ""},
		{"at", "2026年2月28日 9：30", `"2026-02-28T09:30:00+03:00"`, ""},
		{"at", "2026-02-28T10:00:30", `"2026-02-28T10:00:30+03:00"`, ""},
		{"at", "2026-02-28", "", "date-time"},
		{"city", "31.12.2026", `"31.12.2026"`, ""},
		{"code", "AB", `"AB"`, ""},
		{"code", "ab", "", "pattern ^[A-Z]{2}$"},
		{"budget", "0.5", "", "small 0.5"},
		{"budget", "1,5", "1.5", ""},
		{"budget", "1.234,50", "1234.50", ""},
		{"budget", "1,234.5", "1234.5", ""},
		{"budget", "1 234 567,8", "1234567.8", ""},
		{"budget", "1'234'567", "1234567", ""},
		{"budget", "1,234,567", "1234567", ""},
		{"budget", "1,234", "", "number"},
		{"budget", "1e3", "1000", ""},
		{"budget", "1e999999999", "", "number"},
		{"budget", "1e500", "", "number"},
		{"budget", "NaN", "", "number"},
		{"budget", "-,5", "", "number"},
		{"breakfast", "", "true", ""},
		{"breakfast", "False", "false", ""},
		{"breakfast", "perhaps", "", "boolean"},
		{"room", "Double", `"d"`, ""},
		{"room", "double", `"d"`, ""},
		{"room", "s", `"s"`, ""},
		{"room", "2", `"d"`, ""},
		{"room", "3", "", "choice"},
		{"floor", "ground, by the garden", `"g"`, ""},
		{"extras", "bike, tea", `["bike","tea"]`, ""},
		{"extras", "1；2", "", "choice"},
		{"extras", "1、2", `["bike","boat"]`, ""},
		{"extras", "bike, bike", `["bike"]`, ""},
		{"extras", "bike, boat, tea", "", "many 2"},
		{"extras", ",", "", "few 1"},
		{"days", "Sunday\nsaturday", `["sun","sat"]`, ""},
	} {
		got, err := by[c.field].Read(c.written, time.FixedZone("", 3*60*60))
		var invalid *form.ValueError
		switch {
		case c.key == "" && (err != nil || string(got) != c.want):
			t.Errorf("%s %q: got %s, %v; want %s", c.field, c.written, got, err, c.want)
		case c.key != "" && (!errors.As(err, &invalid) || invalid.Error() != c.key):
			t.Errorf("%s %q: got %s, %v; want the error %q", c.field, c.written, got, err, c.key)
		}
	}
}

// TestCheck: what somebody else filled in is looked at as well.
func TestCheck(t *testing.T) {
	by := fields(t)
	for value, want := range map[string]string{`1`: "", `1e999999999`: "number", `1e-999999`: "number", `0`: "small 0.5", `"1"`: "number"} {
		got := ""
		if err := by["budget"].Check(json.RawMessage(value)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}

// FuzzParse: no schema brings Parse down, and what it accepts can be read into.
func FuzzParse(f *testing.F) {
	f.Add([]byte(booking), "2")
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`), "x")
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"number","minimum":1e400}}}`), "1")
	f.Fuzz(func(t *testing.T, schema []byte, written string) {
		all, err := form.Parse(schema)
		if err != nil {
			return
		}
		for _, field := range all {
			v, err := field.Read(written, time.UTC)
			if err == nil && v != nil && !json.Valid(v) {
				t.Errorf("field %+v, %q: got %q, want JSON", field, written, v)
			}
			if err == nil && v != nil && field.Check(v) != nil {
				t.Errorf("field %+v, %q: got %s, which does not fit: %v", field, written, v, field.Check(v))
			}
		}
	})
}

// FuzzRead: whatever is written, what comes out is a number in JSON.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", "1,234.5", "00.1", "+.5", "１，５", "28.02.2026, 9:30", "2026年2月28日 9：30"} {
		f.Add(s)
	}
	field := form.Field{Name: "n", Schema: json.RawMessage(`{"type":"number"}`)}
	at := form.Field{Name: "at", Schema: json.RawMessage(`{"type":"string","format":"date-time"}`)}
	f.Fuzz(func(t *testing.T, written string) {
		v, err := field.Read(written, time.UTC)
		var n json.Number
		if err == nil && v != nil && json.Unmarshal(v, &n) != nil {
			t.Errorf("%q: got %q, want a number", written, v)
		}
		v, err = at.Read(written, time.UTC)
		var text string
		if err == nil && v != nil && json.Unmarshal(v, &text) != nil {
			t.Errorf("%q: got %q, want a text", written, v)
		}
	})
}
