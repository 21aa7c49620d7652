package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints one line: version, commit, Go version.
func (versionCommand) Run(c console) error {
	b := readBuild()
	_, err := fmt.Fprintf(c.out, "legwork %s, commit %s, %s\n", b.version, b.commit, b.goVersion)
	return err
}

// build is what the Go tool wrote into the binary.
type build struct{ version, commit, goVersion string }

func readBuild() build {
	b := build{version: "(devel)", commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.version = cmp.Or(info.Main.Version, b.version)
	b.goVersion = info.GoVersion
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed {
		b.commit += " with changes"
	}
	return b
}
