package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addMovers offers the tools that change where files are.
func (f *files) addMovers(s *server.MCPServer) {
	strict := mcp.WithSchemaAdditionalProperties(false)
	where := func(name, what string) mcp.ToolOption {
		return mcp.WithString(name, mcp.Required(), mcp.Description(what))
	}
	s.AddTool(mcp.NewTool("make_dir", mcp.WithTitleAnnotation("Make a folder"), hints(false, false, true), strict,
		mcp.WithDescription("Makes a folder and those around it. One that exists stays as it is."),
		where("path", `Such as "notes/2026".`)), f.write(makeDir))
	s.AddTool(mcp.NewTool("move", mcp.WithTitleAnnotation("Move a file"), hints(false, true, false), strict,
		mcp.WithDescription("Moves or renames a file or folder. Replaces nothing."),
		where("from", pathHelp), where("to", "Its new path, with its name.")), f.write(move))
	s.AddTool(mcp.NewTool("copy", mcp.WithTitleAnnotation("Copy a file"), hints(false, false, true), strict,
		mcp.WithDescription("Copies a file. Replaces nothing."),
		where("from", pathHelp), where("to", "The path of the copy, with its name.")), f.write(copyFile))
	s.AddTool(mcp.NewTool("delete", mcp.WithTitleAnnotation("Delete a file"), hints(false, true, true), strict,
		mcp.WithDescription("Deletes a file or an empty folder, for ever."),
		where("path", pathHelp),
		mcp.WithBoolean("recursive", mcp.Description("A folder with all that is in it."))), f.write(remove))
}

func makeDir(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := cleanNew(r.GetString("path", ""))
	if err != nil {
		return nil, err
	}
	if err := w.checkQuota(ctx, name, 0); err != nil {
		return nil, err
	}
	if err := w.root.MkdirAll(name, 0o700); err != nil {
		return nil, pathError("making the folder", name, err)
	}
	w.syncDir(path.Dir(name))
	return textResult("%s/ is there.", name)
}

// movePaths are the two paths of a move or copy; nothing is at the second.
func (w *workspace) movePaths(doing string, r mcp.CallToolRequest) (from, to string, err error) {
	if from, err = clean(r.GetString("from", "")); err != nil {
		return "", "", err
	}
	if from == "." {
		return "", "", fmt.Errorf("%s: from is the workspace itself; name a file or folder in it", doing)
	}
	if to, err = cleanNew(r.GetString("to", "")); err != nil {
		return "", "", err
	}
	if _, err := w.lstat(from); err != nil {
		return "", "", pathError(doing, from, err)
	}
	switch _, err := w.lstat(to); {
	case err == nil:
		return "", "", fmt.Errorf("%s %s: %s exists already; choose another name, or delete it first", doing, show(from), show(to))
	case !errors.Is(err, fs.ErrNotExist):
		return "", "", pathError(doing, to, err)
	}
	return from, to, nil
}

func move(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	from, to, err := w.movePaths("moving", r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(to, from+"/") {
		return nil, fmt.Errorf("moving %s: a folder cannot be moved into itself; choose another place", show(from))
	}
	if dir := path.Dir(to); dir != "." {
		if err := w.checkQuota(ctx, dir, 0); err != nil {
			return nil, err
		}
	}
	if err := w.root.MkdirAll(path.Dir(to), 0o700); err != nil {
		return nil, pathError("moving", from, err)
	}
	if err := w.root.Rename(from, to); err != nil {
		return nil, pathError("moving", from, err)
	}
	w.syncDir(path.Dir(from))
	w.syncDir(path.Dir(to))
	return textResult("Moved %s to %s.", shown(from), to)
}

func copyFile(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	from, to, err := w.movePaths("copying", r)
	if err != nil {
		return nil, err
	}
	f, info, err := w.file(from)
	if err != nil {
		return nil, pathError("copying", from, err)
	}
	defer f.Close()
	if _, err := w.replace(ctx, "copying to", to, info.Size(), io.LimitReader(f, info.Size())); err != nil {
		return nil, err
	}
	return textResult("Copied %s to %s: %d bytes.", shown(from), to, info.Size())
}

func remove(_ context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := clean(r.GetString("path", ""))
	if err != nil {
		return nil, err
	}
	if name == "." {
		return nil, errors.New("deleting: that is the workspace itself; name a file or folder in it")
	}
	info, err := w.lstat(name)
	if err != nil {
		return nil, pathError("deleting", name, err)
	}
	del := w.root.Remove
	if info.IsDir() && r.GetBool("recursive", false) {
		del = w.root.RemoveAll
	}
	if err := del(name); err != nil {
		return nil, pathError("deleting", name, err)
	}
	w.syncDir(path.Dir(name))
	return textResult("Deleted %s.", shown(name))
}
