package control

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// descends reports whether a connection comes from a process that this one has started,
// or that such a process has started. It is also true when the process has ended, because
// it may have given the connection to another one. A process whose parent has ended is
// not recognized: the kernel has given it another parent.
func descends(c net.Conn) bool {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	var peer *unix.Ucred
	if failed := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); failed != nil || err != nil {
		return true
	}
	own, pid := os.Getpid(), int(peer.Pid)
	if pid == own || pid == 0 { // 0: of a container's outside, which sees this process and not the other way round
		return false
	}
	pid, known := parent(pid)
	if !known {
		return true
	}
	for known && pid != own && pid > 1 {
		pid, known = parent(pid) // unknown: of a user whose processes are hidden
	}
	return pid == own
}

// parent finds the parent of a process
// (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
func parent(pid int) (ppid int, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name before may hold spaces and brackets
	if len(fields) < 2 {
		return 0, false
	}
	ppid, err = strconv.Atoi(string(fields[1]))
	return ppid, err == nil
}
