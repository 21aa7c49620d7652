package parse

import (
	"bytes"
	"errors"
	"io"
	"net/mail"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"legwork/internal/charset"
)

// headSize is how much of a file tells its type.
const headSize = 4 << 10

// The types that are told apart beyond what the head of a file shows.
const (
	typeZIP   = "application/zip"
	typeDOCX  = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeXLSX  = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	typePPTX  = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	typeODT   = "application/vnd.oasis.opendocument.text"
	typeODS   = "application/vnd.oasis.opendocument.spreadsheet"
	typeODP   = "application/vnd.oasis.opendocument.presentation"
	typeEPUB  = "application/epub+zip"
	typePDF   = "application/pdf"
	typeOLE   = "application/x-ole-storage"
	typeRTF   = "text/rtf"
	typeText  = "text/plain"
	typeHTML  = "text/html"
	typeMail  = "message/rfc822"
	typeCSV   = "text/csv"
	typeTSV   = "text/tab-separated-values"
	typeOther = "application/octet-stream"
)

// format is how a type is called and read.
type format struct {
	kind  string
	parse func(Source, *sink) error
}

// formats are the types that can be read. Other kinds of plain text are read as text.
func formats(name string) (format, bool) {
	f, ok := map[string]format{
		typePDF:                 {"PDF", parsePDF},
		typeDOCX:                {"Word document", parseDOCX},
		typeXLSX:                {"Excel workbook", parseXLSX},
		typePPTX:                {"PowerPoint presentation", parsePPTX},
		typeODT:                 {"OpenDocument text", parseODF},
		typeODS:                 {"OpenDocument spreadsheet", parseODS},
		typeODP:                 {"OpenDocument presentation", parseODF},
		typeEPUB:                {"EPUB book", parseEPUB},
		typeZIP:                 {"ZIP archive", parseZIP},
		typeHTML:                {"HTML page", parseHTML},
		"application/xhtml+xml": {"HTML page", parseHTML},
		typeMail:                {"e-mail", parseMail},
		typeCSV:                 {"CSV table", parseCSV},
		typeTSV:                 {"TSV table", parseCSV},
		"application/json":      {"JSON", parseText},
		"text/markdown":         {"Markdown", parseText},
		typeText:                {"text", parseText},
		"image/png":             {"picture", parsePicture},
		"image/apng":            {"picture", parsePicture},
		"image/jpeg":            {"picture", parsePicture},
		"image/gif":             {"picture", parsePicture},
		"image/webp":            {"picture", parsePicture},
		"image/bmp":             {"picture", parsePicture},
		"image/tiff":            {"picture", parsePicture},
	}[name]
	return f, ok
}

// endings are the kinds of plain text that only a name tells apart. Those of source code
// are in the list of languages.
var endings = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".json": "application/json", ".eml": typeMail,
	".csv": typeCSV, ".tsv": typeTSV, ".tab": typeTSV, ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".txt": typeText, ".text": typeText, ".log": typeText, ".ini": typeText, ".conf": typeText, ".diff": "text/x-diff", ".patch": "text/x-diff",
	".go": "text/x-go", ".py": "text/x-python", ".js": "text/javascript", ".ts": "text/x-typescript", ".tsx": "text/x-typescript", ".jsx": "text/javascript",
	".c": "text/x-c", ".h": "text/x-c", ".cc": "text/x-c++", ".cpp": "text/x-c++", ".hpp": "text/x-c++", ".cs": "text/x-csharp", ".java": "text/x-java",
	".kt": "text/x-kotlin", ".rs": "text/x-rust", ".rb": "text/x-ruby", ".php": "text/x-php", ".pl": "text/x-perl", ".lua": "text/x-lua", ".swift": "text/x-swift",
	".sh": "text/x-shellscript", ".bash": "text/x-shellscript", ".ps1": "text/x-powershell", ".sql": "text/x-sql", ".r": "text/x-r", ".scala": "text/x-scala",
	".css": "text/css", ".vue": "text/x-vue", ".tex": "text/x-tex", ".dockerfile": "text/x-dockerfile", ".tf": "text/x-terraform", ".proto": "text/x-protobuf",
}

