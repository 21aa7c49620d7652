package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

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

// earlierFiles find the files of earlier tasks. The cache holds tasks that have ended.
type earlierFiles struct {
	store tasks.Store
	cache *lru.Cache[tasks.ID, []earlierFile]
}

func newEarlierFiles(store tasks.Store) earlierFiles {
	kept, err := lru.New[tasks.ID, []earlierFile](earlierCached)
	if err != nil {
		panic("executor: " + err.Error()) // the size is not positive
	}
	return earlierFiles{store, kept}
}

// list returns the files of the tasks before this one, the newest first. It reads only
// the history of the conversation since the last cut.
func (l *earlierFiles) list(ctx context.Context, v *tasks.View) ([]earlierFile, error) {
	turns, err := l.store.History(ctx, v.Opening().Chat.Key(), v.ID, earlierTurnBytes)
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", err)
	}
	var list []earlierFile
	for _, t := range slices.Backward(turns[max(0, len(turns)-earlierMaxTurns):]) {
		found, err := l.of(ctx, t.Task)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			f.At = t.At
			list = append(list, f)
		}
		if len(list) >= maxEarlierFiles {
			return list[:maxEarlierFiles], nil
		}
	}
	return list, nil
}

// of returns the files of a task that has ended; none of a deleted or damaged one.
func (l *earlierFiles) of(ctx context.Context, id tasks.ID) ([]earlierFile, error) {
	if list, ok := l.cache.Get(id); ok {
		return list, nil
	}
	state, err := l.store.State(ctx, id)
	if err == nil && !state.Settled() {
		return nil, nil
	}
	var list []earlierFile
	for i, f := range state.Files {
		if err != nil || f.Read == 0 || f.Gone || f.Empty {
			continue
		}
		var e planner.Event
		if e, err = l.store.Event(ctx, id, f.Read); err == nil && !e.Read.Spoken {
			list = append(list, earlierFile{planner.EarlierFile{Reference: reference(id, planner.FileName(i)), Name: e.Read.Name, Kind: e.Read.Kind, Bytes: e.Read.Bytes}, id, f.Read})
		}
	}
	if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	l.cache.Add(id, list)
	return list, nil
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
	return l.read(ctx, list[i])
}

// read returns what is in a file; nil when its task was deleted meanwhile.
func (l *earlierFiles) read(ctx context.Context, f earlierFile) (*planner.ReadFile, error) {
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
func (x *Executor) earlierFiles(ctx context.Context, v *tasks.View, a planner.Action) (list []planner.EarlierFile, err error) {
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
			if f.Given, err = x.files.read(ctx, f); err != nil {
				return nil, err
			}
		}
		list = append(list, f.EarlierFile)
	}
	return list, nil
}
