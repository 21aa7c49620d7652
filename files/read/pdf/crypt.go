package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the format wants it
	"crypto/rc4" //nolint:gosec // the format wants it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// crypt decrypts files that open without a password (ISO 32000-2, 7.6): they are
// encrypted only to carry wishes, such as not to be printed.
type crypt struct {
	key                      []byte
	v                        int
	streamMethod, textMethod name // V2, AESV2, AESV3 or Identity
	metadata                 bool
}

const passwordPadding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

// decrypt prepares the decryption of a file that is encrypted.
func (f *File) decrypt() error {
	e, ok := f.dict(f.trailer["Encrypt"])
	if !ok || f.crypt != nil {
		return nil
	}
	text := func(k name) string { s, _ := f.resolve(e[k]).(string); return s }
	v, r := toInt(f.resolve(e["V"])), toInt(f.resolve(e["R"]))
	c := &crypt{v: v, streamMethod: "V2", textMethod: "V2", metadata: f.resolve(e["EncryptMetadata"]) != false}
	if f.resolve(e["Filter"]) != name("Standard") {
		return ErrEncrypted
	}
	if v >= 4 {
		filters, _ := f.dict(e["CF"])
		method := func(k name) name {
			filter, _ := f.resolve(e[k]).(name)
			d, _ := f.dict(filters[filter])
			m, _ := f.resolve(d["CFM"]).(name)
			if filter == "Identity" || m == "" {
				return "Identity"
			}
			return m
		}
		c.streamMethod, c.textMethod = method("StmF"), method("StrF")
	}
	if v >= 5 {
		c.key = keyOf256(text("U"), text("UE"), r)
	} else {
		size := 5
		if n := toInt(f.resolve(e["Length"])); v > 1 && n >= 40 && n <= 128 {
			size = n / 8
		} else if v == 4 {
			size = 16
		}
		id := ""
		if ids := f.array(f.trailer["ID"]); len(ids) > 0 {
			id, _ = f.resolve(ids[0]).(string)
		}
		c.key = keyOf128(text("O"), text("U"), id, uint32(int64(f.number(e["P"]))), r, size, c.metadata) //nolint:gosec // 32 flags
	}
	if c.key == nil {
		return ErrEncrypted
	}
	f.crypt = c
	// Objects that were read so far were not decrypted.
	f.objects, f.streams = map[int]any{}, map[int]*objectStream{}
	if r, ok := f.trailer["Encrypt"].(ref); ok {
		f.objects[r.number] = e
	}
	return nil
}

// keyOf128 is algorithm 2 with an empty password; nil when the file wants one
// (algorithms 4 and 5).
func keyOf128(o, u, id string, permissions uint32, r, size int, metadata bool) []byte {
	if len(o) < 32 || len(u) < 16 {
		return nil
	}
	h := md5.New() //nolint:gosec // the format wants it
	h.Write([]byte(passwordPadding + o[:32]))
	h.Write(binary.LittleEndian.AppendUint32(nil, permissions))
	h.Write([]byte(id))
	if r >= 4 && !metadata {
		h.Write([]byte("\xff\xff\xff\xff"))
	}
	key := h.Sum(nil)
	if r >= 3 {
		for range 50 {
			sum := md5.Sum(key[:size]) //nolint:gosec // the format wants it
			key = sum[:]
		}
	}
	key = key[:size]
	check, want := []byte(passwordPadding), u
	if r >= 3 {
		sum := md5.Sum([]byte(passwordPadding + id)) //nolint:gosec // the format wants it
		check, want = sum[:], u[:16]
		for i := range 20 {
			turned := make([]byte, len(key))
			for j := range key {
				turned[j] = key[j] ^ byte(i)
			}
			rc4Bytes(turned, check)
		}
	} else {
		rc4Bytes(key, check)
	}
	if !bytes.HasPrefix([]byte(want), check) {
		return nil
	}
	return key
}

func rc4Bytes(key, data []byte) {
	if c, err := rc4.NewCipher(key); err == nil { //nolint:gosec // the format wants it
		c.XORKeyStream(data, data)
	}
}

// keyOf256 is algorithm 2.A with an empty password; nil when the file wants one.
func keyOf256(u, ue string, r int) []byte {
	if len(u) < 48 || len(ue) < 32 {
		return nil
	}
	hash := func(salt string) []byte {
		if r >= 6 {
			return hash2B(salt)
		}
		sum := sha256.Sum256([]byte(salt))
		return sum[:]
	}
	if !bytes.Equal(hash(u[32:40]), []byte(u[:32])) {
		return nil
	}
	block, err := aes.NewCipher(hash(u[40:48]))
	if err != nil {
		return nil
	}
	key := []byte(ue[:32])
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(key, key)
	return key
}

// hash2B is algorithm 2.B with an empty password.
func hash2B(salt string) []byte {
	first := sha256.Sum256([]byte(salt))
	k := first[:]
	for i := 0; ; i++ {
		text := bytes.Repeat(k, 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(text, text)
		sum := 0
		for _, c := range text[:16] {
			sum += int(c)
		}
		switch sum % 3 {
		case 0:
			h := sha256.Sum256(text)
			k = h[:]
		case 1:
			h := sha512.Sum384(text)
			k = h[:]
		default:
			h := sha512.Sum512(text)
			k = h[:]
		}
		if i >= 63 && int(text[len(text)-1]) <= i-31 {
			return k[:32]
		}
	}
}

// keyOf is the key of an object.
func (c *crypt) keyOf(r ref, method name) []byte {
	if c.v >= 5 {
		return c.key
	}
	h := md5.New() //nolint:gosec // the format wants it
	h.Write(c.key)
	h.Write([]byte{byte(r.number), byte(r.number >> 8), byte(r.number >> 16), byte(r.generation), byte(r.generation >> 8)})
	if method == "AESV2" {
		h.Write([]byte("sAlT"))
	}
	return h.Sum(nil)[:min(len(c.key)+5, 16)]
}

// unlock sets the key of a stream.
func (c *crypt) unlock(s *stream, r ref) {
	if c.streamMethod != "Identity" && (s.dict["Type"] != name("Metadata") || c.metadata) {
		s.key, s.aes = c.keyOf(r, c.streamMethod), c.streamMethod != "V2"
	}
	s.dict, _ = c.strings(s.dict, r).(dict)
}

// strings decrypts the strings in an object.
func (c *crypt) strings(o any, r ref) any {
	if c.textMethod == "Identity" {
		return o
	}
	switch o := o.(type) {
	case string:
		return string(decipher([]byte(o), c.keyOf(r, c.textMethod), c.textMethod != "V2"))
	case array:
		for i := range o {
			o[i] = c.strings(o[i], r)
		}
	case dict:
		for k := range o {
			o[k] = c.strings(o[k], r)
		}
	}
	return o
}

func decipher(data, key []byte, withAES bool) []byte {
	if !withAES {
		out := bytes.Clone(data)
		rc4Bytes(key, out)
		return out
	}
	if len(data) < 32 {
		return nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	out := bytes.Clone(data[16 : len(data)-len(data)%16])
	cipher.NewCBCDecrypter(block, data[:16]).CryptBlocks(out, out)
	if pad := int(out[len(out)-1]); pad >= 1 && pad <= 16 {
		out = out[:len(out)-pad]
	}
	return out
}
