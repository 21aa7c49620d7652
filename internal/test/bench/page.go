package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"legwork/bot"
	"legwork/internal/test/browser"
	"legwork/internal/test/longtask"
	"legwork/store/bolt"
	"legwork/tasks"
)

const (
	pageLoads    = 15
	taskShows    = 5
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

// Expressions that wait for a part of a page: pageShown until it waits for nothing more,
// eventsShown until the list of a task has so many events.
const (
	pageShown   = `document.querySelector("main h1, main h2, main textarea") && !document.querySelector("main .spinner-page, main [aria-busy=true]")`
	eventsShown = `document.querySelector("main [aria-setsize]")?.getAttribute("aria-setsize") >= %d`
)

// when is the time since the page began to load, in milliseconds, when it shows a part.
const when = `new Promise((go) => {
	const look = () => %s ? go(performance.now()) : requestAnimationFrame(look);
	look();
})`

// painted is when the page first painted something of its own, in milliseconds.
const painted = `new Promise((go) => new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").forEach((e) => go(e.startTime))).observe({type: "paint", buffered: true}))`

// transferred is how many bytes came with the files of the page, with their headers.
const transferred = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter((e) => e.name.includes("/console/")).reduce((sum, e) => sum + e.transferSize, 0)`

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
	long := tasks.NewID(time.Now())
	if err := storeLong(ctx, dir, long); err != nil {
		return nil, err
	}
	figures, err := withProgram(ctx, dir, func(p *apiClient, pid int) ([]figure, error) {
		idle, err := p.openPage(ctx, chromium, pid)
		if err != nil {
			return nil, err
		}
		loads, err := p.loads(ctx, chromium)
		if err != nil {
			return nil, fmt.Errorf("loading the page: %w", err)
		}
		task, err := p.longTask(ctx, chromium, long)
		if err != nil {
			return nil, fmt.Errorf("showing a task: %w", err)
		}
		chat, err := p.watchedChat(ctx)
		return slices.Concat(loads, task, chat, idle), err
	})
	if err != nil {
		return nil, err
	}
	took, err := demoTime(ctx, filepath.Join(dir, "legwork"))
	return append(figures, within("legwork demo, from its start to the first answer in the page, by a script", took, maxDemo, "")), err
}

// storeLong stores a long task before the daemon starts.
func storeLong(ctx context.Context, dir string, id tasks.ID) error {
	store, err := bolt.Open(ctx, filepath.Join(dir, "data"), bolt.Options{})
	if err != nil {
		return err
	}
	in := opening(bot.Chat{Platform: tasks.PlatformAPI, ID: "bench"}, id, "be shown")
	return errors.Join(longtask.Store(ctx, store, in, longtask.Journal(*in.Open, longtask.Events)), store.Close())
}

// loads opens the start page again and again, each time with an empty cache.
func (p *apiClient) loads(ctx context.Context, chromium *browser.Browser) ([]figure, error) {
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Bare</title><h1>Bare</h1>")
	}))
	defer bare.Close()
	var paints, whole, least []time.Duration
	var size int
	for range pageLoads {
		err := p.inTab(ctx, chromium, func(tab context.Context) error {
			var paint, ready, own float64
			err := chromedp.Do(tab, chromedp.Navigate(p.base+"/console/"))
			err = errors.Join(err, browser.Eval(tab, fmt.Sprintf(when, pageShown), &ready), browser.Eval(tab, painted, &paint), browser.Eval(tab, transferred, &size))
			err = errors.Join(err, chromedp.Do(tab, chromedp.Navigate(bare.URL)), browser.Eval(tab, painted, &own))
			paints, whole, least = append(paints, milliseconds(paint)), append(whole, milliseconds(ready)), append(least, milliseconds(own))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []figure{
		{name: "the page: its first load, compressed", measured: kib(size), limit: kib(maxFirstLoad), ok: size <= maxFirstLoad},
		within("the page: first paint, nothing cached", median(paints), maxPaint, short(median(least))+" a bare page"),
		{name: "the same: all of the start page", measured: short(median(whole))},
	}, nil
}

func kib(bytes int) string { return fmt.Sprintf("%.1f KiB", float64(bytes)/1024) }

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// inTab opens a tab with an empty cache, signs it in, and closes it after use.
func (p *apiClient) inTab(ctx context.Context, chromium *browser.Browser, use func(tab context.Context) error) error {
	tab, stop, err := chromium.NewTab(browser.Wide, func(any) {})
	if err != nil {
		return err
	}
	defer stop()
	tab, cancel := context.WithTimeout(tab, pagePatience)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if err := p.signIn(tab); err != nil {
		return err
	}
	return use(tab)
}

// signIn signs a tab in.
func (p *apiClient) signIn(ctx context.Context) error {
	var code int
	if err := chromedp.Do(ctx, chromedp.Navigate(p.base+"/console/icon.svg")); err != nil { // it loads nothing else
		return err
	}
	err := browser.Eval(ctx, fmt.Sprintf(signedIn, programToken), &code)
	if err == nil && code != http.StatusNoContent {
		err = fmt.Errorf("signing in: status %d", code)
	}
	return err
}

// longTask shows a task of many events, and scrolls through it.
func (p *apiClient) longTask(ctx context.Context, chromium *browser.Browser, id tasks.ID) ([]figure, error) {
	var first, all []time.Duration
	var longest float64
	err := p.inTab(ctx, chromium, func(tab context.Context) error {
		for range taskShows {
			var some, whole, frame float64
			err := chromedp.Do(tab, chromedp.Navigate(p.base+"/console/tasks/"+string(id)+"/journal"))
			err = errors.Join(err, browser.Eval(tab, fmt.Sprintf(when, fmt.Sprintf(eventsShown, 1)), &some),
				browser.Eval(tab, fmt.Sprintf(when, fmt.Sprintf(eventsShown, longtask.Events)), &whole), browser.Eval(tab, scrolled, &frame))
			if err != nil {
				return err
			}
			first, all, longest = append(first, milliseconds(some)), append(all, milliseconds(whole)), max(longest, frame)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		within(fmt.Sprintf("a task of %d events shown", longtask.Events), median(first), maxTaskShown, short(median(all))+" until all events are there"),
		within("the same: the longest frame while it is scrolled", milliseconds(longest), maxFrame, ""),
	}, nil
}

// openPage looks at the memory of the daemon before somebody opens the page, while it is
// open, and after it is closed.
func (p *apiClient) openPage(ctx context.Context, chromium *browser.Browser, pid int) ([]figure, error) {
	before, err := settled(ctx, pid)
	if err != nil {
		return nil, err
	}
	var open int
	err = p.inTab(ctx, chromium, func(tab context.Context) error {
		var ready float64
		err := chromedp.Do(tab, chromedp.Navigate(p.base+"/console/"))
		err = errors.Join(err, browser.Eval(tab, fmt.Sprintf(when, pageShown), &ready))
		if err == nil {
			open, err = settled(ctx, pid)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := settled(ctx, pid)
	return []figure{
		memory("memory that the first open page adds, idle", max(open-before, 0), maxPageIdle, mib(before)+" before, "+mib(after)+" after it is closed"),
	}, err
}

// watchedChat sends messages to a conversation that the same person has open in many
// browsers.
func (p *apiClient) watchedChat(ctx context.Context) ([]figure, error) {
	least, err := echoed(ctx)
	if err != nil {
		return nil, fmt.Errorf("following a bare server: %w", err)
	}
	a, err := p.listened(ctx, "/v1/chat/events", benchConversation+"/messages", func(content string) any {
		return map[string]string{"key": rand.Text(), "text": content}
	})
	if err != nil {
		return nil, fmt.Errorf("following the chat: %w", err)
	}
	return a.figures(fmt.Sprintf("a message reaches %d browsers of its person", followers), least), nil
}

// benchConversation is a conversation of the web chat.
const benchConversation = "/v1/chat/conversations/00000000000000000000000001"

var signInLink = regexp.MustCompile(`(http://\S+)/console/enter#(\S+)`)

// demoTime starts the demo, signs in by the link that it prints, asks a question in the
// chat of the page, and waits for the answer.
func demoTime(ctx context.Context, binary string) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	from := time.Now()
	demo, err := startPiped(ctx, append(os.Environ(), "LANG=en_US.UTF-8"), binary, "demo")
	if err != nil {
		return 0, err
	}
	defer demo.end() // its chat in the terminal goes on until then
	lines := bufio.NewScanner(demo.out)
	var link []string
	for link == nil && lines.Scan() {
		link = signInLink.FindStringSubmatch(lines.Text())
	}
	go io.Copy(io.Discard, demo.out) //nolint:errcheck // it ends with the demo
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
	response, err = send(http.MethodPost, benchConversation+"/messages", map[string]any{"key": "1", "text": "What is 17*23?"})
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
