package data_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"legwork/app/data"
	"legwork/conf"
	"legwork/internal/seal"
	"legwork/tasks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-refresh-token"

// vault is a data directory with sealed sign-ins.
type vault struct {
	*testing.T
	config *conf.Config
	log    bytes.Buffer
}

func newVault(t *testing.T, key string) *vault {
	config := conf.Default()
	config.DataDir, config.SealingKey = t.TempDir(), key
	return &vault{T: t, config: config}
}

func (v *vault) ok(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

func (v *vault) path(name string) string { return filepath.Join(v.config.DataDir, name) }

func (v *vault) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&v.log, nil)) }

// with opens the store and its keys as a start does.
func (v *vault) with(do func(s *data.Store, k *data.Keys)) {
	v.Helper()
	s, err := data.Open(v.Context(), v.config, "test", nil, v.logger())
	v.ok(err)
	k, err := data.OpenKeys(v.Context(), v.config, s, v.logger(), nil)
	if err == nil {
		do(s, k)
	}
	v.ok(errors.Join(err, s.Close()))
}

// fill stores three sign-ins.
func (v *vault) fill() {
	v.Helper()
	v.with(func(s *data.Store, k *data.Keys) {
		for _, person := range []string{"", "test:ann", "test:bob"} {
			id := tasks.ConnectionID{Server: "mail", Person: person}
			sealed, err := k.Seal([]byte(canary+person), id.About())
			v.ok(err)
			v.ok(s.PutConnection(v.Context(), tasks.Connection{ConnectionID: id, Kind: "oauth", By: "test:ann", Sealed: sealed}))
		}
	})
}

// opens expects that the sign-ins can be opened, and which key seals.
func (v *vault) opens(key seal.Key) {
	v.Helper()
	v.with(func(s *data.Store, k *data.Keys) {
		list, err := s.Connections(v.Context())
		v.ok(err)
		for _, c := range list {
			plain, err := k.Open(c.Sealed, c.About())
			if err != nil || string(plain) != canary+c.Person {
				v.Errorf("the sign-in of %q: %q, %v", c.Person, plain, err)
			}
			if _, err := key.Open(c.Sealed, c.About()); err != nil {
				v.Errorf("the sign-in of %q with the key that seals: %v", c.Person, err)
			}
			other := tasks.ConnectionID{Server: c.Server, Person: "test:eve"}
			if _, err := k.Open(c.Sealed, other.About()); !errors.Is(err, seal.ErrDamaged) {
				v.Errorf("a sign-in that was moved to another person: %v, want ErrDamaged", err)
			}
		}
		if len(list) != 3 || k.Keys()[0] != key {
			v.Errorf("%d sign-ins, the key %v seals; want 3, %v", len(list), k.Keys()[0], key)
		}
	})
}

func (v *vault) key(name string) seal.Key {
	v.Helper()
	k, err := seal.ReadFile(v.path(name))
	v.ok(err)
	return k
}

func (v *vault) gone(name string) {
	v.Helper()
	if _, err := os.Stat(v.path(name)); !errors.Is(err, fs.ErrNotExist) {
		v.Errorf("%s is there: %v", name, err)
	}
}

func (v *vault) rekey(in data.RekeyRequest) data.Rekeyed {
	v.Helper()
	out, err := data.Owner{Config: v.config, Log: v.logger()}.Rekey(v.Context(), in)
	v.ok(err)
	return out
}

func (v *vault) sealed() data.Sealed {
	v.Helper()
	out, err := data.Owner{Config: v.config, Log: v.logger()}.Sealed(v.Context())
	v.ok(err)
	return out
}

// TestKeyFile: the key is made with the first sign-in, and no secret is in the clear in
// any file or log.
func TestKeyFile(t *testing.T) {
	v := newVault(t, "")
	v.with(func(*data.Store, *data.Keys) {})
	v.gone(data.KeyFile)
	v.fill()
	key := v.key(data.KeyFile)
	v.opens(key)
	_, err := data.Copy(v.Context(), data.CopyRequest{From: v.config.DataDir, To: v.path("copy")}, v.logger())
	v.ok(err)
	v.ok(filepath.WalkDir(v.config.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) || filepath.Base(path) != data.KeyFile && bytes.Contains(text, []byte(key.Text())) {
			t.Errorf("%s holds a secret in the clear", path)
		}
		return err
	}))
	if strings.Contains(v.log.String(), canary) || strings.Contains(v.log.String(), key.Text()) {
		t.Errorf("the log shows a secret: %s", v.log.String())
	}
	if _, err := os.Stat(v.path("copy/" + data.KeyFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy has the key: %v", err)
	}
}

