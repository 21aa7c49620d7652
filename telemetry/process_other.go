//go:build !unix

package telemetry

// cpuSeconds and fileLimit are not known here.
func cpuSeconds() float64 { return 0 }

func fileLimit() float64 { return 0 }
