package alerts

// Wish reads a Retry-After header.
var Wish = retryAfter
