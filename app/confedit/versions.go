package confedit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/conf"
	"legwork/internal/fsutil"
	"legwork/tasks/api"
	webapi "legwork/web/api"
)

// maxVersions is how many earlier contents are kept.
const maxVersions = 50

// versionTime is the form of ids: the time at which a content was replaced.
const versionTime = "20060102T150405.000Z"

// version is an earlier content of the file. Its name is ID_WHO.yaml, so that a folder
// listing tells all about it.
type version struct {
	webapi.ConfigVersion
	path string
}

// keep keeps the content of the file, which is about to be replaced by somebody.
func (e *Editor) keep(ctx context.Context, f file, who api.Principal) error {
	if err := os.MkdirAll(e.Folder, 0o700); err != nil {
		return fmt.Errorf("keeping the earlier config: %w", err)
	}
	list, err := e.list()
	if err != nil {
		return err
	}
	at := e.Now().UTC().Truncate(time.Millisecond)
	if len(list) > 0 && !at.After(list[0].ReplacedAt.Time) {
		at = list[0].ReplacedAt.Add(time.Millisecond)
	}
	name := at.Format(versionTime) + "_" + url.QueryEscape(who.Key()) + ".yaml"
	if _, err := fsutil.Write(ctx, filepath.Join(e.Folder, name), write(f.raw)); err != nil {
		return fmt.Errorf("keeping the earlier config: %w", err)
	}
	for _, old := range list[min(len(list), maxVersions-1):] {
		if err := os.Remove(old.path); err != nil {
			return fmt.Errorf("removing an earlier config: %w", err)
		}
	}
	return nil
}

// list lists the earlier contents, the newest first.
func (e *Editor) list() ([]version, error) {
	entries, err := os.ReadDir(e.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing earlier configs: %w", err)
	}
	var list []version
	for _, entry := range entries {
		name, found := strings.CutSuffix(entry.Name(), ".yaml")
		id, who, _ := strings.Cut(name, "_")
		at, err := time.Parse(versionTime, id)
		if !found || err != nil {
			continue
		}
		if plain, err := url.QueryUnescape(who); err == nil {
			who = plain
		}
		list = append(list, version{webapi.ConfigVersion{ID: id, ReplacedAt: api.Time{Time: at}, ReplacedBy: who}, filepath.Join(e.Folder, entry.Name())})
	}
	slices.SortFunc(list, func(a, b version) int { return cmp.Compare(b.ID, a.ID) })
	return list, nil
}

// Versions implements webapi.ConfigFile.
func (e *Editor) Versions(context.Context) ([]webapi.ConfigVersion, error) {
	list, err := e.list()
	out := make([]webapi.ConfigVersion, len(list))
	for i, v := range list {
		out[i] = v.ConfigVersion
	}
	return out, err
}

// Version implements webapi.ConfigFile.
func (e *Editor) Version(_ context.Context, id string) (webapi.ConfigVersionText, error) {
	list, err := e.list()
	if err != nil {
		return webapi.ConfigVersionText{}, err
	}
	i := slices.IndexFunc(list, func(v version) bool { return v.ID == id })
	if i < 0 {
		return webapi.ConfigVersionText{}, api.ErrNotFound
	}
	raw, err := os.ReadFile(list[i].path)
	if err != nil {
		return webapi.ConfigVersionText{}, fmt.Errorf("reading an earlier config: %w", err)
	}
	out := webapi.ConfigVersionText{ConfigVersion: list[i].ConfigVersion}
	_, hidden, err := e.hide(newlines(string(raw)))
	switch {
	case errors.Is(err, conf.ErrNotHidden):
		out.Why = "This version is not shown, because legwork cannot tell its secrets from the rest of it. The file is " + list[i].path + "."
	case err != nil:
		return out, err
	default:
		out.Text = hidden.Text
	}
	return out, nil
}