// TestRekey changes the key in its file.
func TestRekey(t *testing.T) {
	v := newVault(t, "")
	v.fill()
	old := v.key(data.KeyFile)
	out := v.rekey(data.RekeyRequest{})
	if key := v.key(data.KeyFile); key == old || out.Key != key.ID() || out.Connections != 3 || out.Lost != 0 || out.File != v.path(data.KeyFile) {
		t.Errorf("rekey: %+v; the file has %v, before %v", out, key, old)
	}
	v.gone(data.NextKeyFile)
	v.opens(v.key(data.KeyFile))
	to := v.path("mine.key")
	v.rekey(data.RekeyRequest{To: to})
	v.opens(v.key("mine.key"))
}

// TestRekeyInterrupted: a process that ends between the steps of a change leaves
// sign-ins that the next one opens, with the new key.
func TestRekeyInterrupted(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		t.Run(fmt.Sprintf("sealed %v", sealed), func(t *testing.T) {
			v := newVault(t, "")
			v.fill()
			old, next := v.key(data.KeyFile), seal.NewKey()
			if sealed {
				v.with(func(s *data.Store, _ *data.Keys) {
					v.ok(s.Reseal(v.Context(), func(id tasks.ConnectionID, sealed []byte) ([]byte, error) {
						plain, err := old.Open(sealed, id.About())
						return next.Seal(plain, id.About()), err
					}))
				})
			}
			v.ok(seal.WriteFile(v.path(data.NextKeyFile), next))
			if s := v.sealed(); s.Lost != 0 || s.Connections != 3 {
				t.Errorf("before the next start: %+v, want 3 that can be opened", s)
			}
			v.opens(next)
			v.gone(data.NextKeyFile)
			if v.key(data.KeyFile) != next {
				t.Error("the new key is not in its file")
			}
			v.opens(next)
		})
	}
}

// TestRekeyOfConfig: a key of the config stays in use beside the new one, until the
// config has that.
func TestRekeyOfConfig(t *testing.T) {
	v := newVault(t, seal.NewKey().Text())
	v.fill()
	v.gone(data.KeyFile)
	out := v.rekey(data.RekeyRequest{})
	next := v.key(data.NextKeyFile)
	if out.File != v.path(data.NextKeyFile) || out.Pending == "" || len(out.Advice()) != 1 || !strings.Contains(out.Advice()[0], "sealing_key still holds the one from before") {
		t.Errorf("rekey: %+v, %q", out, out.Advice())
	}
	for range 2 {
		v.opens(next)
	}
	if !strings.Contains(v.log.String(), "still holds the one from before") {
		t.Errorf("the log of a start: %s, want a warning", v.log.String())
	}
	v.config.SealingKey = next.Text()
	v.opens(next)
	v.gone(data.NextKeyFile)
	if s := v.sealed(); s.Lost != 0 || s.Pending != "" || len(s.Advice()) != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

// TestLostKey: sign-ins without their key are told, stay, and come back with the key.
func TestLostKey(t *testing.T) {
	v := newVault(t, "")
	v.fill()
	v.ok(os.Rename(v.path(data.KeyFile), v.path("old.key")))
	old := v.key("old.key")
	if s := v.sealed(); s.Lost != 3 || len(s.Advice()) != 1 || !strings.Contains(s.Advice()[0], "3 of 3 stored sign-ins") || !strings.Contains(s.Advice()[0], "data rekey --old FILE") {
		t.Errorf("check: %+v, %q", s, s.Advice())
	}
	v.with(func(s *data.Store, k *data.Keys) {
		c, err := s.Connection(v.Context(), tasks.ConnectionID{Server: "mail"})
		v.ok(err)
		if _, err := k.Open(c.Sealed, c.About()); !errors.Is(err, seal.ErrOtherKey) {
			t.Errorf("Open: %v, want ErrOtherKey", err)
		}
		_, err = k.Seal([]byte("x"), nil) // makes another key
		v.ok(err)
	})
	if !strings.Contains(v.log.String(), "3 of 3 stored sign-ins") {
		t.Errorf("the log of a start: %s, want the loss", v.log.String())
	}
	if out := v.rekey(data.RekeyRequest{}); out.Lost != 3 {
		t.Errorf("rekey without the old key: %+v, want 3 lost", out)
	}
	fresh := v.key(data.KeyFile)
	if out := v.rekey(data.RekeyRequest{Old: v.path("old.key")}); out.Lost != 0 || out.Key != fresh.ID() {
		t.Errorf("rekey with the old key %v: %+v, want none lost and the key %v", old, out, fresh)
	}
	v.opens(fresh)
}

// TestOpenKeyFile: a key that others can read is refused, at the start and by check.
func TestOpenKeyFile(t *testing.T) {
	v := newVault(t, "")
	v.fill()
	v.ok(os.Chmod(v.path(data.KeyFile), 0o644))
	_, err := data.Owner{Config: v.config, Log: v.logger()}.Sealed(v.Context())
	if err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("check: %v, want a refusal", err)
	}
	s, err := data.Open(v.Context(), v.config, "test", nil, v.logger())
	v.ok(err)
	if _, err := data.OpenKeys(v.Context(), v.config, s, v.logger(), nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("start: %v, want a refusal", err)
	}
	v.ok(s.Close())
}
