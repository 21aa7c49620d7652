package legwork_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLeaksAreLookedFor: the tests of every package fail when they leave
// goroutines behind.
func TestLeaksAreLookedFor(t *testing.T) {
	for _, p := range list(t) {
		dir := filepath.Join(".", strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "legwork"), "/"))
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		looks := slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, main, found := strings.Cut(string(text), "\nfunc TestMain(")
			main, _, _ = strings.Cut(main, "\n}")
			return found && (strings.Contains(main, "goleak.VerifyTestMain(") || strings.Contains(main, "leaks.Runner{") || strings.Contains(main, "programs.Run(") || strings.Contains(main, "shared.Run("))
		})
		if len(files) > 0 && !looks {
			t.Errorf("%s: no TestMain looks for goroutines that the tests left; see internal/test/leaks", dir)
		}
	}
}
