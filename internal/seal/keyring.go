package seal

import (
	"slices"
	"sync"
)

// Keyring seals with one key and opens with several, such as those before and after a
// change of the key. It is safe for concurrent use.
type Keyring struct {
	mu   sync.RWMutex
	keys []Key               // the first one seals
	add  func() (Key, error) // makes the first one
}

// NewKeyring makes a keyring. Its first key seals. Without any, add makes the key when it
// is needed for the first time.
func NewKeyring(add func() (Key, error), keys ...Key) *Keyring {
	return &Keyring{keys: keys, add: add}
}

// Use makes a key the one that seals. The others still open.
func (r *Keyring) Use(k Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(r.keys), func(other Key) bool { return other == k })
	r.keys = append([]Key{k}, others...)
}

// Also adds a key that only opens.
func (r *Keyring) Also(k Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.keys, k) {
		r.keys = append(slices.Clone(r.keys), k)
	}
}

// Seal encrypts a secret, see Key.Seal. The error is that of making the first key.
func (r *Keyring) Seal(plain, about []byte) ([]byte, error) {
	r.mu.RLock()
	keys := r.keys
	r.mu.RUnlock()
	if len(keys) == 0 {
		var err error
		if keys, err = r.first(); err != nil {
			return nil, err
		}
	}
	return keys[0].Seal(plain, about), nil
}

// first makes the first key, unless another call has.
func (r *Keyring) first() ([]Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		k, err := r.add()
		if err != nil {
			return nil, err
		}
		r.keys = []Key{k}
	}
	return r.keys, nil
}

// Open decrypts a sealed secret with the key that sealed it. ErrOtherKey, ErrDamaged.
func (r *Keyring) Open(sealed, about []byte) ([]byte, error) {
	id, err := keyOf(sealed)
	if err != nil {
		return nil, err
	}
	for _, k := range r.Keys() {
		if k.ID() == id {
			return k.Open(sealed, about)
		}
	}
	return nil, ErrOtherKey
}

// Keys lists the keys; the first one seals.
func (r *Keyring) Keys() []Key {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.keys)
}
