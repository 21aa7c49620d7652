package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"legwork/internal/test/browser"
)

const (
	pageLoads    = 15
	taskEvents   = 4000
	maxFirstLoad = 80 << 10 // bytes, compressed
	maxPaint     = 150 * time.Millisecond
	maxTaskShown = 500 * time.Millisecond
	maxFrame     = 50 * time.Millisecond // a longer one is called long: w3c.github.io/longtasks
	maxPageIdle  = 4 << 10               // KiB
	maxDemo      = 3 * time.Second
	pagePatience = time.Minute
)

// signedIn signs a tab in by the token of all programs.
const signedIn = `fetch("/v1/session", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({token: %q})}).then((r) => r.status)`

// shown is true when a page of the console waits for nothing more.
const shown = `new Promise((go) => {
	const look = () => document.querySelector("main") && !document.querySelector("main .spinner-page, main [aria-busy=true]") ? go(performance.now()) : requestAnimationFrame(look);
	look();
})`

// scrolled scrolls the page from top to bottom in 100 frames and is the longest one, in
// milliseconds.
const scrolled = `new Promise((go) => {
	const box = [...document.querySelectorAll("main, main *")].find((e) => e.scrollHeight > e.clientHeight + 100 && getComputedStyle(e).overflowY !== "visible") ?? document.scrollingElement;
	let n = 0, last = performance.now(), longest = 0;
	const frame = (now) => {
		if (n > 1) longest = Math.max(longest, now - last);
		last = now;
		box.scrollTop = box.scrollHeight * ++n / 100;
		n < 100 ? requestAnimationFrame(frame) : go(longest);
	};
	requestAnimationFrame(frame);
})`

// measurePage looks at the page in Chromium: how much it loads, how soon it is there, and
// what it costs the daemon.
func measurePage(ctx context.Context, dir string) ([]figure, error) {
	chromium, err := browser.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer chromium.Close()
	figures, err := withProgram(ctx, dir, func(p *apiClient, pid int) ([]figure, error) {
		before, err := settled(ctx, pid)
		if err != nil {
			return nil, err
		}
		loads, err := p.loads(chromium)
		if err != nil {
			return nil, fmt.Errorf("loading the page: %w", err)
		}
		task, err := p.longTask(ctx, chromium)
		if err != nil {
			return nil, fmt.Errorf("showing a task: %w", err)
		}
		open, err := p.openPage(ctx, chromium, pid)
		if err != nil {
			return nil, err
		}
		return append(append(loads, task...), memory("memory that an open page adds, idle", max(open-before, 0), maxPageIdle, mib(before)+" before")), nil
	})
	if err != nil {
		return nil, err
	}
	took, err := demoTime(ctx, filepath.Join(dir, "legwork"))
	return append(figures, within("legwork demo, from its start to the first answer in the page, by a script", took, maxDemo, "")), err
}

// loads opens the start page again and again, each time with an empty cache.
func (p *apiClient) loads(chromium *browser.Browser) ([]figure, error) {
	var paints []time.Duration
	var bytes int
	for range pageLoads {
		took, size, err := p.load(chromium)
		if err != nil {
			return nil, err
		}
		paints, bytes = append(paints, took), size
	}
	return []figure{
		{name: "the page: its first load, compressed", measured: fmt.Sprintf("%.1f KiB", float64(bytes)/1024), limit: fmt.Sprintf("%d KiB", maxFirstLoad>>10), ok: bytes <= maxFirstLoad},
		within("the page: first paint, nothing cached", median(paints), maxPaint, short(percentile(paints, 0.95))+" 95th percentile"),
	}, nil
}

// load opens the start page in a new browser session that is signed in, and returns the time
// of its first paint and the bytes that came, without those of calls.
func (p *apiClient) load(chromium *browser.Browser) (paint time.Duration, size int, err error) {
	var mu sync.Mutex
	files := map[network.RequestID]bool{}
	ctx, stop, err := chromium.NewTab(browser.Wide, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			files[e.RequestID] = strings.Contains(e.Request.URL, "/console/")
		case *network.EventLoadingFinished:
			if files[e.RequestID] {
				size += int(e.EncodedDataLength)
			}
		}
	})
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	if err := p.signIn(ctx); err != nil {
		return 0, 0, err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(p.base+"/console/")); err != nil {
		return 0, 0, err
	}
	var at, ready float64
	err = browser.Eval(ctx, shown, &ready)
	err = errors.Join(err, browser.Eval(ctx, `performance.getEntriesByName("first-contentful-paint")[0].startTime`, &at))
	mu.Lock()
	defer mu.Unlock()
	return time.Duration(at * float64(time.Millisecond)), size, err
}

