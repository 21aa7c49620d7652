package api

// descriptions says what schemas and their fields mean.
func descriptions() map[string]string { return map[string]string{} }
