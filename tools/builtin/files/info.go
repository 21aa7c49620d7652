package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

func info(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := clean(r.GetString("path", "."))
	if err != nil {
		return nil, err
	}
	if name == "." {
		return w.about(ctx)
	}
	i, err := w.lstat(name)
	if err != nil {
		return nil, pathError("looking at", name, err)
	}
	lines := []string{name + ": " + kind(i.Mode()), "changed: " + moment(i.ModTime())}
	switch m := i.Mode(); {
	case m.IsDir():
		list, cut, err := w.entries(name, walkBounds(1).entries)
		if err != nil {
			return nil, pathError("looking at", name, err)
		}
		lines = append(lines, "entries: "+count(len(list), cut))
	case m.IsRegular():
		details, err := w.details(name)
		if err != nil {
			return nil, pathError("looking at", name, err)
		}
		lines = append(lines, details...)
	case m&fs.ModeSymlink != 0:
		lines = append(lines, "leads to: "+w.target(name))
	}
	return textResult("%s", strings.Join(lines, "\n"))
}

// about describes the workspace as a whole.
func (w *workspace) about(ctx context.Context) (*mcp.CallToolResult, error) {
	u, err := w.usage(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, pathError("looking at", ".", err)
	}
	text := fmt.Sprintf("The workspace holds %s files and folders with %d bytes.", count(u.files, u.more), u.bytes)
	if !w.o.Write {
		return textResult("%s It can only be read.", text)
	}
	return textResult("%s It can hold %d files and folders with %d bytes, and %d bytes in one file.", text, w.o.MaxFiles, w.o.MaxTotalBytes, w.o.MaxFileBytes)
}

func count(n int, more bool) string {
	if more {
		return fmt.Sprintf("more than %d", n)
	}
	return fmt.Sprint(n)
}

// details describes what is in a file.
func (w *workspace) details(name string) ([]string, error) {
	f, i, err := w.file(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := detectContent(f)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("size: %d bytes", i.Size()), "content: " + c.mime}, nil
}

// target tells where a link leads, but not where that is on the host.
func (w *workspace) target(name string) string {
	i, err := w.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "nothing"
	case err != nil:
		return "a place outside of the workspace, where nothing can be reached"
	case i.Mode().IsRegular():
		return fmt.Sprintf("a file of %d bytes", i.Size())
	}
	return "a " + kind(i.Mode())
}
