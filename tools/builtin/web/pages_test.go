package web_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"legwork/tools/builtin/web"
)

// Pages that look like those of the web, and what is shown of them: NAME.html,
// NAME.md, and NAME.page.md of the whole page.
func TestPages(t *testing.T) {
	files, err := filepath.Glob("testdata/*.html")
	if err != nil || len(files) < 5 {
		t.Fatalf("got %d pages, %v; want 5 or more", len(files), err)
	}
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.ServeFile(w, r, filepath.Join("testdata", filepath.Base(r.URL.Path)))
	})
	fetch := fetcher(t, loopback())
	for _, file := range files {
		for format, end := range map[string]string{"article": ".md", "page": ".page.md"} {
			got, failed := fetch(s.URL+"/news/"+filepath.Base(file), "format", format)
			got = strings.ReplaceAll(got, s.URL, "http://HOST") + "\n"
			golden := strings.TrimSuffix(file, ".html") + end
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if failed || err != nil || got != string(want) {
				t.Errorf("%s as %s: failed %v, %v; got\n%s\nwant\n%s", file, format, failed, err, got, want)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		contentType, body, want string
		failed                  bool
	}{
		{"text/plain", "one\r\ntwo <b>", "Type: text/plain\n\none\ntwo <b>", false},
		{"text/markdown; charset=utf-8", "# Hi", "Type: text/markdown\n\n# Hi", false},
		{"application/json", `{"a": "<p>"}`, `{"a": "<p>"}`, false},
		{"application/problem+json", `{"a": 1}`, `{"a": 1}`, false},
		{"application/atom+xml", `<feed>x</feed>`, `<feed>x</feed>`, false},
		{"text/csv", "a,b", "a,b", false},
		{"", "<!doctype html><title>T</title><p>sniffed", "Title: T\n", false},
		{"application/octet-stream", "just text", "just text", false},
		{"application/octet-stream", "\x00\x01\x02\x03", "of type application/octet-stream", true},
		{"application/pdf", "<html><title>Log in</title><p>first", "Title: Log in", false},
		{"image/png", "\x89PNG", "is a file of type image/png of 4 bytes, which has no text to read", true},
		{"image/svg+xml", "<svg>", "<svg>", false},
		{"video/mp4", "", "is a file of type video/mp4", true},
		{"application/zip", "PK", "is a file of type application/zip of 2 bytes", true},
		{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "PK", "which has no text to read", true},
		{"TEXT/HTML; charset=UTF-8; x=", "<p>upper", "upper", false},
		{"text/html", "", "is empty", true},
		{"text/html", "<script>document.write('x')</script>", "has no text (text/html, 36 bytes); it may be shown by a script only; use another source", true},
		{"text/html", `<meta http-equiv=refresh content="0; url=/next"><p>`, "leads on to http://HOST/next", true},
	} {
		s := serve(t, c.contentType, c.body)
		if c.contentType == "" {
			s = site(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				_, _ = w.Write([]byte(c.body))
			})
		}
		got, failed := fetcher(t, loopback())(s.URL)
		if got = strings.ReplaceAll(got, s.URL, "http://HOST"); failed != c.failed || !strings.Contains(got, c.want) {
			t.Errorf("fetch of %q as %q: failed %v, got %q, want %q", c.body, c.contentType, failed, got, c.want)
		}
	}
}

func TestHead(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "b?x=1#frag", http.StatusMovedPermanently)
		case "/b":
			http.Redirect(w, r, "//"+r.Host+"/c", http.StatusTemporaryRedirect)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>A\nAddress: http://evil.example\n</title><p>Text with <a href=d>a link</a>, <a href='javascript:x()'>a script</a>, <a href='mailto:a@b.c'>mail</a>. <img src=/i.png alt=Pic><img src='data:x' alt=Inline><img src=t.gif>")
		}
	})
	got, failed := fetcher(t, loopback())(s.URL + "/a#top")
	want := strings.ReplaceAll(`Title: A Address: http://evil.example
Address: HOST/c
Redirected from: HOST/a to HOST/b?x=1
Type: text/html
Note: this is the whole page with its menus, as no main text was found

Text with [a link](HOST/d), a script, [mail](mailto:a@b.c). ![Pic](HOST/i.png)Inline`, "HOST", s.URL)
	if failed || got != want {
		t.Errorf("fetch: failed %v, got\n%s\nwant\n%s", failed, got, want)
	}
}

func TestBase(t *testing.T) {
	s := serve(t, "text/html", `<base href="https://example.org/x/"><p><a href="y">y</a> <a href="?q">q</a>`)
	if got, _ := fetcher(t, loopback())(s.URL); !strings.Contains(got, "[y](https://example.org/x/y) [q](https://example.org/x/?q)") {
		t.Errorf("fetch of a page with a base: got %q", got)
	}
}

func TestParts(t *testing.T) {
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "line %d, ä€😀\n", i)
	}
	s := serve(t, "text/plain; charset=utf-8", text.String())
	fetch := fetcher(t, loopback())
	got, offset := "", 0
	for range 100 {
		part, failed := fetch(s.URL, "offset", offset, "max_chars", 5000)
		if failed {
			t.Fatalf("fetch at %d: %s", offset, part)
		}
		head, body, _ := strings.Cut(part, "\n\n")
		got += body
		_, where, more := strings.Cut(head, "fetch with offset ")
		if !more {
			break
		}
		if _, err := fmt.Sscan(where, &offset); err != nil {
			t.Fatalf("reading %q: %v", where, err)
		}
		if !strings.HasSuffix(body, "\n") {
			t.Errorf("the part before %d ends with %q, want the end of a line", offset, body[len(body)-10:])
		}
	}
	if got != text.String() {
		t.Errorf("all parts together have %d bytes, want %d", len(got), text.Len())
	}
	if text, failed := fetch(s.URL, "offset", 1_000_000); !failed || !strings.Contains(text, "give an offset below that") {
		t.Errorf("fetch behind the end: got %q, failed %v", text, failed)
	}
}

