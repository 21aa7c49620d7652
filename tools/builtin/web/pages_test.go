package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

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
	if got := web.Decode([]byte("a\x00b\x1b[31m\U000e0041\U000e0042 c\r\n\td\xff"), "text/plain; charset=utf-8", false); got != "ab[31m c\r\n\td\ufffd" {
		t.Errorf("decoding invisible characters: got %q", got)
	}
}

func TestStatus(t *testing.T) {
	for status, want := range map[int]string{
		404: "answered 404 Not Found: there is no such page; check the address or search for the page. It says: sorry, no", 410: "no such page", 401: "not for everybody", 403: "use another source",
		429: "wants fewer requests; use another source or come back later (Retry-After: 30)", 503: "come back later", 500: "the server has a problem", 418: "check the address", 304: "check the address", 204: "is empty", 302: "check the address",
	} {
		s := site(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("sorry,\nno"))
		})
		if got, failed := fetcher(t, loopback())(s.URL + "/x"); !failed || !strings.Contains(got, want) || !strings.Contains(got, s.URL) {
			t.Errorf("fetch of a page with status %d: failed %v, got %q, want %q", status, failed, got, want)
		}
	}
}

func TestRedirects(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
			return
		} else if err != nil {
			http.Redirect(w, r, "/forever", http.StatusFound)
			return
		}
		fmt.Fprint(w, "arrived")
	})
	fetch := fetcher(t, loopback())
	if got, failed := fetch(s.URL + "/5"); failed || !strings.HasSuffix(got, "arrived") {
		t.Errorf("five redirects: failed %v, got %q", failed, got)
	}
	for _, path := range []string{"/6", "/forever"} {
		if got, failed := fetch(s.URL + path); !failed || !strings.Contains(got, "redirects more than 5 times") {
			t.Errorf("fetch of %s: failed %v, got %q", path, failed, got)
		}
	}
}

func TestSlowPages(t *testing.T) {
	stop := make(chan struct{})
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-stop
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-tick.C:
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				tick.Stop()
				return
			}
		}
	})
	defer close(stop)
	o := loopback()
	o.Timeout = "1s"
	fetch := fetcher(t, o)
	for _, path := range []string{"/drip", "/silent"} {
		began := time.Now()
		got, failed := fetch(s.URL + path)
		if !failed || !strings.Contains(got, "did not answer completely within 1s") {
			t.Errorf("fetch of %s: failed %v, got %q", path, failed, got)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("fetch of %s took %v", path, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	call := caller(t, loopback())
	go func() {
		defer close(ended)
		_, _ = call(ctx, map[string]any{"url": s.URL + "/drip"})
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("a cancelled fetch goes on")
	}
}

// 4 MiB of gzip that unpack to 4 GiB.
func TestGzipBomb(t *testing.T) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	zeros := make([]byte, 1<<20)
	for range 256 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	member := b.Bytes()
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/br" {
			w.Header().Set("Content-Encoding", "br")
		}
		for range 16 {
			_, _ = w.Write(member)
		}
	})
	fetch := fetcher(t, loopback())
	before := allocated()
	got, failed := fetch(s.URL)
	if !failed || !strings.Contains(got, "has no text") { // zeros are left out
		t.Errorf("fetch of a bomb: failed %v, got %d bytes", failed, len(got))
	}
	if used := allocated() - before; used > 200<<20 {
		t.Errorf("fetch of a bomb allocated %d MiB", used>>20)
	}
	if got, failed := fetch(s.URL + "/br"); !failed || !strings.Contains(got, "in the encoding br, which was not asked for") {
		t.Errorf("fetch of an encoding that was not asked for: failed %v, got %q", failed, got)
	}
}

func TestLargePages(t *testing.T) {
	s := serve(t, "text/plain", strings.Repeat("0123456789abcdef", 1<<20))
	o := loopback()
	o.MaxBytes = 100_000
	got, failed := fetcher(t, o)(s.URL, "max_chars", 500_000)
	if failed || !strings.Contains(got, "Note: only the first 100000 bytes of the page were read") || len(got) > 101_000 {
		t.Errorf("fetch of a large page: failed %v, got %d bytes: %.300q", failed, len(got), got)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestManyAtOnce(t *testing.T) {
	s := serve(t, "text/html", "<title>T</title><p>hello")
	call := caller(t, loopback())
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			res, err := call(t.Context(), map[string]any{"url": s.URL})
			if err != nil || res.IsError {
				t.Errorf("fetch beside others: got %v, %v", res, err)
			}
		})
	}
	all.Wait()
}

func TestNothingIsLeftBehind(t *testing.T) {
	var open sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			open.Delete(c)
		} else {
			open.Store(c, state)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	fetch := fetcher(t, loopback())
	for range 5 {
		if got, failed := fetch(s.URL); failed {
			t.Fatal(got)
		}
	}
	deadline := time.After(10 * time.Second)
	for {
		left := 0
		open.Range(func(any, any) bool { left++; return true })
		if left == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d connections are still open", left)
		case <-time.After(10 * time.Millisecond):
		}
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

func TestRequest(t *testing.T) {
	var last *http.Request
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		last = r
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		fmt.Fprint(w, "x")
	})
	o := loopback()
	o.UserAgent = "Example/2"
	fetch := fetcher(t, o)
	fetch(s.URL)
	fetch(s.URL + "/a b")
	if fetch(s.URL + "/ä?q=ö%20#x"); last.UserAgent() != "Example/2" || last.Header.Get("Cookie") != "" || last.Header.Get("Referer") != "" || last.URL.RequestURI() != "/%C3%A4?q=ö%20" && last.URL.RequestURI() != "/%C3%A4?q=%C3%B6%20" {
		t.Errorf("request: got %s with %v", last.URL.RequestURI(), last.Header)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	if got, failed := fetcher(t, loopback())(s.URL); !failed || !strings.Contains(got, "certificate") {
		t.Errorf("fetch from a server with an unknown certificate: failed %v, got %q", failed, got)
	}
}
