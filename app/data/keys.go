package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"legwork/conf"
	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/internal/seal"
	"legwork/tasks"
)

// The files of the sealing key in a data directory.
const (
	KeyFile     = "sealing.key"
	NextKeyFile = KeyFile + ".new" // while the key is changed
)

// Keys seal the stored sign-ins at servers. The sealing key is in the config, or in
// KeyFile, which is made when it is needed for the first time.
//
// A change of the key takes three steps: the new key is written to NextKeyFile; one
// transaction seals everything with it; and NextKeyFile becomes KeyFile. While there is a
// NextKeyFile both keys open, so each step may be the last one of a process: the next
// OpenKeys does the rest. When the config has the key, NextKeyFile stays until the config
// has the new one.
type Keys struct {
	*seal.Keyring

	config *conf.Config
	store  tasks.Connections
	hide   func(forms ...string)

	changing sync.Mutex
}

// OpenKeys reads the sealing keys of a config, and completes a change of the key that was
// interrupted. It logs sign-ins that cannot be opened. hide gets all forms of each key
// that is in use, which must not appear in logs; it may be nil.
func OpenKeys(ctx context.Context, config *conf.Config, store tasks.Connections, log *slog.Logger, hide func(forms ...string)) (*Keys, error) {
	k := &Keys{config: config, store: store, hide: hide}
	found, err := readKeys(config)
	if err != nil {
		return nil, err
	}
	k.Keyring = seal.NewKeyring(k.first, found.list()...)
	for _, key := range found.list() {
		k.hidden(key)
	}
	if err := k.complete(ctx, found); err != nil {
		return nil, err
	}
	state, err := k.state(ctx)
	if err != nil {
		return nil, err
	}
	for _, advice := range state.Advice() {
		log.WarnContext(ctx, advice)
	}
	return k, nil
}

// foundKeys are the keys of a config; nil for none.
type foundKeys struct {
	current *seal.Key // of the config or of KeyFile
	next    *seal.Key // of NextKeyFile
}

// list is the keys in the order of a keyring: the next one seals.
func (f foundKeys) list() (keys []seal.Key) {
	for _, k := range []*seal.Key{f.next, f.current} {
		if k != nil && !slices.Contains(keys, *k) {
			keys = append(keys, *k)
		}
	}
	return keys
}

// pending reports that the key is being changed.
func (f foundKeys) pending() bool {
	return f.next != nil && (f.current == nil || *f.next != *f.current)
}

// readKeys reads the keys and changes nothing.
func readKeys(config *conf.Config) (f foundKeys, err error) {
	if config.SealingKey == "" {
		f.current, err = readKey(filepath.Join(config.DataDir, KeyFile))
	} else {
		var k seal.Key
		k, err = seal.ParseKey(config.SealingKey)
		f.current = &k
	}
	if err == nil {
		f.next, err = readKey(filepath.Join(config.DataDir, NextKeyFile))
	}
	return f, err
}

// readKey reads a file with a key; nil when there is none.
func readKey(path string) (*seal.Key, error) {
	k, err := seal.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &k, err
}

// first makes the first key.
func (k *Keys) first() (seal.Key, error) {
	path := k.path(KeyFile)
	key, err := readKey(path)
	if err == nil && key == nil {
		made := seal.NewKey()
		key, err = &made, seal.WriteFile(path, made)
	}
	if err != nil {
		return seal.Key{}, err
	}
	k.hidden(*key)
	return *key, nil
}

func (k *Keys) path(name string) string { return filepath.Join(k.config.DataDir, name) }

func (k *Keys) hidden(key seal.Key) {
	if k.hide != nil {
		k.hide(key.Forms()...)
	}
}

// complete does the rest of a change of the key.
func (k *Keys) complete(ctx context.Context, found foundKeys) error {
	switch {
	case found.pending():
		return k.change(ctx, *found.next)
	case found.next != nil && !k.configReads(NextKeyFile): // the config has the new key
		return os.Remove(k.path(NextKeyFile))
	}
	return nil
}

// configReads reports that the config reads its key from a file of the data directory.
func (k *Keys) configReads(name string) bool {
	a, err := os.Stat(k.config.SealingKeyFile())
	b, err2 := os.Stat(k.path(name))
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// change seals everything with a key that is in NextKeyFile. A secret that no key opens
// stays as it is.
func (k *Keys) change(ctx context.Context, to seal.Key) error {
	k.Use(to)
	err := k.store.Reseal(ctx, func(id tasks.ConnectionID, sealed []byte) ([]byte, error) {
		if plain, err := k.Open(sealed, id.About()); err == nil {
			return k.Seal(plain, id.About())
		}
		return sealed, nil
	})
	if err != nil {
		return err
	}
	failpoint.Hit("rekey.before.rename")
	if k.config.SealingKey == "" {
		err = fsutil.Replace(k.path(NextKeyFile), k.path(KeyFile))
	}
	failpoint.Hit("rekey.after.rename")
	return err
}

// Sealed says whether the stored sign-ins can be opened.
type Sealed struct {
	Connections int    `json:"connections"`
	Lost        int    `json:"lost,omitempty"`    // cannot be opened
	Pending     string `json:"pending,omitempty"` // the file with the new key, which the config does not have yet
	Place       string `json:"place,omitempty"`   // of the key in the config; empty: it is in a file
}

// Advice says what to do.
func (s Sealed) Advice() (list []string) {
	if s.Lost > 0 {
		list = append(list, fmt.Sprintf("%d of %d stored sign-ins at servers cannot be opened, because they were sealed with another key or are damaged: bring the old key back with \"legwork data rekey --old FILE\", or let these people sign in again (docs/data.md)", s.Lost, s.Connections))
	}
	if s.Pending != "" {
		list = append(list, fmt.Sprintf("the sealing key was changed, and %s still holds the one from before: put the key of %s there and start legwork again; it then deletes that file", s.Place, s.Pending))
	}
	return list
}

// sealedState says which sign-ins the keys open.
func sealedState(config *conf.Config, list []tasks.Connection, ring *seal.Keyring, pending bool) Sealed {
	s := Sealed{Connections: len(list), Place: config.SealingKeyPlace()}
	for _, c := range list {
		if _, err := ring.Open(c.Sealed, c.About()); err != nil {
			s.Lost++
		}
	}
	if pending && s.Place != "" {
		s.Pending = filepath.Join(config.DataDir, NextKeyFile)
	}
	return s
}

func (k *Keys) state(ctx context.Context) (Sealed, error) {
	found, err := readKeys(k.config)
	if err != nil {
		return Sealed{}, err
	}
	list, err := k.store.Connections(ctx)
	return sealedState(k.config, list, k.Keyring, found.pending()), err
}
