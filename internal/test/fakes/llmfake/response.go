package llmfake

import "time"

// Response is what a model says, how fast, and what goes wrong on the way. The
// zero value is an empty reply, which real endpoints send as well.
type Response struct {
	Text      string     `json:"text,omitempty"`
	Thinking  string     `json:"thinking,omitempty"` // streamed as reasoning_content before the text
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Of a transcription, beside Text, which is empty where nothing is heard:
	Language string  `json:"language,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	// Data is the recording or the picture; nil: a small one of the wanted format.
	Data []byte `json:"-"`
	// Finish is the finish reason; empty: stop, or tool_calls when there are any.
	Finish string `json:"finish,omitempty"`
	// Usage is reported where the request wants it; nil: counted from bytes.
	Usage *Usage `json:"usage,omitempty"`
	// First is the time before the first byte, PerToken the time before each
	// token of a stream. They are kept on average, however coarse the timer is.
	First    time.Duration `json:"-"`
	PerToken time.Duration `json:"-"`
	// Hold holds a stream before its last token until it is closed; nil: nothing does.
	Hold <-chan struct{} `json:"-"`
	// Token is the length of a streamed token in characters; 0: a word.
	Token int `json:"-"`
	// Split flushes a stream after each so many bytes, in the middle of lines
	// and characters; 0: after each event.
	Split int `json:"-"`
	// Body is sent in place of all that, as it is, with Type as its content
	// type; empty: a stream's.
	Body  string `json:"body,omitempty"`
	Type  string `json:"type,omitempty"`
	Fault Fault  `json:"fault,omitzero"`
}

// Usage is OpenAI's token count.
type Usage struct {
	Input  int `json:"input"`
	Cached int `json:"cached"` // of Input
	Output int `json:"output"`
}

// FaultKind says what goes wrong.
type FaultKind string

// The faults of endpoints.
const (
	FaultStatus  FaultKind = "status"  // an error response with Status
	FaultGarbage FaultKind = "garbage" // 200 with JSON that is not the protocol
	FaultHTML    FaultKind = "html"    // 200 with a web page
	FaultEnd     FaultKind = "end"     // the stream ends properly after After events, with no finish reason and no [DONE]
	FaultCut     FaultKind = "cut"     // the connection is closed after After events
	FaultReset   FaultKind = "reset"   // the connection is reset after After events
	FaultStall   FaultKind = "stall"   // nothing follows after After events until the client goes
	FaultHang    FaultKind = "hang"    // not even a status comes until the client goes
	FaultHead    FaultKind = "head"    // a status and headers, and no body until the client goes
	FaultFlood   FaultKind = "flood"   // Message as it is, After times or until the client goes, before the reply
	FaultSlow    FaultKind = "slow"    // each byte takes Every
	FaultError   FaultKind = "error"   // an error object within the stream after After events
	FaultNoDone  FaultKind = "no_done" // a complete stream without [DONE]
)

// Fault is one thing that goes wrong. An unstreamed reply knows End, Cut, Reset
// and Stall as well: it then breaks off after half its bytes.
type Fault struct {
	Kind       FaultKind     `json:"kind,omitempty"`
	Status     int           `json:"status,omitempty"`
	Message    string        `json:"message,omitempty"`     // of FaultStatus and FaultError; empty: a usual one. Of FaultStatus with Type: the body
	Type       string        `json:"type,omitempty"`        // content type of FaultStatus; empty: JSON
	Code       string        `json:"code,omitempty"`        // OpenAI's error code; empty: the usual one
	RetryAfter string        `json:"retry_after,omitempty"` // header of FaultStatus; with "ms" at its end Retry-After-Ms
	After      int           `json:"after,omitempty"`       // events sent before
	Bytes      int           `json:"bytes,omitempty"`       // bytes of a stream sent before, in place of After
	Begun      bool          `json:"begun,omitempty"`       // status and headers are out, also when no event is
	Every      time.Duration `json:"every,omitempty"`       // of FaultSlow; 0: 20 ms
}

// Say answers with text.
func Say(text string) Response { return Response{Text: text} }

// Call answers with one call of a tool; arguments are JSON.
func Call(name, arguments string) Response {
	return Response{ToolCalls: []ToolCall{{Name: name, Arguments: arguments}}}
}

// Status answers with an HTTP error.
func Status(code int) Response {
	return Response{Fault: Fault{Kind: FaultStatus, Status: code}}
}

// Busy answers 429 with a Retry-After header, in seconds, in "300ms" or as a date.
func Busy(retryAfter string) Response {
	return Response{Fault: Fault{Kind: FaultStatus, Status: 429, RetryAfter: retryAfter}}
}

// Broken says text and breaks it as told after that many events.
func Broken(kind FaultKind, after int, text string) Response {
	return Response{Text: text, Fault: Fault{Kind: kind, After: after}}
}

// Script answers the nth request with the nth response, and those after the
// end with the last one.
func Script(responses ...Response) func(Request) Response {
	return func(r Request) Response {
		return responses[min(r.Seq, len(responses))-1]
	}
}
