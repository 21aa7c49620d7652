//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Hit marks a moment at which a test may kill the process. Names read like
// "commit.before.replied": what happens, before or after, and to what.
func Hit(name string) { plan().hit(name) }

// plan is what the environment asks for. The process is the scope of a kill,
// so its plan is one per process as well.
var plan = sync.OnceValue(read)

type kills struct {
	mu   sync.Mutex
	left map[string]int // hits until the kill
	log  *os.File       // nil: hits are not logged
}

func read() *kills {
	k := &kills{left: map[string]int{}}
	for _, word := range strings.FieldsFunc(os.Getenv("LEGWORK_FAILPOINT"), func(r rune) bool { return r == ',' || r == ' ' }) {
		at := strings.LastIndexByte(word, ':')
		n, err := strconv.Atoi(word[at+1:])
		if at < 1 || err != nil || n < 1 {
			refuse(`reading LEGWORK_FAILPOINT: %q is not name:n with n from 1`, word)
		}
		k.left[word[:at]] = n
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
