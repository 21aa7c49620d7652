package main

import (
	"bufio"
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
		line := lines.Text()
		var from, to uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n == 3 {
			m = mapping{from: from, to: to, pure: strings.Contains(line, " /") && !strings.Contains(rights, "w")}
		}
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "Anonymous", "Swap":
			m.pure = m.pure && strings.TrimSpace(value) == "0 kB"
		case "VmFlags": // the last line of a mapping
			if err := m.rest(); err != nil {
				return err
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

func (m mapping) rest() error {
	if !m.pure {
		return nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
		return fmt.Errorf("letting go of %x-%x: %w", m.from, m.to, errno)
	}
	return nil
}