// signIn signs a tab in.
func (p *apiClient) signIn(ctx context.Context) error {
	var code int
	if err := chromedp.Do(ctx, chromedp.Navigate(p.base+"/healthz")); err != nil { // a page without scripts
		return err
	}
	err := browser.Eval(ctx, fmt.Sprintf(signedIn, programToken), &code)
	if err == nil && code != http.StatusNoContent {
		err = fmt.Errorf("signing in: status %d", code)
	}
	return err
}

// longTask shows a task of many events, and scrolls through it.
func (p *apiClient) longTask(ctx context.Context, chromium *browser.Browser) ([]figure, error) {
	id, err := p.start(ctx, "be shown", false)
	if err != nil {
		return nil, err
	}
	for n := range taskEvents {
		if _, err := p.call(ctx, http.MethodPost, "/v1/tasks/"+id+"/messages", map[string]any{"type": "thought", "content": fmt.Sprint("Thought ", n)}); err != nil {
			return nil, err
		}
	}
	tab, stop, err := chromium.NewTab(browser.Wide, func(any) {})
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := p.signIn(tab); err != nil {
		return nil, err
	}
	var took []time.Duration
	var longest float64
	for range 5 {
		var ready float64
		err := chromedp.Do(tab, chromedp.Navigate(p.base+"/console/tasks/"+id))
		err = errors.Join(err, browser.Eval(tab, shown, &ready), browser.Eval(tab, scrolled, &longest))
		if err != nil {
			return nil, err
		}
		took = append(took, time.Duration(ready*float64(time.Millisecond)))
	}
	return []figure{
		within(fmt.Sprintf("a task of %d events shown", taskEvents), median(took), maxTaskShown, ""),
		within("the same: the longest frame while it is scrolled", time.Duration(longest*float64(time.Millisecond)), maxFrame, ""),
	}, nil
}

// openPage is the memory of the daemon while somebody has the page open.
func (p *apiClient) openPage(ctx context.Context, chromium *browser.Browser, pid int) (kib int, err error) {
	tab, stop, err := chromium.NewTab(browser.Wide, func(any) {})
	if err != nil {
		return 0, err
	}
	defer stop()
	var ready float64
	err = errors.Join(p.signIn(tab), chromedp.Do(tab, chromedp.Navigate(p.base+"/console/")), browser.Eval(tab, shown, &ready))
	if err != nil {
		return 0, err
	}
	return settled(ctx, pid)
}

var signInLink = regexp.MustCompile(`(http://\S+)/console/enter#(\S+)`)

// demoTime starts the demo, signs in by the link that it prints, asks a question in the
// chat of the page, and waits for the answer.
func demoTime(ctx context.Context, binary string) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	from := time.Now()
	demo := exec.CommandContext(ctx, binary, "demo")
	demo.Env = append(os.Environ(), "LANG=en_US.UTF-8")
	in, err := demo.StdinPipe() // open: the chat in the terminal goes on
	if err != nil {
		return 0, err
	}
	out, err := demo.StderrPipe()
	if err != nil {
		return 0, err
	}
	if err := demo.Start(); err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, in.Close())
		_ = demo.Wait() // it ends with its input
	}()
	lines := bufio.NewScanner(out)
	var link []string
	for link == nil && lines.Scan() {
		link = signInLink.FindStringSubmatch(lines.Text())
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the demo
	if link == nil {
		return 0, errors.New("the demo printed no link")
	}
	if err := askDemo(ctx, link[1], link[2]); err != nil {
		return 0, err
	}
	return time.Since(from), nil
}

// askDemo signs in and asks.
func askDemo(ctx context.Context, base, code string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	send := func(method, path string, body any) (*http.Response, error) {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := client.Do(r)
		if err == nil && response.StatusCode >= http.StatusMultipleChoices {
			err = errors.Join(fmt.Errorf("%s %s: %s", method, path, response.Status), response.Body.Close())
		}
		return response, err
	}
	response, err := send(http.MethodPost, "/v1/session", map[string]string{"link": code})
	if err != nil {
		return err
	}
	events, err := send(http.MethodGet, "/v1/chat/events", nil)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	defer events.Body.Close()
	response, err = send(http.MethodPost, "/v1/chat/conversations/00000000000000000000000001/messages", map[string]any{"key": "1", "text": "What is 17*23?"})
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		var post struct {
			Kind    string
			Text    string
			Partial bool
		}
		if is && json.Unmarshal([]byte(data), &post) == nil && post.Kind == "answer" && !post.Partial && strings.Contains(post.Text, "391") {
			return nil
		}
	}
	return fmt.Errorf("waiting for the answer: %w", errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}
