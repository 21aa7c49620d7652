//go:build !race

package read_test

const underRace = false
