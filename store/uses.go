package store

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"legwork/files"
	"legwork/tasks"
)

// useKey names a use of a content. task is empty for an upload.
type useKey struct {
	id    files.ID
	owner string
	task  tasks.ID
}

func useKeyBytes(k useKey) []byte { return orderedKey(string(k.id), k.owner, string(k.task)) }

// useRow is what is stored about a use.
type useRow struct {
	Name  string    `json:"name"`
	Type  string    `json:"type"`
	Bytes int64     `json:"bytes"`
	Until time.Time `json:"until,omitzero"` // of an upload
}

// use is a use of a content with its key.
type use struct {
	useKey
	useRow
}

// readUse reads a row of TableUses.
func readUse(e entry[useRow]) (use, bool) {
	var id, owner, task string
	ok := readNames(e.key, &id, &owner, &task)
	return use{useKey{files.ID(id), owner, tasks.ID(task)}, e.value}, ok
}

// over reports whether the time of an upload is over.
func (u use) over(now time.Time) bool { return u.task == "" && !now.Before(u.Until) }

func (u use) public() tasks.FileUse {
	return tasks.FileUse{File: files.File{ID: u.id, Name: u.Name, Type: u.Type, Bytes: u.Bytes}, Owner: u.owner, Task: u.task, Until: u.Until}
}

// uses are the contents and their uses, within a transaction.
type uses struct{ *txn }

// of returns the uses of a content.
func (x uses) of(id files.ID, owner ...string) iter.Seq[use] {
	from := orderedKey(append([]string{string(id)}, owner...)...)
	return func(yield func(use) bool) {
		for e := range useRows.sound(x, from, afterPrefix(from), Ascending) {
			if u, ok := readUse(e); ok && !yield(u) {
				return
			}
		}
	}
}

// used reports whether a content is used, by an owner if one is given.
func (x uses) used(id files.ID, owner ...string) bool {
	from := orderedKey(append([]string{string(id)}, owner...)...)
	return firstKey(x, TableUses, from, afterPrefix(from), Ascending) != nil
}

// total is the size of all contents together.
func (x uses) total() int64 {
	n, _ := metaNumbers.load(x, metaFileBytes)
	return int64(n)
}

// checkRoom refuses a content that does not fit into the limits of its keeper.
func (x uses) checkRoom(file files.File, k tasks.Keep) error {
	own, _ := ownerBytes.load(x, k.Owner)
	switch {
	case k.TotalMax > 0 && !contentRows.has(x, file.ID) && x.total()+file.Bytes > k.TotalMax:
		return fmt.Errorf("%w: %d bytes", files.ErrTotal, k.TotalMax)
	case k.OwnerMax > 0 && !x.used(file.ID, k.Owner) && own+file.Bytes > k.OwnerMax:
		return fmt.Errorf("%w: the files of %s may have %d bytes together", files.ErrRoom, k.Owner, k.OwnerMax)
	}
	return nil
}

// upload adds an upload, whose bytes are placed.
func (x uses) upload(file files.File, k tasks.Keep) error {
	if err := x.checkRoom(file, k); err != nil {
		return err
	}
	if !contentRows.has(x, file.ID) {
		contentRows.put(x, file.ID, contentRow{file.Bytes})
		garbageRows.drop(x, file.ID)
		metaNumbers.put(x, metaFileBytes, uint64(x.total()+file.Bytes))
	}
	x.add(use{useKey{file.ID, k.Owner, ""}, useRow{file.Name, file.Type, file.Bytes, k.Until.Round(0).UTC()}})
	return nil
}

// refer adds a task of an owner to the uses of the contents that an event refers to. An
// upload of the owner becomes a file of the task. The name of a file is that of a use of
// the same owner, if there is one.
func (x uses) refer(task tasks.ID, owner string, ids []files.ID) error {
	for _, id := range ids {
		row, found, err := contentRows.get(x, id)
		if err != nil || !found {
			return cmp.Or(err, noContent(id))
		}
		key := useKey{id, owner, task}
		if useRows.has(x, key) {
			continue
		}
		as := useRow{Bytes: row.Bytes}
		for _, from := range [][]string{{owner}, nil} {
			for u := range x.of(id, from...) {
				if as.Name, as.Type = u.Name, u.Type; u.owner == owner {
					break
				}
			}
			if as.Name != "" {
				break
			}
		}
		x.add(use{key, as})
		if upload := (useKey{id, owner, ""}); useRows.has(x, upload) {
			x.release(upload)
		}
	}
	return nil
}

