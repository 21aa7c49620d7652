// Command build bundles the page: src becomes dist. It runs in this folder.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	src := flag.String("src", "../src", "the `folder` with the sources")
	out := flag.String("out", "../dist", "the `folder` for the bundle; what it holds is replaced")
	flag.Parse()
	if err := build(*src, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build bundles in two steps. The first makes the styles and the worker, whose names
// hold a hash of their content; the second puts these names into the scripts.
func build(src, out string) error {
	src, err := filepath.Abs(src)
	if err != nil {
		return err
	}
	styles, err := filepath.Glob(filepath.Join(src, "pages", "*", "*.css"))
	if err != nil {
		return err
	}
	first, err := bundle(src, false, nil, append(styles, filepath.Join(src, "styles", "base.css"), filepath.Join(src, "worker.ts"))...)
	if err != nil {
		return err
	}
	pages, err := pages(src, first.names)
	if err != nil {
		return err
	}
	second, err := bundle(src, true, map[string]string{
		"PAGES":  pages,
		"WORKER": quote(first.names["worker.ts"]),
	}, filepath.Join(src, "main.tsx"))
	if err != nil {
		return err
	}
	index, err := os.ReadFile(filepath.Join(src, "index.html"))
	if err != nil {
		return err
	}
	files := first.files
	maps.Copy(files, second.files)
	files["index.html"] = []byte(strings.NewReplacer(
		"STYLE", first.names["styles/base.css"], "SCRIPT", second.names["main.tsx"], "<!-- PRELOADS -->\n", preloads(second.needs["main.tsx"])).Replace(string(index)))
	for _, name := range []string{"icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(src, name)); err != nil {
			return err
		}
	}
	return write(out, files)
}

// preloads lets browsers load the scripts that the first one imports beside it, and not
// after it.
func preloads(scripts []string) string {
	var links strings.Builder
	for _, name := range scripts {
		fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"ROOT/%s\">\n", name)
	}
	return links.String()
}

// result is a bundle: its files by path below dist; the path of each entry point, and
// those of the scripts that it imports at once, by its path below src.
type result struct {
	files map[string][]byte
	names map[string]string
	needs map[string][]string
}

func bundle(src string, split bool, define map[string]string, entries ...string) (result, error) {
	built := api.Build(api.BuildOptions{
		EntryPoints: entries, AbsWorkingDir: src, Outbase: src, Outdir: "/dist",
		Bundle: true, Splitting: split, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		EntryNames: "assets/[name]-[hash]", ChunkNames: "assets/[name]-[hash]", AssetNames: "assets/[name]-[hash]",
		JSX: api.JSXAutomatic, JSXImportSource: "preact", Define: define, Metafile: true,
		Alias: map[string]string{
			"preact/jsx-runtime": "./vendor/preact/jsx-runtime.mjs",
			"preact/hooks":       "./vendor/preact/hooks.mjs",
			"preact":             "./vendor/preact/preact.mjs",
		},
	})
	if len(built.Errors) > 0 {
		return result{}, errors.New(strings.Join(api.FormatMessages(slices.Concat(built.Errors, built.Warnings), api.FormatMessagesOptions{}), "\n"))
	}
	r := result{map[string][]byte{}, map[string]string{}, map[string][]string{}}
	for _, f := range built.OutputFiles {
		r.files[strings.TrimPrefix(filepath.ToSlash(f.Path), "/dist/")] = f.Contents
	}
	var meta struct {
		Outputs map[string]struct {
			EntryPoint string
			Imports    []struct{ Path, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(built.Metafile), &meta); err != nil {
		return r, err
	}
	for path, output := range meta.Outputs {
		if output.EntryPoint != "" {
			_, name, _ := strings.Cut(path, "dist/")
			r.names[output.EntryPoint] = name
			for _, needed := range output.Imports {
				if needed.Kind == "import-statement" {
					_, name, _ := strings.Cut(needed.Path, "dist/")
					r.needs[output.EntryPoint] = append(r.needs[output.EntryPoint], name)
				}
			}
		}
	}
	return r, nil
}

// pages returns the pages that src has, as JSON: the path of its style sheet by the
// name of its folder, empty for a page without one.
func pages(src string, names map[string]string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(src, "pages"))
	all := map[string]string{}
	for _, entry := range entries {
		name := entry.Name()
		all[name] = names["pages/"+name+"/"+name+".css"]
	}
	text, _ := json.Marshal(all) // texts only
	return string(text), err
}

func quote(s string) string { return `"` + s + `"` }

// write replaces the folder out. The licences of bundled libraries come along.
func write(out string, files map[string][]byte) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
