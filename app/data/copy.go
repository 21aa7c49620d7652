package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"legwork/app/control"
	"legwork/internal/fsutil"
	"legwork/internal/retry"
	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/postgres"
	"legwork/tools/builtin/memory"
)

// isURL reports whether a place of data is the URL of a database. Otherwise it is a
// path.
func isURL(place string) bool {
	return strings.Contains(place, "://") || strings.HasPrefix(place, "postgres:") || strings.HasPrefix(place, "postgresql:")
}

// openDatabase opens the database in a data folder or at a URL. This process holds
// it until it closes it.
func openDatabase(ctx context.Context, place string, o bolt.Options) (store.DB, error) {
	if isURL(place) {
		return postgres.Open(ctx, postgres.Options{URL: place, Command: o.Command, Log: o.Log, Metrics: o.Metrics})
	}
	return bolt.OpenDB(ctx, place, o)
}

// placeName is a place in messages: of a URL only host, port and database, because
// the rest may hold a password.
func placeName(place string) string {
	if !isURL(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil || u.Host == "" {
		return "the URL"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// CopyRequest says what is copied where.
type CopyRequest struct {
	From        string // a data folder, a backup file, or the URL of a database
	To          string // a folder, which is created, or the URL of a database
	SkipDamaged bool   // leave out damaged records
	Progress    func(store.CopyProgress)
}

// CopyReport is what a copy did.
type CopyReport struct {
	store.Copied

	From  string        `json:"from"` // without user and password, as To
	To    string        `json:"to"`
	Live  bool          `json:"live,omitempty"` // the source was in use; what it stored after Began may be missing
	Began time.Time     `json:"began"`
	Took  time.Duration `json:"took"`
	// Notes is the file with the notes of the memory server, which are not in the
	// database: their copy, or the source's own file when they were not copied.
	Notes       string `json:"notes,omitempty"`
	NotesCopied bool   `json:"notes_copied,omitempty"`
}

// Copy copies a database to another place, see store.Copy. A source in use is copied
// as it is when the copy begins.
func Copy(ctx context.Context, in CopyRequest, log *slog.Logger) (out CopyReport, err error) {
	out.From, out.To, out.Began = placeName(in.From), placeName(in.To), time.Now().UTC()
	o, err := options("", "legwork data copy", log)
	if err != nil {
		return out, err
	}
	o.Backups = nil // a copy restores nothing
	if !isURL(in.From) && filepath.Base(in.From) == bolt.FileName {
		in.From = filepath.Dir(in.From)
	}
	if err := checkTarget(in); err != nil {
		return out, err
	}
	from, err := openSource(ctx, in.From, o)
	if err != nil {
		return out, fmt.Errorf("opening the source: %w", err)
	}
	defer func() { err = errors.Join(err, from.close()) }()
	to, err := openDatabase(ctx, in.To, o)
	if err != nil {
		return out, fmt.Errorf("opening the target: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	out.Live = from.live
	out.Copied, err = store.Copy(ctx, from, to, store.CopyOptions{
		Source: out.From, Began: out.Began, Live: from.live, SkipDamaged: in.SkipDamaged, Progress: in.Progress,
		Beside: func() error { return copyNotes(ctx, in, from.folder, &out) },
	})
	out.Took = time.Since(out.Began)
	return out, err
}

// checkTarget refuses a target that holds something else, as far as files tell.
func checkTarget(in CopyRequest) error {
	a, err := os.Stat(in.From)
	b, err2 := os.Stat(in.To)
	if isURL(in.From) && placeName(in.From) == placeName(in.To) || err == nil && err2 == nil && os.SameFile(a, b) {
		return errors.New("--from and --to are the same place")
	}
	if isURL(in.To) {
		return nil
	}
	if err2 == nil && !b.IsDir() {
		return fmt.Errorf("%s is a file: --to is a folder or the URL of a database", in.To)
	}
	if _, err := os.Stat(filepath.Join(in.To, bolt.FileName)); err == nil {
		return nil // an unfinished copy, or the copy is refused later
	}
	files, err := os.ReadDir(in.To)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if f.Name() != "lock.json" { // a copy that was killed at its beginning left it
			return fmt.Errorf("%s holds other files, such as %s: name an empty folder", in.To, f.Name())
		}
	}
	return nil
}

// source is the database that is copied.
type source struct {
	store.DB
	live      bool   // another process uses the data
	folder    string // data folder, with the notes of the memory server; empty: there is none
	temporary string // folder that close deletes; may be empty
}

func (s source) close() error {
	err := s.Close()
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	return err
}

// openSource opens the source of a copy.
func openSource(ctx context.Context, place string, o bolt.Options) (source, error) {
	if isURL(place) {
		return openServer(ctx, place, o)
	}
	info, err := os.Stat(place)
	_, noFile := os.Stat(filepath.Join(place, bolt.FileName))
	switch {
	case err != nil:
		return source{}, fmt.Errorf("%w: name a data folder, a backup file, or the URL of a database", err)
	case !info.IsDir():
		return openBackup(ctx, place, o)
	case noFile != nil:
		return source{}, fmt.Errorf("%s is not a data folder of legwork: there is no %s in it", place, bolt.FileName)
	}
	return openFolder(ctx, place, o)
}

// openServer opens the database at a URL. It takes the database, so that it does not
// change, or only reads when another process holds it.
func openServer(ctx context.Context, place string, o bolt.Options) (source, error) {
	reader, err := postgres.OpenReader(ctx, postgres.Options{URL: place, Command: o.Command, Log: o.Log})
	if err != nil {
		return source{}, err
	}
	db, err := openDatabase(ctx, place, o)
	var held *postgres.HeldError
	if errors.As(err, &held) { // by a process that runs, or one that was killed
		if err = retry.Sleep(ctx, held.Expires); err == nil {
			db, err = openDatabase(ctx, place, o)
		}
	}
	switch {
	case errors.As(err, &held):
		return source{DB: reader, live: true}, nil
	case err != nil:
		return source{}, errors.Join(err, reader.Close())
	}
	return source{DB: db}, reader.Close()
}

// openBackup opens a backup, as the data file of a temporary folder.
func openBackup(ctx context.Context, path string, o bolt.Options) (source, error) {
	if !bolt.IsDataFile(path) {
		return source{}, fmt.Errorf("%s is not a data file of legwork, or a process uses it", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return source{}, err
	}
	dir, err := os.MkdirTemp("", "legwork-copy-")
	if err != nil {
		return source{}, err
	}
	s := source{temporary: dir}
	o.Contents = bolt.BackupFolders(path)
	if err = os.Symlink(path, filepath.Join(dir, bolt.FileName)); err == nil {
		s.DB, err = openDatabase(ctx, dir, o)
	}
	if err != nil {
		return source{}, errors.Join(fmt.Errorf("%s: %w", path, err), os.RemoveAll(dir))
	}
	return s, nil
}

// copying is the folder in a data folder that holds a backup while it is copied.
const copying = ".copying"

// openFolder opens a data folder. A process that uses it makes a backup, which is
// opened instead.
func openFolder(ctx context.Context, dir string, o bolt.Options) (s source, err error) {
	s.folder = dir
	s.DB, err = openDatabase(ctx, dir, o)
	if !errors.As(err, new(*bolt.LockedError)) {
		return s, err
	}
	inUse := err
	if s.temporary, err = filepath.Abs(filepath.Join(dir, copying)); err != nil {
		return s, err
	}
	owner := control.NewClient(dir)
	defer owner.Close()
	err = errors.Join(os.RemoveAll(s.temporary), os.Mkdir(s.temporary, 0o700)) // a copy that was killed left it
	if err == nil {
		err = owner.Call(ctx, http.MethodPost, pathBackup, filepath.Join(s.temporary, bolt.FileName), nil)
	}
	if errors.Is(err, control.ErrNoProcess) {
		err = inUse
	}
	if err == nil {
		s.live = true
		o.Contents = bolt.BackupFolders(filepath.Join(s.temporary, bolt.FileName))
		s.DB, err = openDatabase(ctx, s.temporary, o)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	return s, err
}

// copyNotes copies the notes of the memory server to a target that is a folder.
func copyNotes(ctx context.Context, in CopyRequest, folder string, out *CopyReport) error {
	if folder == "" {
		return nil
	}
	if size, err := memory.Size(folder); err != nil || size == 0 {
		return err
	}
	out.Notes, out.NotesCopied = filepath.Join(in.From, memory.FileName), !isURL(in.To)
	if !out.NotesCopied {
		return nil
	}
	out.Notes = filepath.Join(in.To, memory.FileName)
	_, err := fsutil.Write(ctx, out.Notes, func(w io.Writer) error { return memory.Snapshot(ctx, folder, w) })
	return err
}