// TypeOf returns the MIME type of a file from its first bytes, 4 KiB at best. Its name
// only decides between kinds of plain text. The type of a file that is empty, or that no
// rule knows, is application/octet-stream.
func TypeOf(head []byte, name string) string {
	if len(head) == 0 {
		return typeOther
	}
	m := mimetype.Detect(head)
	found, _, _ := strings.Cut(m.String(), ";")
	text := false
	for up := m; up != nil; up = up.Parent() {
		text = text || up.Is(typeText)
	}
	if found == typeOther && plausibleText(head) {
		found, text = typeText, true
	}
	if !text {
		return found
	}
	ending, named := endings[strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))]
	switch {
	case found == typeRTF || found == "image/svg+xml" || strings.HasPrefix(found, "image/"):
	case found == typeHTML && (!named || ending == typeCSV || ending == typeTSV || ending == "application/json"):
	case named:
		return ending
	case found == typeMail || isMail(head):
		return typeMail
	case found == typeCSV || found == typeTSV:
		return typeText // prose with commas looks like it
	}
	return found
}

// plausibleText recognizes texts in UTF-16 without a byte order mark, and in charsets
// with rare control characters.
func plausibleText(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	e, _ := charset.Of(head)
	text, err := e.NewDecoder().Bytes(head)
	if err != nil {
		return false
	}
	odd := 0
	for _, r := range string(text) {
		if r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) || r == '\ufffd' {
			odd++
		}
	}
	return odd*100 <= len(text)
}

// isMail reports whether a text begins with the head of a mail.
func isMail(head []byte) bool {
	m, err := mail.ReadMessage(bytes.NewReader(head))
	return err == nil && m.Header.Get("From") != "" && m.Header.Get("Date") != ""
}

// find returns the type of a file, how it is called and how it is read.
func find(src Source) (name, kind string, parse func(Source, *sink) error, err error) {
	head := make([]byte, min(headSize, src.Size))
	if _, err := src.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", "", nil, err
	}
	name = TypeOf(head, src.Name)
	if isZIP(head) {
		if name, err = typeOfZIP(src); err != nil {
			return name, "", nil, err
		}
	}
	switch f, ok := formats(name); {
	case ok:
		return name, f.kind, f.parse, nil
	case strings.HasPrefix(name, "image/hei"):
		return name, "picture", nil, ErrHEIC
	case isOLE(head):
		return name, "", nil, oleError(src, name)
	case name == typeRTF:
		return name, "", nil, KindError{name}
	case strings.HasPrefix(name, "text/x-"), strings.HasPrefix(name, "text/javascript"), name == "text/css":
		return name, "source code", parseText, nil
	case strings.HasPrefix(name, "text/"), strings.HasSuffix(name, "+xml"), strings.HasSuffix(name, "+json"), isTextType(name):
		return name, "text", parseText, nil
	}
	return name, "", nil, KindError{name}
}

// isTextType tells the types of plain text that are not named so.
func isTextType(name string) bool {
	switch name {
	case "application/yaml", "application/toml", "application/x-ndjson", "application/x-subrip", "application/xml":
		return true
	}
	return false
}

func isOLE(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
}

// oleError tells an encrypted Office file from the Office files of before 2007. In the
// former the directory names a stream, in UTF-16
// (https://learn.microsoft.com/openspecs/office_file_formats/ms-offcrypto).
func oleError(src Source, name string) error {
	var wide []byte
	for _, c := range []byte("EncryptedPackage") {
		wide = append(wide, c, 0)
	}
	all, err := io.ReadAll(src.reader())
	if err == nil && bytes.Contains(all, wide) {
		return ErrEncrypted
	}
	return KindError{name}
}
