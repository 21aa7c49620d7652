package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/text/transform"
)

const (
	maxPattern  = 300       // characters of a text or glob
	maxHits     = 500       // lines or files of one answer
	maxShown    = 300       // bytes of a found line
	maxSearched = 256 << 20 // bytes of all files that are looked through
	maxOneFile  = 32 << 20  // bytes of one of them
)

// fileSearch is one search.
type fileSearch struct {
	w         *workspace
	line      *regexp.Regexp // nil: by name alone
	glob      string         // of names or, with a slash, of paths; empty: all
	limit     int
	found     []string
	bytesLeft int64    // bytes that may still be looked through
	skipped   []string // files that are too large
}

func search(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	dir, err := clean(r.GetString("path", "."))
	if err != nil {
		return nil, err
	}
	h := &fileSearch{w: w, glob: r.GetString("glob", ""), limit: r.GetInt("limit", 100), bytesLeft: maxSearched}
	if err := h.prepare(r.GetString("text", ""), r.GetBool("regex", false), r.GetBool("match_case", false)); err != nil {
		return nil, err
	}
	more, err := h.run(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) && dir == "." {
		err = nil // the workspace has no files yet
	}
	if err != nil {
		return nil, pathError("searching", dir, err)
	}
	return textResult("%s", h.report(more))
}

// run looks through a folder, or at a single file.
func (h *fileSearch) run(ctx context.Context, top string) (more bool, err error) {
	if info, err := h.w.lstat(top); err == nil && info.Mode().IsRegular() {
		if err := h.visit(ctx, ".", top, info); !errors.Is(err, errStopWalk) {
			return false, err
		}
		return true, nil
	}
	return h.w.walk(ctx, top, walkBounds(maxDepth), func(name string, info fs.FileInfo) error {
		return h.visit(ctx, top, name, info)
	})
}

func (h *fileSearch) prepare(text string, regex, matchCase bool) error {
	if text == "" && h.glob == "" {
		return errors.New("there is nothing to search for; give text, glob or both")
	}
	if !doublestar.ValidatePattern(h.glob) {
		return fmt.Errorf("the glob %s cannot be read; close its brackets and braces", show(h.glob))
	}
	if strings.Count(h.glob, "{") > 4 || strings.Count(h.glob, "*") > 12 {
		return errors.New("the glob has too many stars or braces; use a simpler one")
	}
	if text == "" {
		return nil
	}
	if !regex {
		text = regexp.QuoteMeta(text)
	}
	if !matchCase {
		text = "(?i)" + text
	}
	var err error
	if h.line, err = regexp.Compile(text); err != nil {
		return fmt.Errorf("the regular expression cannot be read: %w; RE2 has no look-around and no back-references", err)
	}
	return nil
}

// visit looks at one entry. Globs with a slash are matched from the folder of
// the search or from the workspace on.
func (h *fileSearch) visit(ctx context.Context, dir, name string, info fs.FileInfo) error {
	if h.glob != "" && !h.matchesGlob(dir, name) {
		return nil
	}
	if h.line == nil {
		h.found = append(h.found, h.w.line(name, info))
	} else if info.Mode().IsRegular() {
		if err := h.lines(ctx, name, info.Size()); err != nil {
			return err
		}
	}
	if len(h.found) >= h.limit || h.bytesLeft <= 0 {
		return errStopWalk
	}
	return nil
}

func (h *fileSearch) matchesGlob(dir, name string) bool {
	if !strings.Contains(h.glob, "/") {
		return doublestar.MatchUnvalidated(h.glob, path.Base(name))
	}
	return doublestar.MatchUnvalidated(h.glob, name) ||
		dir != "." && doublestar.MatchUnvalidated(h.glob, strings.TrimPrefix(name, dir+"/"))
}

// lines finds lines in a file. One that cannot be read is passed over, as is
// what is no text.
func (h *fileSearch) lines(ctx context.Context, name string, size int64) error {
	if size > maxOneFile {
		h.skipped = append(h.skipped, shown(name))
		return nil
	}
	f, _, err := h.w.file(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if c, err := detectContent(f); err != nil || !c.text {
		return nil
	}
	h.bytesLeft -= size
	lines := bufio.NewReaderSize(transform.NewReader(io.LimitReader(f, maxOneFile), decoder()), 64<<10)
	for n := 1; len(h.found) < h.limit && ctx.Err() == nil; {
		line, err := lines.ReadSlice('\n')
		if at := h.line.FindIndex(line); at != nil {
			h.found = append(h.found, fmt.Sprintf("%s:%d: %s", shown(name), n, excerpt(line, at[0])))
		}
		if err == nil {
			n++
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	return ctx.Err()
}

// excerpt is the part of a line around a find.
func excerpt(line []byte, at int) string {
	from, before, after := 0, "", ""
	if at > maxShown/2 {
		from, before = at-maxShown/3, "…"
	}
	for from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	line = line[from:]
	if len(line) > maxShown {
		line, after = line[:maxShown], "…"
	}
	text := strings.Map(func(r rune) rune {
		if invisible(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(line), ""))
	return before + strings.TrimSpace(text) + after
}

func (h *fileSearch) report(more bool) string {
	lines := h.found
	if len(lines) == 0 {
		lines = []string{"Nothing was found."}
	}
	if more {
		lines = append(lines, fmt.Sprintf("[Not everything was searched: %d were found until then. Search for something rarer, or in one folder.]", len(h.found)))
	}
	if n := len(h.skipped); n > 0 {
		names := h.skipped[:min(n, 5)]
		lines = append(lines, fmt.Sprintf("[Too large to be searched: %d files, such as %s.]", n, strings.Join(names, ", ")))
	}
	return strings.Join(lines, "\n")
}
