package read_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"legwork/files/read"
	"legwork/internal/test/need"
)

// TestBadFiles: each bad file has its own error, and the reader stays as it was.
func TestBadFiles(t *testing.T) {
	pages := twoPages()
	wide := func(s string) string {
		var b strings.Builder
		for _, c := range s {
			b.WriteString(string(c) + "\x00")
		}
		return b.String()
	}
	doctype := `<!DOCTYPE x [<!ENTITY a "` + strings.Repeat("a", 1000) + `"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>`
	bomb := func(xml string) []byte {
		return archiveOf(t, "[Content_Types].xml", contentTypes, "word/document.xml", xml)
	}
	for _, test := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, read.ErrEmpty},
		{"a PDF cut off", pages[:200], read.ErrDamaged},
		{"only the mark of a PDF", []byte("%PDF-1.7"), read.ErrDamaged},
		{"a document cut off", docxOf(t, "<w:p/>")[:300], read.ErrDamaged},
		{"a picture cut off", encoded(t, "png", photo(40, 20))[:60], read.ErrDamaged},
		{"a corrupt picture", append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF"), make([]byte, 500)...), read.ErrDamaged},
		{"an encrypted PDF", []byte(strings.Replace(string(pages), "/Root 1 0 R", "/Encrypt << /Filter /Standard /V 1 /R 2 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") /P 0 >> /ID [(x) (y)] /Root 1 0 R", 1)), read.ErrEncrypted},
		{"an encrypted Office file", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 1000) + wide("EncryptedPackage") + strings.Repeat("\x00", 1000)), read.ErrEncrypted},
		{"an encrypted OpenDocument file", archiveOf(t, "mimetype", "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml", "<m:encryption-data/>", "content.xml", "?"), read.ErrEncrypted},
		{"100,000 pages", blankPages(100_000, ""), read.ErrPages},
		{"a bomb in a sheet", zeroSheet(t, 10<<20), read.ErrUnpacked},
		{"a long text in a document", docxOf(t, "<w:p><w:r><w:t>"+strings.Repeat("a", 10<<20)), read.ErrUnpacked},
		{"a bomb in a PDF", pdfOf("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Contents 4 0 R >>", streamOf("/Filter [/FlateDecode /FlateDecode]", deflate([]byte(deflateZeros(64<<20))))), read.ErrUnpacked},
		{"a billion laughs", bomb(doctype + "<w:document><w:p><w:t>&b;</w:t></w:p></w:document>"), read.ErrUnpacked},
		{"quadratic entities", bomb(`<!DOCTYPE x [<!ENTITY a "` + strings.Repeat("a", 100_000) + `">]><w:document><w:t>` + strings.Repeat("&a;", 10_000) + "</w:t></w:document>"), read.ErrUnpacked},
		{"an external entity", bomb(`<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:document><w:p><w:t>&a;</w:t></w:p></w:document>`), read.ErrUnpacked},
		{"deep XML", docxOf(t, strings.Repeat("<a>", 1<<20)), read.ErrDamaged},
		{"a huge picture", hugePNG(100_000, 100_000, 6, deflateZeros(8<<20)), read.ErrPixels},
		{"a huge GIF", []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), read.ErrPixels},
		{"HEIC", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + strings.Repeat("\x00", 100)), read.ErrHEIC},
		{"a program", []byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 100)), read.ErrKind},
		{"an old Word document", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 1000)), read.ErrKind},
		{"an RTF document", []byte(`{\rtf1\ansi text}`), read.ErrKind},
		{"noise", []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x80\xff"), read.ErrKind},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := parts(t, write(t, test.data), "file", read.Limits{Unpacked: 8 << 20, Time: time.Minute, Memory: testMemory})
			if !errors.Is(err, test.want) || got != "" {
				t.Errorf("got %v and %.100q, want %v", err, got, test.want)
			}
			var kind read.KindError
			if errors.Is(test.want, read.ErrKind) && (!errors.As(err, &kind) || kind.Type == "") {
				t.Errorf("%v does not name the kind", err)
			}
		})
	}
}

