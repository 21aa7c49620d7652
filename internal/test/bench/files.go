package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"legwork/files/read"
	"legwork/files/write"
	"legwork/internal/test/badfiles"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

const (
	pdfPages     = 500
	maxFirstPage = 300 * time.Millisecond
	sheetRows    = 100_000
	maxSheet     = 3 * time.Second
	maxSheetHeap = 64 << 10 // KiB, beside the rows
	fileRounds   = 9
	fileSenders  = 2 // of hostile files

	// What a process that reads a file may take.
	maxReader     = 512 << 10        // KiB
	maxReaderTime = 12 * time.Second // 10 for the process, 2 for the rest
)

// measureFiles reads and makes large files, and sends hostile ones to a daemon.
func measureFiles(ctx context.Context, dir string) ([]figure, error) {
	page, err := firstPage(ctx, dir)
	if err != nil {
		return nil, err
	}
	took, heap, err := makeSheet()
	if err != nil {
		return nil, err
	}
	figures := []figure{
		within(fmt.Sprintf("a PDF of %d pages: the first page is read", pdfPages), page, maxFirstPage, "the process that reads included"),
		within(fmt.Sprintf("a sheet of %d rows of 6 cells is made", sheetRows), took, maxSheet, ""),
		memory("the same: heap beside the rows", heap, maxSheetHeap, ""),
	}
	more, err := sendHostile(ctx, dir)
	return append(figures, more...), err
}

// firstPage is how long it takes from asking for a PDF until its first page is there.
func firstPage(ctx context.Context, dir string) (time.Duration, error) {
	var text strings.Builder
	for n := range 34 * pdfPages { // some 33 on a page
		fmt.Fprintf(&text, "Line %d: the trams leave every six minutes.\n\n", n)
	}
	path := filepath.Join(dir, "book.pdf")
	var book bytes.Buffer
	if err := write.Document(&book, write.PDF, text.String(), write.Options{}); err != nil {
		return 0, err
	}
	if err := os.WriteFile(path, book.Bytes(), 0o600); err != nil {
		return 0, err
	}
	reader := read.Reader{Cache: filepath.Join(dir, "cache")} // which the first reading fills
	d, err := reader.File(ctx, path, "book.pdf", read.Limits{Time: time.Minute}, func(read.Part) error { return nil })
	if err != nil || d.Total < pdfPages {
		return 0, fmt.Errorf("the PDF has %d pages: %w", d.Total, err)
	}
	enough := errors.New("one page is enough")
	var took []time.Duration
	for range fileRounds {
		from := time.Now()
		_, err := reader.File(ctx, path, "book.pdf", read.Limits{}, func(read.Part) error {
			took = append(took, time.Since(from))
			return enough
		})
		if !errors.Is(err, enough) {
			return 0, fmt.Errorf("reading the first page: %w", err)
		}
	}
	return median(took), nil
}

// makeSheet is how long a sheet takes, and what the heap grows by in KiB until the file
// is written, where all of it is in memory.
func makeSheet() (time.Duration, int, error) {
	rows := make([][]any, sheetRows)
	for i := range rows {
		rows[i] = []any{fmt.Sprint("Customer ", i), float64(i), float64(i) * 1.25, "2026-01-31", i%2 == 0, "some remark"}
	}
	columns := []write.Column{{Title: "Name"}, {Title: "Number"}, {Title: "Amount", Type: "currency", Format: "EUR"}, {Title: "Day", Type: "date"}, {Title: "Paid"}, {Title: "Remark"}}
	book := write.Workbook{Sheets: []write.Sheet{{Name: "All", Columns: columns, Rows: rows}}}
	var took []time.Duration
	var highest uint64
	for range 3 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		err := timed(&took, func() error {
			out := &firstWrite{Writer: io.Discard, do: func() { runtime.ReadMemStats(&after) }}
			return write.Spreadsheet(out, write.XLSX, book, write.Options{})
		})
		if err != nil {
			return 0, 0, err
		}
		highest = max(highest, after.HeapInuse-min(after.HeapInuse, before.HeapInuse))
	}
	return median(took), int(highest >> 10), nil //nolint:gosec // far from the limits
}

// firstWrite calls do before the first byte.
type firstWrite struct {
	io.Writer
	do func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return w.Writer.Write(p)
}

// sendHostile lets people send hostile files, each when the one before is answered.
func sendHostile(ctx context.Context, dir string) ([]figure, error) {
	h, err := newDaemonEnvOf(ctx, dir, "roles: {vision: main}\n", func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		return llmfake.Say("end of " + goal)
	})
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile(h.line[3])
	if err != nil {
		return nil, err
	}
	config = bytes.Replace(config, []byte("level: warn"), []byte("level: error"), 1) // each unread file is a warning
	if err := os.WriteFile(h.line[3], config, 0o600); err != nil {
		return nil, err
	}
	d, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	before, err := settled(ctx, d.Process.Pid)
	if err != nil {
		return nil, err
	}
	var peak int
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { peak = peakMemory(d.Process.Pid, ended) })
	slowest, err := h.answerHostile(ctx, filepath.Join(dir, "outside.txt"))
	close(ended)
	watching.Wait()
	if err != nil {
		return nil, err
	}
	after, err := settled(ctx, d.Process.Pid)
	if err := errors.Join(err, d.stop(), h.close()); err != nil {
		return nil, err
	}
	var largest int // of the daemon and the processes that it has waited for
	if usage, ok := d.ProcessState.SysUsage().(*syscall.Rusage); ok {
		largest = int(usage.Maxrss)
	}
	return []figure{
		memory(fmt.Sprintf("%d hostile files: anonymous memory after them", badfiles.Count), after, before+maxGrowth, mib(before)+" before"),
		memory("the same at its peak", peak, before+maxGrowth, mib(before)+" before"),
		memory("the largest process that reads one, resident", largest, maxReader, ""),
		within("the slowest of them, from the message to the answer", slowest, maxReaderTime, ""),
	}, nil
}

// answerHostile returns how long the slowest file took.
func (h *daemonEnv) answerHostile(ctx context.Context, outside string) (slowest time.Duration, err error) {
	all := badfiles.All("127.0.0.1:1", outside)
	list := make(chan int)
	var mu sync.Mutex
	var sending sync.WaitGroup
	for i := range int64(fileSenders) {
		u := h.telegram.User(firstPerson+i, fmt.Sprint("P", i), "en")
		sending.Go(func() {
			for n := range list {
				took, failed := h.answerFile(ctx, u, n, all[n])
				mu.Lock()
				slowest, err = max(slowest, took), errors.Join(err, failed)
				mu.Unlock()
			}
		})
	}
	for n := range all {
		list <- n
	}
	close(list)
	sending.Wait()
	return slowest, err
}

func (h *daemonEnv) answerFile(ctx context.Context, u telegramfake.User, n int, f badfiles.File) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	file := telegramfake.File{Name: f.Name, Content: f.Make()}
	goal, from, seen := fmt.Sprintf("file %d?", n), time.Now(), len(h.telegram.Log())
	h.telegram.Say(u.ID, u, goal, telegramfake.Attach("document", file))
	err := h.telegram.WaitFor(ctx, func(v telegramfake.View) bool {
		for log := v.Log(); seen < len(log); {
			e := log[seen]
			if seen++; e.Done && e.Chat == u.ID && isAnswer(e, "end of "+goal) {
				return true
			}
		}
		return false
	})
	if err != nil {
		err = fmt.Errorf("waiting for the answer to %.40q, %s: %w", f.Name, f.What, err)
	}
	return time.Since(from), err
}
