package llmfake

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"math/bits"
)

// PNG returns a white picture of that size.
func PNG(width, height int) []byte {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = 0xff
	}
	var out bytes.Buffer
	_ = png.Encode(&out, picture) // a buffer takes everything
	return out.Bytes()
}

// WAV returns so many seconds of silence: 8,000 samples of 16 bits per second.
func WAV(seconds int) []byte {
	const rate = 8000
	size := uint32(2 * rate * seconds)
	out := []byte("RIFF")
	out = binary.LittleEndian.AppendUint32(out, 36+size)
	out = append(out, "WAVEfmt "...)
	out = binary.LittleEndian.AppendUint32(out, 16)
	for _, n := range []uint16{1, 1} { // PCM, mono
		out = binary.LittleEndian.AppendUint16(out, n)
	}
	out = binary.LittleEndian.AppendUint32(out, rate)
	out = binary.LittleEndian.AppendUint32(out, 2*rate)
	out = binary.LittleEndian.AppendUint16(out, 2)
	out = binary.LittleEndian.AppendUint16(out, 16)
	out = binary.LittleEndian.AppendUint32(append(out, "data"...), size)
	return append(out, make([]byte, size)...)
}

// MP3 returns about so many seconds of silence: frames of MPEG-1 layer III at 128
// kbit/s and 44.1 kHz, without side information.
func MP3(seconds int) []byte {
	frame := append([]byte{0xff, 0xfb, 0x90, 0x64}, make([]byte, 413)...)
	return bytes.Repeat(frame, 38*seconds+1)
}

// OGG returns so many seconds of silence as Opus in Ogg (RFC 7845).
func OGG(seconds int) []byte {
	head := append([]byte("OpusHead"), 1, 1, 0, 0) // version, channels, samples to skip
	head = binary.LittleEndian.AppendUint32(head, 48000)
	head = append(head, 0, 0, 0) // gain, channel mapping
	tags := append([]byte("OpusTags"), 7, 0, 0, 0)
	tags = append(append(tags, "legwork"...), 0, 0, 0, 0)
	const frames = 50 // of 20 ms in a second
	out := oggPage(2, 0, 0, [][]byte{head})
	out = append(out, oggPage(0, 0, 1, [][]byte{tags})...)
	second := make([][]byte, frames)
	for i := range second {
		second[i] = []byte{0xf8, 0xff, 0xfe} // CELT, 20 ms, silent
	}
	for i := range max(seconds, 1) {
		kind := byte(0)
		if i == max(seconds, 1)-1 {
			kind = 4 // the last page
		}
		out = append(out, oggPage(kind, uint64(48000*(i+1)), uint32(2+i), second)...)
	}
	return out
}

// oggPage is a page of short packets (RFC 3533, section 6).
func oggPage(kind byte, position uint64, number uint32, packets [][]byte) []byte {
	page := append([]byte("OggS"), 0, kind)
	page = binary.LittleEndian.AppendUint64(page, position)
	page = binary.LittleEndian.AppendUint32(page, 1) // serial number
	page = binary.LittleEndian.AppendUint32(page, number)
	page = append(page, 0, 0, 0, 0, byte(len(packets)))
	for _, p := range packets {
		page = append(page, byte(len(p)))
	}
	for _, p := range packets {
		page = append(page, p...)
	}
	var sum uint32
	for _, b := range page {
		sum ^= uint32(b) << 24
		for range 8 {
			_, carry := bits.Add32(sum, sum, 0)
			sum = sum<<1 ^ carry*0x04c11db7
		}
	}
	binary.LittleEndian.PutUint32(page[22:], sum)
	return page
}
