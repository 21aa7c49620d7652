//go:build !race

package read_test

const underRace = false

// testMemory is the default.
const testMemory = 0