// add adds a use of a content that exists.
func (x uses) add(u use) {
	if !x.used(u.id, u.owner) {
		own, _ := ownerBytes.load(x, u.owner)
		ownerBytes.put(x, u.owner, own+u.Bytes)
	}
	useRows.put(x, u.useKey, u.useRow)
	if u.task != "" {
		taskFiles.put(x, u.useKey, u.owner)
	}
}

// release deletes a use, and with the last use of a content also the content. Then it
// returns 1.
func (x uses) release(k useKey) int {
	u, _ := useRows.load(x, k)
	useRows.drop(x, k)
	if k.task != "" {
		taskFiles.drop(x, k)
	}
	if !x.used(k.id, k.owner) {
		if own, _ := ownerBytes.load(x, k.owner); own > u.Bytes {
			ownerBytes.put(x, k.owner, own-u.Bytes)
		} else {
			ownerBytes.drop(x, k.owner)
		}
	}
	if x.used(k.id) || !contentRows.has(x, k.id) {
		return 0
	}
	contentRows.drop(x, k.id)
	metaNumbers.put(x, metaFileBytes, uint64(max(0, x.total()-u.Bytes)))
	garbageRows.put(x, k.id, struct{}{})
	x.frees = true
	x.step("content.released")
	return 1
}

// releaseTask deletes all uses by a task, and returns how many contents went with them.
func (x uses) releaseTask(task tasks.ID) (n int) {
	var list []useKey
	from := orderedKey(string(task))
	for e := range taskFiles.scan(x, from, afterPrefix(from), Ascending) {
		var id string
		if readNames(e.key, new(string), &id) {
			list = append(list, useKey{files.ID(id), e.value, task})
		}
	}
	for _, k := range list {
		n += x.release(k)
	}
	return n
}

// move gives the files of an owner to another one.
func (x uses) move(from, to string) {
	if own, found := ownerBytes.load(x, from); !found || own == 0 {
		return
	}
	var list []use
	for e := range useRows.sound(x, nil, nil, Ascending) {
		if u, ok := readUse(e); ok && u.owner == from {
			list = append(list, u)
		}
	}
	for _, u := range list {
		old := u.useKey
		u.owner = to
		x.add(u) // first, so that the content stays
		useRows.drop(x, old)
	}
	ownerBytes.drop(x, from)
}

// forget deletes a content with all its uses. Its bytes are gone already.
func (x uses) forget(id files.ID) {
	var list []useKey
	for u := range x.of(id) {
		list = append(list, u.useKey)
	}
	for _, k := range list {
		x.release(k)
	}
	contentRows.drop(x, id)
	garbageRows.drop(x, id)
}

// verify compares the records about contents with each other. It returns the contents
// with their sizes.
func (x uses) verify() (r FilesReport, sizes map[files.ID]int64) {
	sizes = map[files.ID]int64{}
	for e := range contentRows.scan(x, nil, nil, Ascending) {
		if e.damaged != nil {
			r.add("%s: %v", describe(TableContents, e.key), e.damaged)
			continue
		}
		sizes[files.ID(e.key)] = e.value.Bytes
		r.Contents++
		r.Bytes += e.value.Bytes
	}
	if total := x.total(); total != r.Bytes {
		r.add("the size of all contents is noted as %d, but it is %d", total, r.Bytes)
	}
	used, owned := map[files.ID]bool{}, map[string]int64{}
	var last useKey
	for e := range useRows.scan(x, nil, nil, Ascending) {
		u, ok := readUse(e)
		size, kept := sizes[u.id]
		switch {
		case e.damaged != nil || !ok:
			r.add("%s: %v", describe(TableUses, e.key), cmp.Or(e.damaged, tasks.ErrDamaged))
			continue
		case !kept || size != u.Bytes:
			r.add("content %s is used by %s, but it is not kept", u.id, cmp.Or(string(u.task), u.owner))
		case u.task != "" && (!taskRows.has(x, u.task) || !taskFiles.has(x, u.useKey)):
			r.add("content %s is used by the task %s, which does not exist or does not know it", u.id, u.task)
		}
		if used[u.id] = true; last.id != u.id || last.owner != u.owner {
			owned[u.owner] += u.Bytes
		}
		last = u.useKey
	}
	for id := range sizes {
		if !used[id] {
			r.add("content %s is kept, but nothing uses it", id)
		}
	}
	for e := range ownerBytes.scan(x, nil, nil, Ascending) {
		if owner := string(e.key); owned[owner] != e.value {
			r.add("the size of all contents of %s is noted as %d, but it is %d", owner, e.value, owned[owner])
		}
		delete(owned, string(e.key))
	}
	for owner, n := range owned {
		r.add("the size of all contents of %s is not noted, but it is %d", owner, n)
	}
	return r, sizes
}
