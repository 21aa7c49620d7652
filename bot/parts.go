package bot

import (
	"fmt"
	"time"
)

// Parts divides a draft among n messages: they differ in Part, the last one
// alone has the buttons and the footer, and the first one alone the file.
func (d *Draft) Parts(n int) []Draft {
	parts := make([]Draft, n)
	for i := range parts {
		parts[i] = *d
		parts[i].Part = i + 1
		if i < n-1 {
			parts[i].Footer, parts[i].Buttons = "", nil
		}
		if i > 0 {
			parts[i].File = nil
		}
	}
	return parts
}

// Clock writes a duration as a watch shows it: 0:12, 3:05, 1:02:03. Parts of a
// second do not count.
func Clock(d time.Duration) string {
	seconds := int(d / time.Second)
	if seconds < 3600 {
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
