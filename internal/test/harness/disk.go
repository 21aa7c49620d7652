package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/files"
	"legwork/internal/test/harness/record"
	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/postgres"
	"legwork/tasks"
)

// uploadsOver is when the time of every upload is over.
const uploadsOver = 48 * time.Hour

// readDisk notes which contents are stored after the last life, before anything opens the
// data: that would tidy them up.
func (s *session) readDisk(ctx context.Context) (err error) {
	d := &s.record.Disk
	for _, e := range readFolder(filepath.Join(s.dir, "data", "tmp"), &err) {
		d.Left = append(d.Left, "data/tmp/"+e.Name())
	}
	if s.database != nil {
		return errors.Join(err, s.readDatabase(ctx))
	}
	var left []string
	d.Stored, left = folderContents(filepath.Join(s.dir, "data"), &err)
	d.Left = append(d.Left, left...)
	ids, failed := bolt.ContentIDs(filepath.Join(s.dir, "data", bolt.FileName))
	d.Known = texts(ids)
	return errors.Join(err, failed)
}

// texts makes texts of ids; not nil.
func texts(ids []files.ID) []string {
	list := []string{}
	for _, id := range ids {
		list = append(list, string(id))
	}
	return list
}

// readFolder lists a folder; a missing one is empty.
func readFolder(dir string, err *error) []fs.DirEntry {
	list, failed := os.ReadDir(dir)
	if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		*err = errors.Join(*err, failed)
	}
	return list
}

// folderContents lists the contents of a data folder, and what else is among them.
func folderContents(data string, err *error) (stored, left []string) {
	stored = []string{}
	folder := filepath.Join(data, bolt.FolderName)
	for _, d := range readFolder(folder, err) {
		if !d.IsDir() {
			left = append(left, "files/"+d.Name())
			continue
		}
		for _, e := range readFolder(filepath.Join(folder, d.Name()), err) {
			if files.ID(e.Name()).Valid() && strings.HasPrefix(e.Name(), d.Name()) {
				stored = append(stored, e.Name())
			} else {
				left = append(left, "files/"+d.Name()+"/"+e.Name())
			}
		}
	}
	return stored, left
}

// readDatabase is readDisk for a database: a content has a row, and each chunk belongs to
// one.
func (s *session) readDatabase(ctx context.Context) error {
	s.database.server.quiet.RLock()
	defer s.database.server.quiet.RUnlock()
	db, err := postgres.OpenReader(ctx, postgres.Options{URL: s.database.url})
	if err != nil {
		return fmt.Errorf("reading which contents are stored: %w", err)
	}
	d := &s.record.Disk
	err = db.View(ctx, func(x store.Tx) error {
		d.Stored, d.Known = []string{}, []string{}
		var blobs [][]byte // the names of their chunks
		for r, err := range x.Range(store.TableBlobs, nil, nil, store.Ascending) {
			if err != nil {
				return err
			}
			var b struct{ Name string }
			if body, err := store.Unseal(r); err != nil || json.Unmarshal(body, &b) != nil {
				return fmt.Errorf("reading content %q: %w", r.Key, cmpErr(err))
			}
			blobs = append(blobs, []byte(b.Name))
			if id := files.ID(r.Key); id.Valid() {
				d.Stored = append(d.Stored, string(id))
			} else {
				d.Left = append(d.Left, "blob "+string(id))
			}
		}
		for r, err := range x.Range(store.TableContents, nil, nil, store.Ascending) {
			if err != nil {
				return err
			}
			d.Known = append(d.Known, string(r.Key))
		}
		for r, err := range x.Range(store.TableChunks, nil, nil, store.Ascending) {
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(blobs, func(name []byte) bool { return len(name) > 0 && bytes.HasPrefix(r.Key, name) }) {
				d.Left = append(d.Left, fmt.Sprintf("chunk %x", r.Key))
			}
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

// cmpErr is err, or that of a row that is no JSON.
func cmpErr(err error) error {
	if err == nil {
		err = tasks.ErrDamaged
	}
	return err
}

// sweepDisk opens the data when the time of all uploads is over, and compares what is then
// stored with what journals refer to.
func (s *session) sweepDisk(ctx context.Context) error {
	ahead := func() time.Time { return time.Now().Add(s.ahead + uploadsOver) }
	data, err := bolt.Open(ctx, s.finalData(), bolt.Options{Now: ahead})
	if err != nil {
		return fmt.Errorf("reading what journals refer to: %w", err)
	}
	_, err = data.SweepFiles(ctx, time.Time{})
	if err == nil {
		s.record.Disk.Referred, err = referred(ctx, data)
	}
	s.record.Disk.Swept, _ = folderContents(s.finalData(), &err)
	return errors.Join(err, data.Close())
}

// referred lists the contents that the journals of all tasks refer to.
func referred(ctx context.Context, data *bolt.Store) ([]string, error) {
	list := []string{}
	for before, more := tasks.ID(""), true; more; {
		var rows []tasks.Row
		var err error
		if rows, more, err = data.Tasks(ctx, tasks.TaskQuery{Before: before}); err != nil {
			return nil, err
		}
		for _, row := range rows {
			before = row.Task
			events, err := data.Load(ctx, row.Task, 0)
			if err != nil {
				return nil, err
			}
			for _, e := range events {
				list = append(list, texts(e.Contents())...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// saved reads the files that legwork has made in the folder of the terminal.
func (s *session) saved() (list []record.Sent, err error) {
	for _, e := range readFolder(s.dir, &err) {
		name := e.Name()
		if strings.HasPrefix(name, ".legwork-") {
			s.record.Disk.Left = append(s.record.Disk.Left, name)
		}
		if !slices.ContainsFunc(s.record.Inputs, func(in record.Input) bool { return strings.Contains(name, in.ID+"-") && len(in.Makes()) > 0 }) {
			continue
		}
		content, failed := os.ReadFile(filepath.Join(s.dir, name))
		err = errors.Join(err, failed)
		list = append(list, record.Sent{Name: name, Content: content})
	}
	return list, err
}
