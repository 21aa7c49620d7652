package cli

import (
	"os"
	"strings"
	"time"
)

// Timezone is the time zone of the environment or the machine, and UTC when neither
// names one.
func Timezone(env func(string) (string, bool)) string {
	name, _ := env("TZ")
	if name = strings.TrimPrefix(name, ":"); name == "" {
		link, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return "UTC"
	}
	return name
}
