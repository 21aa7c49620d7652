package builtin_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

var update = flag.Bool("update", false, "write countries.txt anew")

// The names of countries are a file because the tables that they come from take
// two megabytes of a binary and time whenever a process starts.
func TestCountriesAreUpToDate(t *testing.T) {
	zones, err := os.ReadFile("zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(string(zones)) {
		code, _, _ := strings.Cut(line, " ")
		region := language.MustParseRegion(code)
		names := []string{code}
		for _, in := range []display.Namer{display.English.Regions(), display.SimplifiedChinese.Regions(), display.TraditionalChinese.Regions(), display.Russian.Regions()} {
			names = append(names, in.Name(region))
		}
		want.WriteString(strings.Join(append(names, region.ISO3()), "\t") + "\n")
	}
	if *update {
		if err := os.WriteFile("countries.txt", []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("countries.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Error("countries.txt is not what the library knows: run this test with -update")
	}
}
