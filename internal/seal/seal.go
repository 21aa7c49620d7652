// Package seal encrypts secrets before they are stored: AES-256-GCM, by a key that is
// kept elsewhere.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// keyBytes is the length of a key.
const keyBytes = 32

// A sealed secret is: version, id of the key, nonce, encrypted secret, tag of GCM. The
// tag covers all of it, and what it is about.
const (
	version = 1
	idBytes = 4
	header  = 1 + idBytes
)

// Errors of opening.
var (
	ErrOtherKey = errors.New("sealed with another key")
	ErrDamaged  = errors.New("the sealed secret is damaged, or belongs to something else")
)

// Key seals secrets. The zero value is no key. It never shows itself when it is printed.
type Key struct{ secret [keyBytes]byte }

// NewKey makes a random key.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k.secret[:]) // it never returns an error
	return k
}

// ParseKey reads a key: 32 bytes in base64 or in hexadecimal digits. Its errors do not
// show the text.
func ParseKey(text string) (Key, error) {
	const advice = `; a key is 32 random bytes in base64 (44 characters) or 64 hexadecimal digits: "openssl rand -base64 32" makes one`
	text = strings.TrimSpace(text)
	if text == "" {
		return Key{}, errors.New("the sealing key is empty" + advice)
	}
	secret, err := hex.DecodeString(text)
	if err != nil || len(secret) != keyBytes {
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
		if secret, err = base64.RawStdEncoding.DecodeString(plain); err != nil {
			return Key{}, errors.New("the sealing key is neither base64 nor hexadecimal digits" + advice)
		}
	}
	if len(secret) != keyBytes {
		return Key{}, fmt.Errorf("the sealing key has %d bytes"+advice, len(secret))
	}
	return Key{[keyBytes]byte(secret)}, nil
}

// Text is the key in base64, for the file that keeps it.
func (k Key) Text() string { return base64.StdEncoding.EncodeToString(k.secret[:]) }

// Forms are the ways in which a text can show the key, for redaction.
func (k Key) Forms() []string { return []string{k.Text(), hex.EncodeToString(k.secret[:])} }

// ID tells keys apart. It does not reveal the key.
func (k Key) ID() string { return hex.EncodeToString(k.id()) }

func (k Key) id() []byte {
	sum := sha256.Sum256(append([]byte("legwork sealing key\x00"), k.secret[:]...))
	return sum[:idBytes]
}

// String shows the id.
func (k Key) String() string { return "key " + k.ID() }

// Format implements fmt.Formatter: no verb shows the key.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(k.String())) }

// LogValue implements slog.LogValuer.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Seal encrypts a secret. about says what it belongs to: Open needs the same.
func (k Key) Seal(plain, about []byte) []byte {
	head := append([]byte{version}, k.id()...)
	return k.gcm().Seal(head, nil, plain, append(head[:header:header], about...))
}

// Open decrypts a sealed secret. ErrOtherKey, ErrDamaged.
func (k Key) Open(sealed, about []byte) ([]byte, error) {
	id, err := keyOf(sealed)
	if err != nil {
		return nil, err
	}
	if id != k.ID() {
		return nil, fmt.Errorf("%w (%s, not %s)", ErrOtherKey, id, k.ID())
	}
	plain, err := k.gcm().Open(nil, nil, sealed[header:], append(sealed[:header:header], about...))
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// keyOf is the id of the key that sealed a secret.
func keyOf(sealed []byte) (string, error) {
	if len(sealed) < header || sealed[0] != version {
		return "", ErrDamaged
	}
	return hex.EncodeToString(sealed[1:header]), nil
}

// gcm puts a random nonce before what it encrypts. A key may seal 2^32 secrets.
func (k Key) gcm() cipher.AEAD {
	block, err := aes.NewCipher(k.secret[:])
	if err != nil {
		panic(err) // the length of the key is right
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	return aead
}
