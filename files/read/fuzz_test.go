package read_test

import (
	"bytes"
	"testing"

	"legwork/files/read/parse"
)

// fuzz reads files that begin as good ones in this process. They give parts up to the
// limits, or a reason; a crash or an endless loop fails.
func fuzz(f *testing.F, name string, wrap func(t testing.TB, data []byte) []byte, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if wrap != nil {
			data = wrap(t, data)
		}
		size := 0
		l := parse.Limits{Bytes: 1 << 20, Unpacked: 4 << 20, Text: 1 << 16, Pixels: 1 << 20}
		_, err := parse.File(parse.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data)), Name: name}, l, func(p parse.Part) error {
			size += len(p.Text)
			return nil
		})
		if size > 1<<16 {
			t.Errorf("%d bytes of text, want at most %d; %v", size, 1<<16, err)
		}
	})
}

// seedsOf are the good files of some names.
func seedsOf(f *testing.F, names ...string) (all [][]byte) {
	for _, s := range samples(f) {
		for _, name := range names {
			if s.file == name {
				all = append(all, s.data)
			}
		}
	}
	return all
}

func FuzzArchive(f *testing.F) {
	fuzz(f, "a.zip", nil, seedsOf(f, "a.docx", "a.xlsx", "a.pptx", "a.odt", "a.ods", "a.odp", "a.epub", "a.zip")...)
}

func FuzzDOCX(f *testing.F) {
	fuzz(f, "a", func(t testing.TB, data []byte) []byte { return docxOf(t, string(data)) }, []byte(`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`))
}

func FuzzXLSX(f *testing.F) {
	fuzz(f, "a", func(t testing.TB, data []byte) []byte { return xlsxOf(t, string(data)) }, []byte(`<row r="1"><c r="A1" t="s"><v>0</v></c><c s="1"><f>A1</f></c></row>`))
}

func FuzzODT(f *testing.F) {
	fuzz(f, "a", func(t testing.TB, data []byte) []byte { return odfOf(t, "text", string(data)) }, []byte(`<text:p>a<text:s text:c="2"/></text:p><table:table/>`))
}

func FuzzODS(f *testing.F) {
	fuzz(f, "a", func(t testing.TB, data []byte) []byte { return odfOf(t, "spreadsheet", string(data)) }, []byte(`<table:table><table:table-row table:number-rows-repeated="9"><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table>`))
}

func FuzzMail(f *testing.F) { fuzz(f, "a.eml", nil, seedsOf(f, "a.eml")...) }

func FuzzText(f *testing.F) { fuzz(f, "a.txt", nil, seedsOf(f, "a.txt", "a.json")...) }

func FuzzCSV(f *testing.F) { fuzz(f, "a.csv", nil, seedsOf(f, "a.csv", "a.tsv")...) }

func FuzzPicture(f *testing.F) {
	fuzz(f, "a", nil, turned(f, photo(4, 2), 6), movingWebP(f), encoded(f, "tiff", photo(4, 2)), encoded(f, "gif", photo(4, 2)))
}