// TestLargeFiles: a file that is too large is not read at all, and of a long one only as
// much as is wanted.
func TestLargeFiles(t *testing.T) {
	sparse := write(t, nil)
	if err := os.Truncate(sparse, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, _, err := parts(t, sparse, "a.txt", read.Limits{}); !errors.Is(err, read.ErrLarge) {
		t.Errorf("a sparse file of 1 GiB: %v", err)
	}
	var rows strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&rows, `<row><c><v>%d</v></c></row>`, i+1)
	}
	got, d, err := parts(t, write(t, xlsxOf(t, rows.String())), "a.xlsx", read.Limits{Text: 100_000, Time: time.Minute, Memory: testMemory})
	if err != nil || !d.Cut || !strings.Contains(got, "| 1000 | 1000 |") {
		t.Errorf("a sheet of a million rows: cut %v, %v, %d bytes", d.Cut, err, len(got))
	}
	got, d, err = parts(t, write(t, blankPages(3000, "BT /F1 9 Tf (word) Tj ET")), "a.pdf", read.Limits{Time: time.Minute, Memory: testMemory})
	if err != nil || !d.Cut || d.Total != 3000 || !strings.HasSuffix(got, "[page 2000] word") {
		t.Errorf("3,000 pages: cut %v of %d, %v, it ends %q", d.Cut, d.Total, err, got[max(0, len(got)-30):])
	}
}

// TestBounds: the process that reads ends when it takes too much time or memory.
func TestBounds(t *testing.T) {
	if _, _, err := parts(t, write(t, twoPages()), "a.pdf", read.Limits{Time: time.Nanosecond}); !errors.Is(err, read.ErrTime) {
		t.Errorf("without time: %v", err)
	}
	if runtime.GOOS != "linux" || underRace {
		t.Skip("memory is bounded on Linux only, and the race detector takes some of it")
	}
	large := hugePNG(6000, 6000, 6, deflateZeros(6000*(6000*4+1)))
	if _, _, err := parts(t, write(t, large), "a.png", read.Limits{Memory: 100 << 20, Time: time.Minute}); !errors.Is(err, read.ErrMemory) {
		t.Errorf("without memory: %v", err)
	}
}

// TestConfined: the process that reads can open nothing, write nothing and connect to
// nothing. What it tries is possible without its limits.
func TestConfined(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("rights are given up on Linux only")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	out, err := exec.CommandContext(t.Context(), os.Args[0], "try", dir, server.Addr().String()).CombinedOutput()
	if string(out) != "tried\n" || err != nil {
		t.Errorf("the process: %v\n%s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// TestNames: a name has no power.
func TestNames(t *testing.T) {
	for _, name := range []string{"\x00\x1b[2J.csv", "../../../etc/passwd", strings.Repeat("n", 4000), "\u202egpj.exe", "-rf", ""} {
		if got, _, err := parts(t, write(t, []byte("text\n")), name, read.Limits{}); err != nil || !strings.Contains(got, "text") {
			t.Errorf("under the name %.30q: %q, %v", name, got, err)
		}
	}
	got, _, err := parts(t, write(t, xlsxOf(t, `<row><c><v>1</v></c></row>`, "xl/workbook.xml", "")), "a", read.Limits{})
	if err != nil || strings.Contains(got, "\x1b") {
		t.Errorf("a member that is there twice: %q, %v", got, err)
	}
}

// TestPolyglot: a file that is a PDF and an archive is what its head says.
func TestPolyglot(t *testing.T) {
	both := append(twoPages(), archiveOf(t, "word/document.xml", "<w:t>other</w:t>")...)
	if got, d, err := parts(t, write(t, both), "a.docx", read.Limits{}); d.Type != "application/pdf" || err != nil || !strings.Contains(got, "Winter") {
		t.Errorf("a PDF with an archive behind it is %s: %.50q, %v", d.Type, got, err)
	}
	both = append(archiveOf(t, "a.txt", "x"), twoPages()...)
	if _, d, err := parts(t, write(t, both), "a.pdf", read.Limits{}); d.Type != "application/zip" {
		t.Errorf("an archive with a PDF behind it is %s, %v", d.Type, err)
	}
}

func TestPictures(t *testing.T) {
	moving := &gif.GIF{Config: image.Config{Width: 4, Height: 2}}
	for range 2 {
		moving.Image = append(moving.Image, image.NewPaletted(image.Rect(0, 0, 4, 2), color.Palette{color.White, color.Black}))
		moving.Delay = append(moving.Delay, 1)
	}
	var gifs bytes.Buffer
	if err := gif.EncodeAll(&gifs, moving); err != nil {
		t.Fatal(err)
	}
	transparent := image.NewNRGBA(image.Rect(0, 0, 4, 2))
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"PNG", encoded(t, "png", photo(40, 20)), "image/jpeg 40 20"},
		{"transparent PNG", encoded(t, "png", transparent), "image/png 4 2"},
		{"GIF", encoded(t, "gif", photo(40, 20)), "image/jpeg 40 20"},
		{"moving GIF", gifs.Bytes(), "image/jpeg 4 2"},
		{"BMP", encoded(t, "bmp", photo(40, 20)), "image/jpeg 40 20"},
		{"TIFF", encoded(t, "tiff", photo(40, 20)), "image/jpeg 40 20"},
		{"WebP", stillWebP(t), "image/jpeg 75 100"},
		{"moving WebP", movingWebP(t), "image/jpeg 75 100"},
		{"large", encoded(t, "jpeg", photo(3136, 200)), "image/jpeg 1568 100"},
		{"thin", encoded(t, "png", photo(6000, 1)), "image/jpeg 1568 1"},
		{"turned", turned(t, photo(40, 20), 6), "image/jpeg 20 40"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := read.ReadPicture(t.Context(), write(t, test.data), read.Limits{})
			if got := fmt.Sprint(p.Type, " ", p.Width, " ", p.Height); got != test.want || err != nil {
				t.Fatalf("got %s, %v; want %s", got, err, test.want)
			}
			decode := map[string]func([]byte) (image.Image, error){
				"image/jpeg": func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) },
				"image/png":  func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) },
			}[p.Type]
			m, err := decode(p.Data)
			if err != nil || m.Bounds().Dx() != p.Width || m.Bounds().Dy() != p.Height || bytes.Contains(p.Data, []byte("GPS")) || bytes.Contains(p.Data, []byte("Exif")) {
				t.Errorf("the picture is %v, %v, or has metadata", m.Bounds(), err)
			}
		})
	}
	if _, err := read.ReadPicture(t.Context(), write(t, []byte("text")), read.Limits{}); !errors.Is(err, read.ErrKind) {
		t.Errorf("a text as a picture: %v", err)
	}
}

