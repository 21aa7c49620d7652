//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hit marks a moment at which a test may kill the process. Names read like
// "commit.before.replied": what happens, before or after, and to what.
func Hit(name string) { plan().hit(name) }

// Fault reports whether a test planted the named fault: code asks it where it
// then does the wrong thing on purpose. It is always false in a release.
func Fault(name string) bool { return plan().faults[name] }

// Span is a span of the outside's time, such as that after which a platform
// ends a stream: d itself, and less where a test has the outside in a hurry.
func Span(d time.Duration) time.Duration { return d / time.Duration(plan().haste) }

// Wall is the time on the wall: that of the system, and of another moment where
// a test wants it to be later.
func Wall() time.Time { return time.Now().Add(plan().ahead) }

// plan is what the environment asks for. The process is the scope of a kill,
// so its plan is one per process as well.
var plan = sync.OnceValue(read)

type kills struct {
	mu     sync.Mutex
	left   map[string]int // hits until the kill
	faults map[string]bool
	haste  int // from 1
	ahead  time.Duration
	log    *os.File // nil: hits are not logged
}

func read() *kills {
	k := &kills{left: map[string]int{}, faults: map[string]bool{}, haste: 1}
	for _, word := range words(os.Getenv("LEGWORK_FAILPOINT")) {
		at := strings.LastIndexByte(word, ':')
		n, err := strconv.Atoi(word[at+1:])
		if at < 1 || err != nil || n < 1 {
			refuse(`reading LEGWORK_FAILPOINT: %q is not name:n with n from 1`, word)
		}
		k.left[word[:at]] = n
	}
	for _, word := range words(os.Getenv("LEGWORK_FAULT")) {
		k.faults[word] = true
	}
	if text := os.Getenv("LEGWORK_HASTE"); text != "" {
		var err error
		if k.haste, err = strconv.Atoi(text); err != nil || k.haste < 1 {
			refuse(`reading LEGWORK_HASTE: %q is no number from 1`, text)
		}
	}
	if text := os.Getenv("LEGWORK_AHEAD"); text != "" {
		var err error
		if k.ahead, err = time.ParseDuration(text); err != nil {
			refuse("reading LEGWORK_AHEAD: %q is no duration", text)
		}
	}
	if path := os.Getenv("LEGWORK_FAILPOINT_LOG"); path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			refuse("opening LEGWORK_FAILPOINT_LOG: %v", err)
		}
		k.log = file
	}
	return k
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func refuse(format string, a ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", a...)
	os.Exit(2)
}

func (k *kills) hit(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.log != nil {
		if _, err := k.log.WriteString(name + "\n"); err != nil {
			refuse("writing LEGWORK_FAILPOINT_LOG: %v", err)
		}
	}
	if k.left[name] == 0 {
		return
	}
	if k.left[name]--; k.left[name] == 0 {
		die()
	}
}

// die kills this process the way a power cut would. The signal may arrive a
// moment later on another thread: nothing may go on meanwhile, so it waits,
// with the lock held.
func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		refuse("killing the own process: %v", err)
	}
	select {}
}
