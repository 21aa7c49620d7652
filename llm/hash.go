package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// RequestHash tells whether a request that is built again is the one that was sent.
// Each part is the beginning of a SHA-256 in hexadecimal.
type RequestHash struct {
	Messages string `json:"messages"`
	Tools    string `json:"tools,omitempty"` // empty: there were none
}

// Hash returns the hash of a request. The model that it goes to and the limit of the
// reply are no part of it.
func (r Request) Hash() RequestHash {
	h := RequestHash{Messages: hashOf(r.Messages)}
	if len(r.Tools) > 0 {
		h.Tools = hashOf(r.Tools)
	}
	return h
}

func hashOf(v any) string {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(v) //nolint:errchkjson // texts and bytes always encode; a bad schema leaves the hash short
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
