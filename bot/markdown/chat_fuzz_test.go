package markdown

import (
	"os"
	"path/filepath"
	"testing"
)

func seed(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(files) == 0 {
		f.Fatalf("documents to start from: %v, %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	for _, text := range hostile(300) {
		f.Add(text)
	}
}

func FuzzTelegram(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, source string) {
		checkTelegram(t, "whole", source)
		for _, n := range []int{len(source) / 3, len(source) / 2, max(0, len(source)-1)} {
			checkTelegram(t, "partial", Partial(source[:n]))
		}
	})
}

func FuzzSlack(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, source string) {
		checkSlack(t, "whole", source)
		checkSlack(t, "partial", Partial(source[:len(source)/2]))
	})
}
