package plainjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"legwork/internal/plainjson"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct{ raw, repeated, similar string }{
		{`{}`, "no", "no"},
		{``, "no", "no"},
		{`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}`, "no", "no"},
		{`{"a":1,"a":2}`, "a", "a"},
		{`{"a":1,"\u0061":2}`, "a", "a"},
		{`{"a":["a","a"],"b":"a"}`, "no", "no"},
		{`[{"b":{"c":[0,{"x":[],"y":{},"x":null}]}}]`, "x", "x"},
		{`{"description":1,"Description":2}`, "no", "Description"},
		{`{"description":1,"deſcription":2}`, "no", "deſcription"},
		{`{"key":1,"Key":2}`, "no", "Key"},
		{`{"":1,"":2}`, "", ""},
		{`{"a":1,"a":`, "a", "a"},
		{`{"a":1,b:2,"a":3}`, "no", "no"},
	} {
		repeated, found := plainjson.RepeatedKey([]byte(c.raw))
		if !found {
			repeated = "no"
		}
		similar, found := plainjson.SimilarKey([]byte(c.raw))
		if !found {
			similar = "no"
		}
		if repeated != c.repeated || similar != c.similar {
			t.Errorf("%s: got %q and %q, want %q and %q", c.raw, repeated, similar, c.repeated, c.similar)
		}
	}
}

func TestHugeNumber(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":[1,-2.5e10,1e400,0.000001]}`: "",
		`{"a":{"b":[1,1e401]}}`:            "1e401",
		`1E+999999999`:                     "1E+999999999",
		`[1e-99999]`:                       "1e-99999",
		`[1e99999999999999999999]`:         "1e99999999999999999999",
		`{"1e999":"1e999"}`:                "",
		`not JSON`:                         "",
	} {
		if got, found := plainjson.HugeNumber([]byte(raw)); got != want || found != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", raw, got, found, want)
		}
	}
	if _, found := plainjson.HugeNumber([]byte("[" + strings.Repeat("9", 1000) + "]")); !found {
		t.Error("a number of a thousand digits passes")
	}
}

func TestOddity(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }
	for raw, want := range map[string]string{
		nested(plainjson.MaxDepth):                               "",
		nested(plainjson.MaxDepth + 2):                           "it is nested deeper than 64 levels",
		strings.Repeat("[", 1<<20):                               "it is nested deeper than 64 levels",
		`"` + strings.Repeat(`[\"`, 100) + `"`:                   "",
		"[" + strings.Repeat("1,", plainjson.MaxValues-1) + "1]": "",
		"[" + strings.Repeat("1,", plainjson.MaxValues) + "1]":   "it has more than 65536 values",
		"[" + strings.Repeat(`{"a":[1]},`, 16_000) + "1]":        "",
		"[" + strings.Repeat(`{"a":[1]},`, 22_000) + "1]":        "it has more than 65536 values",
		`["` + strings.Repeat(",", plainjson.MaxValues+1) + `"]`: "",
		`["a\u0000b"]`:                           "a text in it has a NUL",
		`["\ud800"]`:                             "a text in it has half of a character, a surrogate without its other half",
		`[{"a":1,"a":2}]`:                        `the key "a" is there twice`,
		`{"` + strings.Repeat("k", 200) + `":1}`: "",
		`[1e308,1e-400]`:                         "",
		`[-1e309]`:                               "the number -1e309 is beyond what programs can hold; send it as a string",
		`[1e999]`:                                "the number 1e999 is beyond what programs can hold; send it as a string",
		`[` + strings.Repeat("9", 1000) + `]`:    "the number " + strings.Repeat("9", 40) + " is beyond what programs can hold; send it as a string",
	} {
		if got := plainjson.Oddity([]byte(raw)); got != want {
			t.Errorf("%.50s: got %q, want %q", raw, got, want)
		}
	}
}

// FuzzKeys: whatever is written is read to an end, and an object whose keys are
// all different keeps them all.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,2e3,"x"],"c":null},"d":true}`))
	f.Add([]byte(`{"a":1,"A":2,"a":3}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		plainjson.HugeNumber(raw)
		repeated, found := plainjson.RepeatedKey(raw)
		if _, similar := plainjson.SimilarKey(raw); found && !similar {
			t.Errorf("%q: %q stands twice, and yet nothing like it", raw, repeated)
		}
		var keys map[string]json.RawMessage
		if found || json.Unmarshal(raw, &keys) != nil || keys == nil {
			return
		}
		twice, err := json.Marshal(keys)
		if err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			name, err := json.Marshal(key)
			if err != nil {
				t.Fatal(err)
			}
			more := strings.TrimSuffix(string(twice), "}") + "," + string(name) + ":0}"
			if _, found := plainjson.RepeatedKey([]byte(more)); !found {
				t.Errorf("%s: %q stands twice and is not found", more, key)
			}
		}
	})
}

// TestNUL: a NUL counts wherever it is a character, and nowhere else.
func TestNUL(t *testing.T) {
	for raw, want := range map[string]bool{
		`"a\u0000"`: true, `{"\u0000":1}`: true, `[{"a":["b\u0000"]}]`: true,
		`"a\\u0000"`: false, `{"a":"b"}`: false, `0`: false, `{"a`: false,
	} {
		if got := plainjson.Oddity([]byte(raw)) == "a text in it has a NUL"; got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// FuzzOddity: of JSON, it finds what a reader of all its tokens finds.
func FuzzOddity(f *testing.F) {
	for _, raw := range []string{
		`{"a":{"b":[1,2e3,"x"],"c":null},"d":true}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[{"a":[{}]},{"a":"\"a"},-1e-401]`,
		`{"x":"\u0000"}`, `["\ud800"]`, `{"a" : [ ] , "b" : { } , "a" : 0 }`, `{"a`, `]}{`, `{"a":{"b":1},"b":[],"a":1}`, `{"\"":1,"\"":2}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := plainjson.Oddity(raw)
		if !json.Valid(raw) || strings.Contains(got, "nested") || strings.Contains(got, "values") {
			return
		}
		_, twice := plainjson.RepeatedKey(raw)
		_, huge := plainjson.HugeNumber(raw)
		odd := twice || huge || plainjson.LoneSurrogate(raw) || nul(raw)
		if odd != (got != "") {
			t.Errorf("%q: got %q, want a word: %t", raw, got, odd)
		}
	})
}

// nul reports that a text in JSON has a NUL.
func nul(raw []byte) bool {
	for decoder := json.NewDecoder(bytes.NewReader(raw)); ; {
		t, err := decoder.Token()
		if text, ok := t.(string); err != nil || ok && strings.ContainsRune(text, 0) {
			return err == nil
		}
	}
}

// BenchmarkOddity: as many values as may be.
func BenchmarkOddity(b *testing.B) {
	keys := []string{}
	for i := range 60_000 {
		keys = append(keys, fmt.Sprintf(`"k%d":1`, i))
	}
	for name, raw := range map[string]string{
		"numbers": "[" + strings.Repeat("1234567890123,", 1<<16-1) + "1]", "objects": "[" + strings.Repeat("{      },", 1<<16-1) + "1]", "keys": "{" + strings.Join(keys, ",") + "}",
		"escapes": `["` + strings.Repeat(`\n`, 1<<19) + `"]`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if odd := plainjson.Oddity([]byte(raw)); odd != "" {
					b.Fatal(odd)
				}
			}
		})
	}
}
