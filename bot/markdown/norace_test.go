//go:build !race

package markdown

// hostileSize is how long hostile texts are, in bytes.
const hostileSize = 64 << 10
