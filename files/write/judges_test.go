package write_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansitalic"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xdraw "golang.org/x/image/draw"
	"golang.org/x/text/unicode/norm"

	"legwork/internal/test/need"
)

const install = "run internal/test/setup"

// convert converts files with LibreOffice, which has Liberation for Arial, and returns
// the folder with what it made.
func convert(t *testing.T, to string, paths ...string) string {
	t.Helper()
	program := need.Command(t, "soffice", install)
	dir := t.TempDir()
	fonts := filepath.Join(dir, "data", "fonts")
	if err := os.MkdirAll(fonts, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"regular": liberationsansregular.TTF, "bold": liberationsansbold.TTF, "italic": liberationsansitalic.TTF, "mono": liberationmonoregular.TTF,
	} {
		if err := os.WriteFile(filepath.Join(fonts, name+".ttf"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"-env:UserInstallation=file://" + dir + "/profile", "--headless", "--convert-to", to, "--outdir", filepath.Join(dir, "out")}, paths...)
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir+"/data", "XDG_CACHE_HOME="+dir+"/cache")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("LibreOffice: %v\n%s", err, out)
	}
	return filepath.Join(dir, "out")
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), need.Command(t, name, install), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func save(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(text), "\uFEFF")
}

// TestReadersOfDOCX: the text that LibreOffice finds is the text that went in, in order.
func TestReadersOfDOCX(t *testing.T) {
	need.Check(t)
	data := document(t, "docx", report(t), options(t))
	path := save(t, "report.docx", data)
	got := words(load(t, filepath.Join(convert(t, "txt:Text (encoded):UTF8", path), "report.txt")))
	body, _, _ := strings.Cut(docxText(parts(t, data)["word/document.xml"]), "<w:sectPr")
	got = strings.NewReplacer("• ", "", "– ", "", "▪ ", "").Replace(got)
	got = regexp.MustCompile(`\b[123]\. `).ReplaceAllString(got, "") // numbers of lists
	for line := range strings.Lines(body) {
		line, _, _ = strings.Cut(words(line), "you sent.") // the number of the footnote follows
		if !strings.Contains(got, line) {
			t.Errorf("the text lacks %q:\n%s", line, got)
		}
	}
}

// TestReadersOfPDF: the pages, title and text that poppler finds are those that went in. Text from right to
// left is compared word by word, as its lines are in the order of drawing.
func TestReadersOfPDF(t *testing.T) {
	need.Check(t)
	path := save(t, "report.pdf", document(t, "pdf", report(t), options(t)))
	info := run(t, "pdfinfo", path)
	for _, want := range []string{"Heat pumps for a terraced house", "Pages:           2", "(A4)", "Sun Nov 22"} {
		if !strings.Contains(info, want) {
			t.Errorf("pdfinfo lacks %q:\n%s", want, info)
		}
	}
	got := words(norm.NFKC.String(run(t, "pdftotext", "-enc", "UTF-8", path, "-")))
	for _, want := range []string{
		"This report compares three offers for replacing the gas boiler. It looks at cost, guesses noise and the grant",
		"Installation and smart-control 2.1; removal costs extra", "24,900 €", "Wärme & Söhne", "Тепло и Дом", "2. or by mail to office@example.org",
		"Η αντλία θερμότητας είναι αθόρυβη. Русский: тепловой насос работает тихо. Polski: zażółć gęślą jaźń.",
		"热泵的运行成本取决于电价、室外温度和房屋的保温情况", "ヒートポンプは静かです。", "return price - grant + years * kwh * cents / 100", "List<String> and a < b & c",
		"המשאבה", "התקנה", "المضخة", "الحرارية", "هادئة", "السنة", "1 / 2", "2 / 2",
	} {
		if want = norm.NFKC.String(want); !strings.Contains(got, want) && !strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("the text lacks %q:\n%s", want, got)
		}
	}
}

