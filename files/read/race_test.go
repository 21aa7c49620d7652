//go:build race

package read_test

// underRace: the race detector needs memory beside the program's.
const underRace = true
