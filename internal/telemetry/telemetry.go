// Package telemetry makes a process observable: metrics for Prometheus, and traces
// for receivers of OpenTelemetry. Code that is measured is given a
// *Metrics; code that begins a trace, a *Tracer; all other code finds the
// trace in the context. All of their methods do nothing on nil, and cost next
// to nothing then.
package telemetry

import (
	"cmp"
	"runtime/debug"
)

// Outcomes of calls, as labels. Model calls have the names of their problems,
// HTTP requests their status.
const (
	OK          = "ok"
	Failed      = "failed"
	Unavailable = "unavailable" // it could not be reached
	Refused     = "refused"     // it was not made: it may not be, or its arguments do not fit
	Limited     = "limited"     // the other side wants less of that
	Unknown     = "unknown"     // it was sent, and whether it took effect is unknown
	Gone        = "gone"        // the receiver is gone
	Given       = "given_up"
)

// Build is the version of the program.
type Build struct{ Version, Commit, Go string }

// ReadBuild returns what the Go tool wrote into the binary.
func ReadBuild() Build {
	b := Build{Version: "(devel)", Commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = cmp.Or(info.Main.Version, b.Version), info.GoVersion
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed {
		b.Commit += " with changes"
	}
	return b
}
