package pdf

import (
	"bytes"
	"compress/flate"
	stdlzw "compress/lzw"
	"compress/zlib"
	"encoding/ascii85"
	"io"

	"golang.org/x/image/tiff/lzw"
)

// unpack returns the contents of a stream without those filters that make pictures.
func (f *File) unpack(s *stream) []byte {
	data, _, _ := f.filtered(s)
	return data
}

// filtered also returns the filter that makes a picture, if there is one, with its
// parameters.
func (f *File) filtered(s *stream) ([]byte, name, dict) {
	data := s.raw
	if s.key != nil {
		data = decipher(data, s.key, s.aes)
	}
	filters, params := f.list(s.dict, "Filter", "F"), f.list(s.dict, "DecodeParms", "DP")
	for i, o := range filters {
		filter, _ := f.resolve(o).(name)
		var p dict
		if i < len(params) {
			p, _ = f.dict(params[i])
		}
		switch filter {
		case "FlateDecode", "Fl":
			data = f.predict(f.inflate(data), p)
		case "LZWDecode", "LZW":
			var r io.ReadCloser
			if early, ok := f.resolve(p["EarlyChange"]).(float64); ok && early == 0 {
				r = stdlzw.NewReader(bytes.NewReader(data), stdlzw.MSB, 8)
			} else {
				r = lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)
			}
			data = f.predict(f.all(r), p)
		case "ASCII85Decode", "A85":
			data = f.all(ascii85.NewDecoder(bytes.NewReader(plain85(data))))
		case "ASCIIHexDecode", "AHx":
			data = []byte((&lexer{data: data}).hex())
		case "RunLengthDecode", "RL":
			data = f.runs(data)
		case "Crypt":
		default:
			return data, filter, p
		}
	}
	return data, "", nil
}

// list returns an entry that is one object or an array of them, by its name or its short
// one.
func (f *File) list(d dict, long, short name) array {
	o := d[long]
	if o == nil {
		o = d[short]
	}
	switch o := f.resolve(o).(type) {
	case nil:
		return nil
	case array:
		return o
	default:
		return array{o}
	}
}

// all reads what can be read, up to the bytes that are left.
func (f *File) all(r io.Reader) []byte {
	var b bytes.Buffer
	n, _ := io.Copy(&b, io.LimitReader(r, f.left+1)) // the rest of damaged data is lost
	f.take(n)
	return b.Bytes()
}

func (f *File) take(n int64) {
	if f.left -= n; f.left < 0 {
		panic(ErrUnpacked)
	}
}

// inflate also reads data without the head of zlib.
func (f *File) inflate(data []byte) []byte {
	if z, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n"))); err == nil {
		return f.all(z)
	}
	if len(data) > 2 {
		return f.all(flate.NewReader(bytes.NewReader(data[2:])))
	}
	return nil
}

// plain85 removes spaces and the marks around the data.
func plain85(data []byte) []byte {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
	if i := bytes.IndexByte(data, '~'); i >= 0 {
		data = data[:i]
	}
	out := make([]byte, 0, len(data))
	for _, c := range data {
		if !isSpace(c) {
			out = append(out, c)
		}
	}
	return out
}

func (f *File) runs(data []byte) []byte {
	var out []byte
	for len(data) > 1 && data[0] != 128 {
		n := int(data[0])
		if n < 128 {
			n = min(n+1, len(data)-1)
			out = append(out, data[1:1+n]...)
			data = data[1+n:]
		} else {
			n = 257 - n
			out = append(out, bytes.Repeat(data[1:2], n)...)
			data = data[2:]
		}
		f.take(int64(n))
	}
	return out
}

// predict undoes the predictor of TIFF or PNG.
func (f *File) predict(data []byte, p dict) []byte {
	predictor := toInt(f.resolve(p["Predictor"]))
	if predictor < 2 {
		return data
	}
	get := func(k name, standard int) int {
		if n := toInt(f.resolve(p[k])); n > 0 && n < 1<<20 {
			return n
		}
		return standard
	}
	colors, bits, columns := get("Colors", 1), get("BitsPerComponent", 8), get("Columns", 1)
	if colors > 64 || bits > 32 {
		return data
	}
	wide, line := max(colors*bits/8, 1), (colors*bits*columns+7)/8
	if predictor == 2 {
		for at := 0; bits == 8 && at+line <= len(data); at += line {
			for i := wide; i < line; i++ {
				data[at+i] += data[at+i-wide]
			}
		}
		return data
	}
	var out []byte
	before := make([]byte, line)
	for len(data) > 1 {
		kind := data[0]
		row := data[1:min(len(data), line+1)]
		data = data[1+len(row):]
		for i := range row {
			var left, corner byte
			if i >= wide {
				left, corner = row[i-wide], before[i-wide]
			}
			switch up := before[i]; kind {
			case 1:
				row[i] += left
			case 2:
				row[i] += up
			case 3:
				row[i] += byte((int(left) + int(up)) / 2)
			case 4:
				row[i] += paeth(left, up, corner)
			}
		}
		out = append(out, row...)
		copy(before, row)
	}
	return out
}

func paeth(a, b, c byte) byte {
	distance := func(x int) int { return max(x, -x) }
	p := int(a) + int(b) - int(c)
	pa, pb, pc := distance(p-int(a)), distance(p-int(b)), distance(p-int(c))
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}
