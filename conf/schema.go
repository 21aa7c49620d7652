package conf

import (
	_ "embed"
	"slices"
)

// schema is generated from the types of the config by a test, which also keeps
// it current.
//
//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (draft 2020-12) of the config file, indented.
// Every config that Load accepts fits it, but for merge keys and keys without a
// value; it knows nothing of names that must exist elsewhere in the file.
func Schema() []byte { return slices.Clone(schema) }