// TestNothingIsCutOff: long tables and lines of code end within the page.
func TestNothingIsCutOff(t *testing.T) {
	need.Check(t)
	var text strings.Builder
	text.WriteString("|Number|A text that is long enough to be broken|Word|\n|-:|-|-|\n")
	for i := range 150 {
		text.WriteString("|" + strings.Repeat("9", i%30+1) + "|" + strings.Repeat("some words ", i%40+1) + "|" + strings.Repeat("long", i%12+1) + "|\n")
	}
	text.WriteString("|1|" + strings.Repeat("taller than a page ", 900) + "|x|\n\n```\n" + strings.Repeat("code", 200) + "END\n```\n\n" + strings.Repeat("word", 300) + "END\n")
	path := save(t, "long.pdf", document(t, "pdf", text.String(), options(t)))
	got := run(t, "pdftotext", "-enc", "UTF-8", path, "-")
	if n := strings.Count(got, "Number"); n < 5 {
		t.Errorf("the header of the table stands on %d pages, want it on each", n)
	}
	if all := strings.Join(strings.Fields(got), ""); strings.Count(all, "END") != 2 || strings.Count(strings.ReplaceAll(all, "\f", ""), "tallerthanapage") < 890 {
		t.Error("text is missing")
	}
	out := filepath.Join(t.TempDir(), "page")
	run(t, "pdftoppm", "-r", "40", "-png", path, out)
	pages, err := filepath.Glob(out + "*.png")
	if err != nil || len(pages) < 5 {
		t.Fatalf("got %d pages and %v, want more", len(pages), err)
	}
	for _, page := range pages {
		img := decode(t, page)
		for y := range img.Bounds().Dy() {
			for _, x := range []int{3, 15, img.Bounds().Dx() - 15, img.Bounds().Dx() - 3} { // the margins
				if r, _, _, _ := img.At(x, y).RGBA(); r < 0xF000 {
					t.Fatalf("%s: something stands in the margin at %d, %d", filepath.Base(page), x, y)
				}
			}
		}
	}
}

