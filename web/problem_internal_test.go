package web

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestProblemsAreDocumented: programs read of every problem that this package
// answers with in the API's document, under the same title, and in docs/api.md.
func TestProblemsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type example struct {
		Value struct {
			Title  string
			Status int
			Code   code
		}
	}
	var document struct {
		Components struct {
			Responses map[string]struct {
				Content map[string]struct{ Examples map[code]example }
			}
			Schemas struct {
				Problem struct {
					Properties struct{ Code struct{ Enum []code } }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for c, k := range kinds() {
		if !slices.Contains(document.Components.Schemas.Problem.Properties.Code.Enum, c) {
			t.Errorf("docs/openapi.json does not list the code %s", c)
		}
		if row := fmt.Sprintf("(?m)^\\| %d \\|.*`%s`", k.status, c); !regexp.MustCompile(row).Match(page) {
			t.Errorf("docs/api.md has no row for %d %s", k.status, c)
		}
	}
	for name, response := range document.Components.Responses {
		for c, e := range response.Content["application/problem+json"].Examples {
			if k, here := kinds()[c]; here && (k != kind{e.Value.Status, e.Value.Title}) {
				t.Errorf("docs/openapi.json has %d %q as %s of %s, want %+v", e.Value.Status, e.Value.Title, c, name, k)
			}
		}
	}
}
