package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

var (
	errNotFile  = errors.New("it is neither a file nor a folder, but a pipe, socket or device; it cannot be read or written")
	errLink     = errors.New("it is a link; name the file it leads to")
	errKernelFS = errors.New("it is on a file system that holds no files; it cannot be read")
)

// pathError tells a model what went wrong with a path while doing something to
// it, and what to do about it. Paths of the host do not show.
func pathError(doing, name string, err error) error {
	return fmt.Errorf("%s %s: %w", doing, show(name), modelError(err))
}

// workspaceError is trouble with the workspace as a whole.
func workspaceError(err error) error {
	return fmt.Errorf("opening the workspace: %w; tell the person that an administrator has to look at it", modelError(err))
}

func modelError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist; list the folder to see what does")
	case errors.Is(err, syscall.ENOTEMPTY): // which counts as ErrExist, too
		return errors.New("the folder is not empty; set recursive to true to delete what is in it as well")
	case errors.Is(err, fs.ErrExist):
		return errors.New("it exists already; choose another name")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the system does not permit it; tell the person")
	case errors.Is(err, syscall.ENOTDIR):
		return errors.New("a part of the path is a file, not a folder; list the folder to see what there is")
	case errors.Is(err, syscall.EISDIR):
		return errors.New("it is a folder; name a file")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errors.New("the name is too long; use a shorter one")
	case errors.Is(err, syscall.ELOOP):
		return errors.New("the links in the path lead in a circle; use another path")
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return errors.New("the disk is full; nothing was changed; tell the person")
	case errors.Is(err, syscall.EROFS):
		return errors.New("the disk is read-only; tell the person")
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	}
	var atPath *fs.PathError
	var atLink *os.LinkError
	if errors.As(err, &atPath) {
		err = atPath.Err
	} else if errors.As(err, &atLink) {
		err = atLink.Err
	}
	// os.Root has no error of its own that can be compared.
	if strings.Contains(err.Error(), "path escapes from parent") {
		return errors.New("it leads outside of the workspace, where nothing can be reached; use another path")
	}
	return err
}
