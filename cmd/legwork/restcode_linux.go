package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// restCode takes what is mapped of files, the program's own code above all, out
// of the process's memory: the system maps them in windows around whatever is
// touched, so that starting alone leaves nearly all of it resident. What is
// needed again comes back from the page cache, at the cost of a minor fault.
func restCode() error {
	list, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer list.Close()
	var m mapping
	for lines := bufio.NewScanner(list); lines.Scan(); {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		switch string(name) {
		case "Anonymous", "Swap":
			m.pure = m.pure && string(bytes.TrimSpace(value)) == "0 kB"
		case "VmFlags": // the last line of a mapping
			if err := m.rest(); err != nil {
				return err
			}
		default:
			if next, ok := readMapping(lines.Bytes()); ok {
				m = next
			}
		}
	}
	return nil
}

// mapping is a stretch of the process's memory. It is pure when all of it is as
// the file has it: nothing may write to it now, and nothing did before, as the
// dynamic linker does to what it protects afterwards.
type mapping struct {
	from, to uintptr
	pure     bool
}

// readMapping reads the first line of a mapping. The lines below it, which are
// many, begin with a word and cost nothing: what is allocated here stays resident.
func readMapping(line []byte) (m mapping, ok bool) {
	if len(line) == 0 || 'A' <= line[0] && line[0] <= 'Z' {
		return m, false
	}
	var rights string
	n, _ := fmt.Sscanf(string(line), "%x-%x %s", &m.from, &m.to, &rights)
	m.pure = bytes.Contains(line, []byte(" /")) && !strings.Contains(rights, "w")
	return m, n == 3
}

func (m mapping) rest() error {
	if !m.pure {
		return nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
		return fmt.Errorf("letting go of %x-%x: %w", m.from, m.to, errno)
	}
	return nil
}
