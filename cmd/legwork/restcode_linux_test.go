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
