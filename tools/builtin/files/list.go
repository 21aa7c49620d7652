package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const pathHelp = `Such as "notes/plan.md".`

// addReaders offers the tools that change nothing.
func (f *files) addReaders(s *server.MCPServer) {
	strict, reads := mcp.WithSchemaAdditionalProperties(false), hints(true, false, true)
	s.AddTool(mcp.NewTool("list", mcp.WithTitleAnnotation("List files"), reads, strict,
		mcp.WithDescription("Lists files and folders with sizes and times of change."),
		mcp.WithString("path", mcp.Description("A folder. Default: the workspace.")),
		mcp.WithBoolean("recursive", mcp.Description("Also what is in its folders."))), f.read(list))
	s.AddTool(mcp.NewTool("read", mcp.WithTitleAnnotation("Read a file"), reads, strict,
		mcp.WithDescription("Returns the text of a file, or an image. Long files come in pieces."),
		mcp.WithString("path", mcp.Required(), mcp.Description(pathHelp)),
		mcp.WithInteger("offset", mcp.Min(0), mcp.Max(1e15), mcp.Description("Lines to skip. Default: 0.")),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(1e6), mcp.Description("Lines to return. Default: 1000.")),
		mcp.WithString("unit", mcp.Enum("lines", "bytes"), mcp.Description("What offset and limit count. Default: lines."))), f.read(read))
	s.AddTool(mcp.NewTool("search", mcp.WithTitleAnnotation("Search files"), reads, strict,
		mcp.WithDescription("Finds lines with a text in all files, or files by name, or lines in files of some name."),
		mcp.WithString("text", mcp.MaxLength(maxPattern), mcp.Description("To find in lines. Capitals do not matter.")),
		mcp.WithBoolean("regex", mcp.Description("text is a regular expression (RE2).")),
		mcp.WithBoolean("match_case", mcp.Description("Capitals matter.")),
		mcp.WithString("glob", mcp.MaxLength(maxPattern), mcp.Description(`Names of files, such as "*.md" or "notes/**/*.{txt,md}".`)),
		mcp.WithString("path", mcp.Description("A folder or file to stay in. Default: the workspace.")),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(maxHits), mcp.Description("Lines or files to return. Default: 100."))), f.read(search))
	s.AddTool(mcp.NewTool("info", mcp.WithTitleAnnotation("About a file"), reads, strict,
		mcp.WithDescription("Tells type, size and times of a file or folder; of the workspace also how full it is."),
		mcp.WithString("path", mcp.Description("Default: the workspace."))), f.read(info))
}

// maxListed is how many entries one answer lists.
const maxListed = 1000

func list(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	dir, err := clean(r.GetString("path", "."))
	if err != nil {
		return nil, err
	}
	depth := 1
	if r.GetBool("recursive", false) {
		depth = maxDepth
	}
	var lines []string
	more, err := w.walk(ctx, dir, walkBounds(depth), func(name string, info fs.FileInfo) error {
		if len(lines) == maxListed {
			return errStopWalk
		}
		lines = append(lines, w.line(name, info))
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) && dir == "." {
		err = nil // the workspace has no files yet
	}
	if err != nil {
		return nil, pathError("listing", dir, err)
	}
	if len(lines) == 0 {
		return textResult("The folder is empty.")
	}
	if more {
		lines = append(lines, fmt.Sprintf("[This is not all; the first %d are shown. List one of the folders, or search by name with a glob.]", len(lines)))
	}
	return textResult("%s", strings.Join(lines, "\n"))
}

// line describes an entry: its path, so that it can be read, and what it is.
func (w *workspace) line(name string, info fs.FileInfo) string {
	name = shown(name)
	switch m := info.Mode(); {
	case m.IsDir():
		return name + "/"
	case m.IsRegular():
		return fmt.Sprintf("%s (%d bytes, %s)", name, info.Size(), moment(info.ModTime()))
	default:
		return name + " (" + kind(m) + ")"
	}
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m.IsRegular():
		return "file"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
