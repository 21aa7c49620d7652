package pdf

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Library is PDFium, ready to open a file.
type Library struct {
	pdfium.Pdfium
	memory *memory
}

// Load compiles PDFium, which takes seconds, or takes its code from the folder cache,
// where it also stores it. Without a folder, or when nothing can be stored there, it
// compiles. A file may take that many bytes of memory.
func Load(ctx context.Context, cache string, bytes int64) (*Library, error) {
	if cache != "" && os.MkdirAll(cache, 0o700) == nil {
		// Of several processes that begin at once, one compiles.
		lock := flock.New(filepath.Join(cache, "lock"))
		if lock.Lock() == nil {
			defer func() { _ = lock.Close() }()
		}
		before := entries(cache)
		if l, err := load(ctx, cache, bytes); err == nil {
			removeOld(before, entries(cache))
			return l, nil
		}
		for _, entry := range before { // it may be damaged
			_ = os.Remove(entry)
		}
	}
	return load(ctx, "", bytes)
}

func load(ctx context.Context, cache string, bytes int64) (*Library, error) {
	config := wazero.NewRuntimeConfig().WithDebugInfoEnabled(false).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	if cache != "" {
		compiled, err := wazero.NewCompilationCacheWithDir(cache)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(compiled)
	}
	m := &memory{more: bytes}
	pool, err := webassembly.Init(webassembly.Config{
		Context: experimental.WithMemoryAllocator(ctx, m), MaxTotal: 1,
		RuntimeConfig: config, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing PDFium: %w", err)
	}
	instance, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, fmt.Errorf("starting PDFium: %w", err)
	}
	return &Library{instance, m}, nil
}

// entries are the files that a cache keeps. Those of other versions of the runtime are in
// other folders.
func entries(cache string) []string {
	found, _ := filepath.Glob(filepath.Join(cache, "*", "*"))
	return found
}

// removeOld removes the entries from before another one was added: they are of another
// version, another processor, or of a process that was killed.
func removeOld(before, after []string) {
	added := slices.ContainsFunc(after, func(entry string) bool { return !slices.Contains(before, entry) })
	for _, entry := range before {
		if added {
			_ = os.Remove(entry)
			_ = os.Remove(filepath.Dir(entry)) // when it is empty
		}
	}
}

// memory is the memory of PDFium. It is taken at once, since growth by copying would take
// up to three times as much. The system gives pages of it when they are used.
type memory struct {
	more   int64 // bytes beyond those with which PDFium starts
	full   bool
	buffer []byte
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(start, _ uint64) experimental.LinearMemory {
	m.buffer = make([]byte, start+uint64(m.more)) //nolint:gosec // positive
	return m
}

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.buffer)) {
		m.full = true
		return nil
	}
	return m.buffer[:size]
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() { m.buffer = nil }
