//go:build !race

package need

const underRace = false
