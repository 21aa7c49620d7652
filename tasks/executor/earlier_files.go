package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// maxEarlierFiles is how many files of earlier tasks a prompt lists.
const maxEarlierFiles = 10

// earlierFile is a file that came with an earlier task of the conversation.
type earlierFile struct {
	planner.EarlierFile
	task tasks.ID
	seq  int // of the event that says what is in it
}

// earlierFiles find the files of earlier tasks.
type earlierFiles struct{ earlierTasks[earlierFile] }

func newEarlierFiles(store tasks.Store) earlierFiles {
	read := func(ctx context.Context, id tasks.ID, state planner.State) (list []earlierFile, err error) {
		for i, f := range state.Files {
			if f.Read == 0 || f.Gone || f.Empty {
				continue
			}
			e, err := store.Event(ctx, id, f.Read)
			if err != nil {
				return nil, err
			}
			if r := e.Read; !r.Spoken {
				named := planner.EarlierFile{Reference: reference(id, planner.FileName(i)), Name: r.Name, Kind: r.Kind, Bytes: r.Bytes}
				list = append(list, earlierFile{named, id, f.Read})
			}
		}
		return list, nil
	}
	return earlierFiles{newEarlierTasks(store, read)}
}

// list returns the files of the tasks before this one, the newest first.
func (l *earlierFiles) list(ctx context.Context, v *tasks.View) (list []earlierFile, err error) {
	err = l.each(ctx, v, func(t tasks.Turn, found []earlierFile) bool {
		for _, f := range found {
			f.At = t.At
			list = append(list, f)
		}
		return len(list) < maxEarlierFiles
	})
	return list[:min(len(list), maxEarlierFiles)], err
}

// find returns what is in the file of a reference; nil when there is none.
func (l *earlierFiles) find(ctx context.Context, v *tasks.View, name string) (*planner.ReadFile, error) {
	list, err := l.list(ctx, v)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(f earlierFile) bool { return strings.EqualFold(f.Reference, strings.TrimSpace(name)) })
	if i < 0 {
		return nil, nil
	}
	return l.content(ctx, list[i])
}

// content returns what is in a file; nil when its task was deleted meanwhile.
func (l *earlierFiles) content(ctx context.Context, f earlierFile) (*planner.ReadFile, error) {
	e, err := l.store.Event(ctx, f.task, f.seq)
	if tasks.Unreadable(err) {
		l.cache.Remove(f.task)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading an earlier file: %w", err)
	}
	return e.Read, nil
}

// earlierFiles are the files of earlier tasks for the prompt of an action: the names of
// all for a decision, and those that its description names for a sub-task.
func (p prompting) earlierFiles(ctx context.Context) (list []planner.EarlierFile, err error) {
	x, v, a := p.x, p.v, p.a
	description := ""
	switch a.Role {
	case llm.RoleAnswer:
		return nil, nil
	case llm.RoleWork:
		if description = planner.Description(v.State.Subtasks[a.Place.Subtask], v.Event); !strings.Contains(description, "/") {
			return nil, nil
		}
	}
	found, err := x.files.list(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if a.Role == llm.RoleWork {
			if !planner.NamesFile(description, f.Reference) {
				continue
			}
			if f.Given, err = x.files.content(ctx, f); err != nil {
				return nil, err
			}
		}
		list = append(list, f.EarlierFile)
	}
	return list, nil
}
