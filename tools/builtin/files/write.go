package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/internal/failpoint"
)

// addWriters offers the tools that change files.
func (f *files) addWriters(s *server.MCPServer) {
	strict := mcp.WithSchemaAdditionalProperties(false)
	where := mcp.WithString("path", mcp.Required(), mcp.Description(pathHelp))
	s.AddTool(mcp.NewTool("write", mcp.WithTitleAnnotation("Write a file"), hints(false, true, true), strict, where,
		mcp.WithDescription("Makes a text file, or replaces the whole content of one. Makes its folders too."),
		mcp.WithString("content", mcp.Required())), f.write(write))
	s.AddTool(mcp.NewTool("append", mcp.WithTitleAnnotation("Add to a file"), hints(false, false, false), strict, where,
		mcp.WithDescription("Adds text to the end of a file, or makes it."),
		mcp.WithString("content", mcp.Required())), f.write(appendTo))
	s.AddTool(mcp.NewTool("edit", mcp.WithTitleAnnotation("Edit a file"), hints(false, true, false), strict, where,
		mcp.WithDescription("Replaces a passage of a file, which must be there exactly once."),
		mcp.WithString("old_text", mcp.Required(), mcp.MinLength(1), mcp.Description("The passage, exactly as read returns it.")),
		mcp.WithString("new_text", mcp.Required()),
		mcp.WithBoolean("replace_all", mcp.Description("Replace it wherever it is."))), f.write(edit))
	f.addMovers(s)
}

func write(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := cleanNew(r.GetString("path", ""))
	if err != nil {
		return nil, err
	}
	content := r.GetString("content", "")
	existed, err := w.replace(ctx, "writing", name, int64(len(content)), strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	if existed {
		return textResult("Replaced the content of %s: %d bytes.", name, len(content))
	}
	return textResult("Wrote %s: %d bytes.", name, len(content))
}

func appendTo(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := cleanNew(r.GetString("path", ""))
	if err != nil {
		return nil, err
	}
	old, err := w.readWhole(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, pathError("adding to", name, err)
	}
	content := r.GetString("content", "")
	size := int64(len(old) + len(content))
	if _, err := w.replace(ctx, "adding to", name, size, io.MultiReader(bytes.NewReader(old), strings.NewReader(content))); err != nil {
		return nil, err
	}
	return textResult("Added %d bytes to %s, which has %d now.", len(content), name, size)
}

func edit(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := cleanNew(r.GetString("path", ""))
	if err != nil {
		return nil, err
	}
	data, err := w.readWhole(name)
	if err != nil {
		return nil, pathError("editing", name, err)
	}
	before := string(data)
	after, n, err := replacePassage(before, r.GetString("old_text", ""), r.GetString("new_text", ""), r.GetBool("replace_all", false))
	if err != nil {
		return nil, fmt.Errorf("editing %s: %w", show(name), err)
	}
	if _, err := w.replace(ctx, "editing", name, int64(len(after)), strings.NewReader(after)); err != nil {
		return nil, err
	}
	line := 1 + strings.Count(before[:strings.Index(before, r.GetString("old_text", ""))], "\n")
	if n > 1 {
		return textResult("Replaced %d passages of %s, the first in line %d.", n, name, line)
	}
	return textResult("Replaced a passage of %s in line %d.", name, line)
}

// replacePassage puts new in the place of old, and tells how often.
func replacePassage(text, old, replacement string, all bool) (string, int, error) {
	if old == "" {
		return "", 0, errors.New("old_text is empty; give the passage to replace, or use append")
	}
	if old == replacement {
		return "", 0, errors.New("old_text and new_text are the same; nothing was changed")
	}
	switch n := strings.Count(text, old); {
	case n == 0 && strings.Contains(lineEnds(text), lineEnds(old)):
		return "", 0, errors.New(`the passage is there with other line ends: the lines of this file end in \r\n, so end those of old_text and new_text likewise`)
	case n == 0 && strings.Contains(collapseSpaces(text), collapseSpaces(old)):
		return "", 0, errors.New("the passage is there with other spaces or line breaks; read the file and give it exactly")
	case n == 0:
		return "", 0, errors.New("the passage is not in the file; read the file and give it exactly")
	case n > 1 && !all:
		return "", 0, fmt.Errorf("the passage is there %d times; give more of the text around the right one, or set replace_all to true", n)
	default:
		return strings.ReplaceAll(text, old, replacement), n, nil
	}
}

func lineEnds(s string) string       { return strings.ReplaceAll(s, "\r\n", "\n") }
func collapseSpaces(s string) string { return strings.Join(strings.Fields(s), " ") }

// readWhole is the content of a file that is small enough to be written again.
func (w *workspace) readWhole(name string) ([]byte, error) {
	if err := w.checkWritable(name); err != nil {
		return nil, err
	}
	f, info, err := w.file(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := w.checkFileSize(info.Size()); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, w.o.MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	return data, w.checkFileSize(int64(len(data)))
}

// checkWritable refuses what is there and is no file. Writing through a link would
// change a file under another name than the one that was agreed to.
func (w *workspace) checkWritable(name string) error {
	info, err := w.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	case info.IsDir():
		return errors.New("it is a folder; name a file")
	case !info.Mode().IsRegular():
		return errNotFile
	}
	return nil
}

// replace makes content, of that size, the content of a file: whole or, when
// something ends it, not at all. The file's permissions stay.
func (w *workspace) replace(ctx context.Context, doing, name string, size int64, content io.Reader) (existed bool, err error) {
	if err := w.checkWritable(name); err != nil {
		return false, pathError(doing, name, err)
	}
	if err := w.checkFileSize(size); err != nil {
		return false, err
	}
	mode, more := fs.FileMode(0o600), size
	info, err := w.lstat(name)
	if existed = err == nil; existed {
		mode, more = info.Mode().Perm(), size-info.Size()
	}
	if err := w.checkQuota(ctx, name, more); err != nil {
		return false, err
	}
	if err := w.writeAndRename(name, mode, content); err != nil {
		return false, pathError(doing, name, err)
	}
	return existed, nil
}

// writeAndRename writes beside the file and then renames.
func (w *workspace) writeAndRename(name string, mode fs.FileMode, content io.Reader) error {
	dir := path.Dir(name)
	if err := w.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	half := path.Join(dir, tempPrefix+strings.ToLower(rand.Text()))
	f, err := w.root.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		failpoint.Hit("files.before.rename")
		err = w.root.Rename(half, name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(half))
	}
	w.syncDir(dir)
	return nil
}

// syncDir asks the disk to keep the names in a folder. Where it cannot, the
// change still is whole or not there.
func (w *workspace) syncDir(dir string) {
	if d, err := w.dir(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
