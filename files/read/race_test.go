//go:build race

package read_test

// underRace: the race detector needs memory beside the program's.
const underRace = true

// testMemory leaves the race detector some memory.
const testMemory = 4 << 30
