package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"legwork/internal/seal"
)

func TestSeal(t *testing.T) {
	k, plain, about := seal.NewKey(), []byte("refresh-token-canary"), []byte("server person")
	sealed := k.Seal(plain, about)
	if got, err := k.Open(sealed, about); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("Open: %q, %v, want %q", got, err, plain)
	}
	if bytes.Contains(sealed, plain) || bytes.Equal(sealed, k.Seal(plain, about)) {
		t.Error("the sealed secret shows it, or is the same twice")
	}
	for _, other := range [][]byte{nil, []byte("server other"), []byte("server perso")} {
		if _, err := k.Open(sealed, other); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("Open about %q: %v, want ErrDamaged", other, err)
		}
	}
	if _, err := seal.NewKey().Open(sealed, about); !errors.Is(err, seal.ErrOtherKey) {
		t.Errorf("Open with another key: %v, want ErrOtherKey", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		want := seal.ErrDamaged
		if i > 0 && i < 5 {
			want = seal.ErrOtherKey
		}
		if _, err := k.Open(bad, about); !errors.Is(err, want) {
			t.Errorf("Open with byte %d changed: %v, want %v", i, err, want)
		}
		if _, err := k.Open(sealed[:i], about); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("Open of %d bytes: %v, want ErrDamaged", i, err)
		}
	}
}

// FuzzOpen: no stored bytes end the process, and none are opened but those that were sealed.
func FuzzOpen(f *testing.F) {
	k := seal.NewKey()
	f.Add([]byte{}, []byte{})
	f.Add(k.Seal([]byte("x"), nil), []byte("a"))
	f.Fuzz(func(t *testing.T, sealed, about []byte) {
		if plain, err := k.Open(sealed, append([]byte("about "), about...)); err == nil {
			t.Errorf("%q was opened: %q", sealed, plain)
		}
	})
}

func TestParseKey(t *testing.T) {
	k := seal.NewKey()
	raw, err := base64.StdEncoding.DecodeString(k.Text())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		k.Text(), " " + k.Text() + "\n", strings.TrimRight(k.Text(), "="), base64.URLEncoding.EncodeToString(raw),
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
	} {
		if got, err := seal.ParseKey(text); err != nil || got != k {
			t.Errorf("ParseKey: %v, %v; want %v", got, err, k)
		}
	}
	for text, want := range map[string]string{
		"":                               "is empty",
		"not a key!":                     "neither base64 nor hexadecimal digits",
		k.Text()[:40]:                    "has 30 bytes",
		hex.EncodeToString(raw[:31]):     "has 46 bytes", // it is base64, too
		strings.Repeat("canary-key", 10): "has 75 bytes",
	} {
		_, err := seal.ParseKey(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "openssl rand -base64 32") || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("ParseKey(%q): %v, want an error with %q that says what to do", text, err, want)
		}
	}
}

// TestNeverPrinted: no way to print a key shows it.
func TestNeverPrinted(t *testing.T) {
	k := seal.NewKey()
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb+"\n", k, &k, struct{ K seal.Key }{k})
	}
	body, err := json.Marshal(struct{ K seal.Key }{k})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(body)
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "key", k, "keys", []seal.Key{k})
	}
	raw, _ := base64.StdEncoding.DecodeString(k.Text())
	decimal := fmt.Sprintf("%v", raw[:5])
	for _, form := range append(k.Forms(), strings.Trim(decimal, "[]")) {
		if strings.Contains(out.String(), form) {
			t.Errorf("a printed key shows %q:\n%s", form, out.String())
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sealing.key")
	if _, err := seal.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile of none: %v, want ErrNotExist", err)
	}
	k := seal.NewKey()
	if err := seal.WriteFile(path, k); err != nil {
		t.Fatal(err)
	}
	if got, err := seal.ReadFile(path); err != nil || got != k {
		t.Errorf("ReadFile: %v, %v; want %v", got, err, k)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v; want 0600", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.ReadFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("ReadFile with mode %o: %v, want a refusal that says what to do", mode, err)
		}
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o600), os.Chown(path, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.ReadFile(path); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
			t.Errorf("ReadFile of another user's file: %v, want a refusal", err)
		}
	}
}

func TestKeyring(t *testing.T) {
	made := 0
	r := seal.NewKeyring(func() (seal.Key, error) { made++; return seal.NewKey(), nil })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			sealed, err := r.Seal([]byte("x"), nil)
			if err != nil {
				t.Error(err)
			}
			if _, err := r.Open(sealed, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made != 1 {
		t.Errorf("%d keys were made, want 1", made)
	}
	old, _ := r.Seal([]byte("x"), nil)
	next := seal.NewKey()
	r.Use(next)
	fresh, _ := r.Seal([]byte("x"), nil)
	if _, err := next.Open(fresh, nil); err != nil {
		t.Errorf("the next key does not seal: %v", err)
	}
	if _, err := r.Open(old, nil); err != nil {
		t.Errorf("the earlier key does not open: %v", err)
	}
	if _, err := seal.NewKeyring(nil, next).Open(old, nil); !errors.Is(err, seal.ErrOtherKey) {
		t.Errorf("Open without the key: %v, want ErrOtherKey", err)
	}
	full := seal.NewKeyring(func() (seal.Key, error) { return seal.Key{}, fs.ErrPermission })
	if _, err := full.Seal(nil, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Seal without a key: %v, want ErrPermission", err)
	}
}
