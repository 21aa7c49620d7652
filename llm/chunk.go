package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// chunk is one event of a streamed reply, or the whole of a reply that is not
// streamed. It has what go-openai's type leaves out: reasoning under its second
// name, contents in parts, arguments that are objects, errors in mid-stream.
type chunk struct {
	Choices []struct {
		Index        int    `json:"index"`
		Delta        piece  `json:"delta"`
		Message      piece  `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// piece is a part of the assistant's message.
type piece struct {
	Content          content    `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent content    `json:"reasoning_content"`
	Reasoning        content    `json:"reasoning"`
	ToolCalls        []callPart `json:"tool_calls"`
}

// callPart is a part of a tool call; an index may be missing.
type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// content is text, or a list of parts some of which are thinking.
type content struct{ text, thinking string }

// UnmarshalJSON takes a string, null, or a list of parts with text in them;
// anything else is no text.
func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		c.text = asText(raw)
		return nil
	}
	var parts []struct {
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += asText(p.Text)
		c.thinking += joined(p.Thinking)
	}
	return nil
}

// joined is a string, or the texts of a list of parts.
func joined(raw json.RawMessage) string {
	var parts []struct {
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return asText(raw)
	}
	all := ""
	for _, p := range parts {
		all += asText(p.Text)
	}
	return all
}

// arguments is JSON in a string, as the protocol has it, or the JSON itself.
type arguments string

// UnmarshalJSON keeps other JSON than a string, in its compact form.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	if string(raw) == "null" {
		return nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, raw)
	*a = arguments(out.String())
	return err
}

// readUsage reads the field in all its spellings; ok is false when it is missing, all
// zero or negative.
func readUsage(raw json.RawMessage) (u Usage, ok bool) {
	var said struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
		Input      float64 `json:"input_tokens"` // of pictures and transcriptions
		Output     float64 `json:"output_tokens"`
		CacheHit   float64 `json:"prompt_cache_hit_tokens"`
		Details    struct {
			Cached float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &said) != nil || said.Prompt < 0 || said.Completion < 0 {
		return Usage{}, false
	}
	u.Input = count(cmp.Or(said.Prompt, said.Input))
	u.Output = count(cmp.Or(said.Completion, said.Output))
	u.CachedInput = min(max(count(said.Details.Cached), count(said.CacheHit)), u.Input)
	return u, u.Input > 0 || u.Output > 0
}

// count bounds a number of the endpoint to the range of the ledger.
func count(n float64) int { return int(min(max(n, 0), 1<<31-1)) }

// thinkTags open and close thinking that a server left in the text.
var thinkTags = [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}}

// maxMargin is the longest white space before such a block.
const maxMargin = 256

// splitter takes a block of thinking out of the beginning of a reply's text, while
// the text streams in.
type splitter struct {
	state   splitState
	closing string // tag that ends the block
	held    string // text that may turn out to be the beginning of a tag
}

type splitState int

const (
	atStart splitState = iota
	inThinking
	inText
)

// add takes a piece of text and returns the parts that are surely text and thinking.
func (s *splitter) add(piece string) (text, thinking string) {
	if s.state == inText && s.held == "" {
		return piece, ""
	}
	s.held += piece
	if s.state == atStart {
		s.start()
	}
	if s.state == inThinking {
		thinking = s.think()
	}
	if s.state == inText {
		text, s.held = s.held, ""
	}
	return text, thinking
}

func (s *splitter) start() {
	begin := strings.TrimLeft(s.held, " \t\r\n")
	for _, tag := range thinkTags {
		if rest, ok := strings.CutPrefix(begin, tag[0]); ok {
			s.state, s.closing, s.held = inThinking, tag[1], rest
			return
		}
		if len(s.held) < maxMargin && strings.HasPrefix(tag[0], begin) {
			return
		}
	}
	s.state = inText
}

func (s *splitter) think() (thinking string) {
	if before, after, ok := strings.Cut(s.held, s.closing); ok {
		s.state, s.held = inText, strings.TrimLeft(after, " \t\r\n")
		return before
	}
	keep := min(len(s.held), len(s.closing)-1)
	for keep > 0 && !strings.HasPrefix(s.closing, s.held[len(s.held)-keep:]) {
		keep--
	}
	thinking = s.held[:len(s.held)-keep]
	s.held = s.held[len(s.held)-keep:]
	return thinking
}

// end returns the text that was held back, at the end of the reply.
func (s *splitter) end() (text, thinking string) {
	held := s.held
	s.held = ""
	if s.state == inThinking {
		return "", held
	}
	return held, ""
}
