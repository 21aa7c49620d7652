package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"legwork/bot"
	"legwork/files"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// lend copies the files that the arguments of a call name, for the server of the call.
// Only groups with the grant get files, and only those that the sub-task is given. The
// caller calls giveBack when the call has ended.
func (x *Executor) lend(ctx context.Context, v *tasks.View, a planner.Action, arguments json.RawMessage) (lent map[string]tools.File, giveBack func(), err error) {
	giveBack = func() {}
	named := planner.LentFiles(arguments)
	if len(named) == 0 || !slices.ContainsFunc(x.Tools.Groups(), func(g tools.Group) bool { return g.Name == a.Group && g.Files }) {
		return nil, giveBack, nil
	}
	folder, err := os.MkdirTemp(x.Copies, "legwork-files-")
	if err != nil {
		return nil, giveBack, fmt.Errorf("copying file for a tool: %w", err)
	}
	giveBack = func() { _ = os.RemoveAll(folder) }
	lent = map[string]tools.File{}
	for _, name := range named {
		r, err := looking{x, v, a}.named(ctx, name)
		if err == nil && r != nil && r.ID != "" {
			var path string
			if path, err = x.contents.copyNamed(ctx, r.ID, folder, bot.BaseName(r.Name)); err == nil {
				lent[planner.LentFile+name] = tools.File{Path: path, Type: cmp.Or(r.Type, "application/octet-stream")}
			}
		}
		if err != nil && !errors.Is(err, files.ErrNone) {
			giveBack()
			return nil, func() {}, err
		}
	}
	return lent, giveBack, nil
}
