package read

import (
	"fmt"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// confine takes rights from this process for good: it may use what is open, and open
// nothing else. Landlock closes the disk, programs, TCP and signals to it, as far as the
// kernel can (https://docs.kernel.org/userspace-api/landlock.html). The limits of
// getrlimit(2) hold on every kernel: without descriptors there is no socket of any kind.
//
// RLIMIT_DATA bounds memory that can be written, as the Go runtime takes it; RLIMIT_AS
// would also count the addresses that it only reserves. reserved is how much is taken and
// not in use. This process has used that much processor time.
func confine(l Limits, reserved int64, used time.Duration) error {
	if err := landlock.V9.BestEffort().Restrict(); err != nil {
		return err
	}
	for _, limit := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"memory", unix.RLIMIT_DATA, uint64(l.Memory + reserved)},                  //nolint:gosec // positive
		{"processor time", unix.RLIMIT_CPU, uint64((used+l.Time)/time.Second) + 1}, //nolint:gosec // positive
		{"bytes written", unix.RLIMIT_FSIZE, 0},
		{"core dumps", unix.RLIMIT_CORE, 0},
		{"descriptors", unix.RLIMIT_NOFILE, 0},
	} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			return fmt.Errorf("limiting %s: %w", limit.name, err)
		}
	}
	return nil
}

// processorTime returns how much processor time this process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
