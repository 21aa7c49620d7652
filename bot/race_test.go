//go:build race

package bot

// hostileSize is less here, because the race detector makes rendering slow.
const hostileSize = 4 << 10
