//go:build race

package bot

// slowdown is what the race detector costs.
const slowdown = 12