// TestUpright: the corner that is red stays where a person saw it.
func TestUpright(t *testing.T) {
	for orientation, want := range map[byte]string{1: "left top", 2: "right top", 3: "right bottom", 4: "left bottom", 5: "left top", 6: "right top", 7: "right bottom", 8: "left bottom"} {
		p, err := read.ReadPicture(t.Context(), write(t, turned(t, photo(64, 32), orientation)), read.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := jpeg.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for x, side := range map[int]string{4: "left", p.Width - 5: "right"} {
			for y, end := range map[int]string{4: "top", p.Height - 5: "bottom"} {
				if r, g, _, _ := m.At(x, y).RGBA(); r > 0xc000 && g < 0x4000 {
					got += side + " " + end
				}
			}
		}
		if got != want {
			t.Errorf("orientation %d: red is %q, want %q", orientation, got, want)
		}
	}
}

// TestHostileFiles: files that were changed at random give text or a reason. No process
// that reads takes more memory than it may, and none leaves or connects to anything.
func TestHostileFiles(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan bool, 1)
	go func() {
		c, err := server.Accept()
		if err == nil {
			c.Close()
		}
		connected <- err == nil
	}()
	dir := t.TempDir()
	t.Run("files", func(t *testing.T) {
		random := rand.New(rand.NewPCG(17, 2026)) //nolint:gosec // a test that repeats itself
		good := samples(t)
		good[6].data = append(good[6].data, fmt.Sprintf("<img src='http://%s/x'><iframe src='http://%[1]s/y'></iframe>", server.Addr())...)
		for n := range need.Times(40, 200) {
			s := good[n%len(good)]
			data := mutated(random, s.data)
			path := filepath.Join(dir, fmt.Sprint(n))
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprint(n, " ", s.file), func(t *testing.T) {
				t.Parallel()
				_, _, err := parts(t, path, s.file, read.Limits{Time: time.Minute})
				var reason read.Error
				var kind read.KindError
				if err != nil && !errors.As(err, &reason) && !errors.As(err, &kind) || errors.Is(err, read.ErrTime) {
					t.Errorf("got %v, want a reason", err)
				}
			})
		}
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != need.Times(40, 200) {
		t.Errorf("there are %d files, %v", len(left), err)
	}
	server.Close()
	if <-connected {
		t.Error("a file made its reader connect")
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &usage); err != nil || runtime.GOOS == "linux" && usage.Maxrss > 512<<10 {
		t.Errorf("a process took %d KiB, %v; want at most 512 MiB", usage.Maxrss, err)
	}
}

// mutated changes bytes, repeats and removes ranges.
func mutated(random *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + random.IntN(8) {
		at := random.IntN(len(data))
		end := at + random.IntN(min(len(data)-at, 64)+1)
		switch random.IntN(5) {
		case 0:
			data[at] ^= byte(1 << random.IntN(8))
		case 1:
			data[at] = "09<>/()[]&\x00\xff"[random.IntN(12)]
		case 2:
			data = append(data[:at:at], data[end:]...)
		case 3:
			data = append(data[:end:end], data[at:]...)
		case 4:
			if at > len(data)/2 {
				data = data[:at]
			}
		}
		if len(data) == 0 {
			return []byte("x")
		}
	}
	return data
}