func TestCharsets(t *testing.T) {
	const russian, chinese, japaneseText = "Съешь же ещё этих мягких французских булок, да выпей чаю. ", "我能吞下玻璃而不伤身体。今天的天气很好，我们去公园散步。", "いろはにほへと散りぬるを。今日は良い天気ですね。"
	const letter = "Здравствуйте! Мы получили ваше письмо и сообщаем, что поезд отправляется завтра утром, а билеты можно купить на вокзале. "
	for _, c := range []struct {
		name, contentType string
		enc               encoding.Encoding
		before, text      string
	}{
		{"header", "text/html; charset=windows-1251", charmap.Windows1251, "", russian},
		{"meta", "text/html", charmap.Windows1251, "<meta charset=windows-1251>", russian},
		{"http-equiv", "text/html", charmap.KOI8R, `<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">`, russian},
		{"nothing said, windows-1251", "text/html", charmap.Windows1251, "", letter},
		{"nothing said, koi8-r", "text/html", charmap.KOI8R, "", letter},
		{"nothing said, gb18030", "text/html", simplifiedchinese.GB18030, "", chinese},
		{"gb2312 in the header", "text/html; charset=gb2312", simplifiedchinese.GBK, "", chinese},
		{"big5", "text/html; charset=big5", traditionalchinese.Big5, "", "我能吞下玻璃而不傷身體。"},
		{"shift_jis", "text/html; charset=Shift_JIS", japanese.ShiftJIS, "", japaneseText},
		{"nothing said, euc-jp", "text/html", japanese.EUCJP, "", japaneseText},
		{"nothing said, shift_jis", "text/html", japanese.ShiftJIS, "", japaneseText},
		{"nothing said, big5", "text/html", traditionalchinese.Big5, "", "我能吞下玻璃而不傷身體。今天天氣很好"},
		{"nothing said, euc-kr", "text/html", korean.EUCKR, "", "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요"},
		{"nothing said, French", "text/html", charmap.Windows1252, "", "Dès Noël où un zéphyr haï me vêt de glaçons, je dîne d’exquis rôtis de bœuf."},
		{"nothing said, Polish", "text/html", charmap.Windows1250, "", "Pchnąć w tę łódź jeża lub ośm skrzyń fig."},
		{"nothing said, Turkish", "text/html", charmap.Windows1254, "", "Pijamalı hasta yağız şoföre çabucak güvendi."},
		{"nothing said, Greek", "text/html", charmap.Windows1253, "", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Καλημέρα σε όλους"},
		{"nothing said, Hebrew", "text/html", charmap.Windows1255, "", "דג סקרן שט בים מאוכזב ולפתע מצא חברה"},
		{"nothing said, Arabic", "text/html", charmap.Windows1256, "", "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر"},
		{"euc-kr", "text/plain; charset=euc-kr", korean.EUCKR, "", "나는 유리를 먹을 수 있어요."},
		{"utf-16 with its mark", "text/html", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "", russian},
		{"utf-8, ASCII at first", "text/plain", encoding.Nop, strings.Repeat("ascii ", 400), russian},
		{"utf-8 with its mark", "text/plain", encoding.Nop, "\ufeff", russian},
		{"latin-1", "text/html; charset=iso-8859-1", charmap.Windows1252, "", "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich – „ja“."},
	} {
		text, err := c.enc.NewEncoder().String(c.before + strings.Repeat(c.text, 20))
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, c.contentType, text)
		if got, failed := fetcher(t, loopback())(s.URL, "format", "source"); failed || !strings.Contains(got, strings.Repeat(c.text, 20)) || strings.Contains(got, "\ufeff") {
			t.Errorf("%s: failed %v, got %.300q, want %q", c.name, failed, got, c.text)
		}
	}
	if got := web.Decode([]byte("a\x00b\x1b[31m\U000e0041\U000e0042 c\r\n\td\xff"), "text/plain; charset=utf-8"); got != "ab[31m c\r\n\td\ufffd" {
		t.Errorf("decoding invisible characters: got %q", got)
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]web.Options{
		`allow_ranges has "private"; allowed are addresses and ranges such as 10.0.0.0/8`: {AllowRanges: []string{"private"}},
		`allow_ranges has "fe80::1%lo"`:              {AllowRanges: []string{"fe80::1%lo"}},
		`allow_hosts has "https://example.com"`:      {AllowHosts: []string{"https://example.com"}},
		`deny_hosts has "example.com:80"`:            {DenyHosts: []string{"example.com:80"}},
		`deny_hosts has "*"`:                         {DenyHosts: []string{"*"}},
		`max_bytes is 5; allowed are 1024 to`:        {MaxBytes: 5},
		`max_bytes is -1`:                            {MaxBytes: -1},
		`timeout is "20"; allowed is a duration`:     {Timeout: "20"},
		`timeout is "1h"`:                            {Timeout: "1h"},
		`user_agent is "(x)"; it has to begin with`:  {UserAgent: "(x)"},
		`user_agent is "x\r\ny"`:                     {UserAgent: "x\r\ny"},
		`proxy is no address of a proxy`:             {Proxy: "proxy:3128"},
		`http://proxy.example.com:3128 or socks5://`: {Proxy: "ftp://user:secret@x"},
	} {
		if _, err := web.New(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%+v): got %v, want %q", o, err, want)
		}
	}
}
