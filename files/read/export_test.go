package read

// Confine is what the process that reads does first.
func Confine(l Limits) error { return confine(l, 0, 0) }
