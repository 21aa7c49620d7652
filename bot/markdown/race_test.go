//go:build race

package markdown

// hostileSize is less here, because the race detector makes rendering slow.
const hostileSize = 4 << 10
