package client

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"legwork/llm"
)

const maxImages = 10 // of one result

// image keeps a picture when it is one that models can see and small enough,
// and returns a note about it.
func (r *reader) image(what, mime, data string) string {
	note := func(bytes int, why string) string {
		return fmt.Sprintf("[%s: %s, %d bytes%s]", what, orUnknown(mime), bytes, why)
	}
	if r.wasCut(data) {
		return note(r.decoded(data), ", too large to be shown")
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return note(r.decoded(data), ", not shown: it cannot be read")
	}
	kind := http.DetectContentType(b)
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return note(len(b), ", not shown")
	case len(b) > r.pictures || len(r.images) == maxImages:
		return note(len(b), ", too large to be shown")
	}
	r.pictures -= len(b)
	r.images = append(r.images, llm.Image{Type: kind, Data: b})
	return note(len(b), "")
}

// audio is a note about a sound.
func (r *reader) audio(mime, data string) string {
	length := ""
	if b, err := base64.StdEncoding.DecodeString(data[:min(len(data), 4<<10)&^3]); err == nil {
		if s, ok := seconds(b); ok {
			length = fmt.Sprintf(", %.1f seconds", s)
		}
	}
	return fmt.Sprintf("[audio: %s%s, %d bytes, not shown]", orUnknown(mime), length, r.decoded(data))
}

// seconds reads how long a sound is from the beginning of a WAV file (RIFF).
func seconds(b []byte) (float64, bool) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return 0, false
	}
	rate := uint32(0) // bytes a second
	for p := 12; p+8 <= len(b); {
		name, size := string(b[p:p+4]), binary.LittleEndian.Uint32(b[p+4:])
		switch {
		case name == "fmt " && p+20 <= len(b):
			rate = binary.LittleEndian.Uint32(b[p+16:])
		case name == "data" && rate > 0:
			return float64(size) / float64(rate), true
		}
		if size > uint32(len(b)) {
			return 0, false
		}
		p += 8 + int(size) + int(size&1)
	}
	return 0, false
}

// wasCut tells whether the end of a string was left out on the way.
func (r *reader) wasCut(data string) bool {
	return r.dropped > 0 && r.maxString > 0 && len(data) >= r.maxString
}

// decoded is the size of Base64 data, with what was left out of it.
func (r *reader) decoded(data string) int {
	n := len(strings.TrimRight(data, "="))
	if r.wasCut(data) {
		n += r.dropped
	}
	return n * 3 / 4
}

func orUnknown(mime string) string {
	if mime == "" {
		return "unknown type"
	}
	return mime
}
