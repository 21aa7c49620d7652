package bot

import "encoding/json"

// Call is a call of a tool that a person is asked about.
type Call struct {
	Tool      string          `json:"tool"`             // "server.tool"
	Arguments json.RawMessage `json:"arguments"`        // all of them
	Reason    string          `json:"reason,omitempty"` // why it is asked although it usually would not be, such as "host"
	Detail    string          `json:"detail,omitempty"` // what the reason is about
}