func decode(t *testing.T, path string) image.Image {
	t.Helper()
	img, err := png.Decode(strings.NewReader(load(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestReadersOfXLSX: LibreOffice computes what the formulas say, and text is text.
func TestReadersOfXLSX(t *testing.T) {
	need.Check(t)
	path := save(t, "offers.xlsx", spreadsheet(t, "xlsx", offers))
	dir := convert(t, "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1", path)
	for name, want := range map[string]string{
		"offers-Offers 2026 27.csv": "Supplier,Signed,Price,Grant,Net price,Power (kW),Installed,Remarks\n" +
			"North Heating,2026-03-14,\"24,900.00 €\",30%,\"17,430.00 €\",8.5,TRUE,\"=HYPERLINK(\"\"http://evil.example\"\")\"\n" +
			"Wärme & Söhne,2026-02-28,\"27,350.50 €\",35%,\"17,777.83 €\",9.0,TRUE,\"Removal of the boiler costs extra; they come twice in the first year, and the price of the foundation is not known yet\"\n" +
			"Тепло и Дом,2026-04-01,\"22,100.00 €\",25%,\"16,575.00 €\",8.0,FALSE,-5\n" +
			"Total,,\"74,350.50 €\",,\"51,782.83 €\",,,+49 170 1234567\n",
		"offers-offers 2026 27 (2).csv": "Year,Cost\n2026,\"1,200.0\"\n2027,\"1,310.5\"\n2028,\"12,500.0\"\n",
		"offers-Sheet3.csv":             "no header,@a\n",
	} {
		if got := load(t, filepath.Join(dir, name)); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestChartsInManyScripts draws labels with fonts of the system.
func TestChartsInManyScripts(t *testing.T) {
	need.Check(t)
	img, err := png.Decode(bytes.NewReader(drawn(t, "png", names, options(t))))
	if err != nil {
		t.Fatal(err)
	}
	dark := 0
	for y := range 90 { // the title
		for x := range img.Bounds().Dx() {
			if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
				dark++
			}
		}
	}
	if dark < 2000 {
		t.Errorf("the title has %d dark points, want the characters of three scripts", dark)
	}
}

// TestPicturesOfDocs makes the pictures of docs/files.md with -update. Without, it
// says which are missing or too large.
func TestPicturesOfDocs(t *testing.T) {
	dir := filepath.Join(need.Root(t), "docs", "files")
	all := []string{"docx.png", "pdf.png", "xlsx.png"}
	for name := range charts() {
		all = append(all, "chart-"+name+".png")
	}
	if *update {
		docx := save(t, "docx.docx", document(t, "docx", report(t), options(t)))
		xlsx := save(t, "xlsx.xlsx", spreadsheet(t, "xlsx", sales))
		made := convert(t, "pdf", docx, xlsx)
		pages := map[string]string{
			"docx.png": filepath.Join(made, "docx.pdf"), "xlsx.png": filepath.Join(made, "xlsx.pdf"),
			"pdf.png": save(t, "report.pdf", document(t, "pdf", report(t), options(t))),
		}
		for name, path := range pages {
			out := filepath.Join(t.TempDir(), "page")
			run(t, "pdftoppm", "-r", "150", "-f", "1", "-l", "1", "-singlefile", "-png", path, out)
			shrink(t, decode(t, out+".png"), 560, filepath.Join(dir, name))
		}
		for name, text := range charts() {
			img, err := png.Decode(bytes.NewReader(drawn(t, "png", text, options(t))))
			if err != nil {
				t.Fatal(err)
			}
			shrink(t, img, 780, filepath.Join(dir, "chart-"+name+".png"))
		}
	}
	for _, name := range all {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 100_000 {
			t.Errorf("%s is missing or has more than 100 kB: run go test ./files/write -run TestPicturesOfDocs -update", name)
		}
	}
}

// sales is the sheet of the picture in the docs.
const sales = `{"sheets": [{"name": "Sales", "columns": [{"title": "Month", "type": "date", "format": "mmm yyyy"}, {"title": "North", "type": "currency", "format": "EUR"}, {"title": "South", "type": "currency", "format": "EUR"}, {"title": "Growth", "type": "percent"}, {"title": "Audited", "type": "boolean"}],
	"rows": [["2026-01-01", 12400, 9800, 0.021, true], ["2026-02-01", 13150, 9420, 0.013, true], ["2026-03-01", 15020, 11300, 0.166, true], ["2026-04-01", 14480, 12750, 0.035, false], ["2026-05-01", 16900, 13100, 0.101, false],
		["Total", {"formula": "SUM(B2:B6)"}, {"formula": "SUM(C2:C6)"}, {"formula": "AVERAGE(D2:D6)"}]],
	"charts": [{"kind": "bar", "title": "Sales by month", "unit": "EUR", "series": [{"name": "North"}, {"name": "South"}]}]}]}`

// shrink writes a picture with a width and 64 levels of each colour, which keeps it
// small, and a frame.
func shrink(t *testing.T, from image.Image, width int, path string) {
	t.Helper()
	to := image.NewRGBA(image.Rect(0, 0, width, from.Bounds().Dy()*width/from.Bounds().Dx()))
	xdraw.CatmullRom.Scale(to, to.Rect, from, from.Bounds(), draw.Src, nil)
	for i := range to.Pix {
		if i%4 != 3 && to.Pix[i] != 0xFF {
			to.Pix[i] &^= 3
		}
	}
	for x := range to.Rect.Dx() {
		to.Set(x, 0, color.Gray{0xC0})
		to.Set(x, to.Rect.Dy()-1, color.Gray{0xC0})
	}
	for y := range to.Rect.Dy() {
		to.Set(0, y, color.Gray{0xC0})
		to.Set(to.Rect.Dx()-1, y, color.Gray{0xC0})
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
