//go:build !race

package bot

// hostileSize is how long hostile texts are, in bytes.
const hostileSize = 64 << 10
