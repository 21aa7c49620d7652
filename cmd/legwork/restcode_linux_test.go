package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestRestCode lets go of the running test's own code, and then runs on.
func TestRestCode(t *testing.T) {
	fileResident := func() int {
		t.Helper()
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		kib := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
		if kib == nil {
			t.Skip("this kernel does not tell what is resident of files")
		}
		n, err := strconv.Atoi(string(kib[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := fileResident()
	if err := restCode(); err != nil {
		t.Fatal(err)
	}
	if after := fileResident(); after >= before {
		t.Errorf("%d KiB of files are resident after letting go of the code, want less than the %d before", after, before)
	}
}

// TestReadMapping tells mappings from the lines below them, and those that are
// only of a file from others.
func TestReadMapping(t *testing.T) {
	for line, want := range map[string]struct {
		pure, is bool
	}{
		"00400000-01a2b000 r-xp 00000000 fe:00 131 /usr/bin/legwork":  {pure: true, is: true},
		"01f1e000-01f3d000 rw-p 01b1e000 fe:00 131 /usr/bin/legwork":  {is: true},
		"7f17e6150000-7f17e6350000 r--p 00000000 00:00 0 ":            {is: true},
		"7ffd2d5f1000-7ffd2d612000 rw-p 00000000 00:00 0     [stack]": {is: true},
		"Anonymous:          5636 kB":                                 {},
		"VmFlags: rd wr mr mw me ac":                                  {},
		"face: /mnt":                                                  {},
		"":                                                            {},
	} {
		m, is := readMapping([]byte(line))
		if is != want.is || is && (m.pure != want.pure || m.from >= m.to) {
			t.Errorf("%q is read as %+v, %t; want a mapping %t, pure %t", line, m, is, want.is, want.pure)
		}
	}
}
