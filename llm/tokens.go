package llm

import "sync"

// bytesPerToken is what a token holds before anything is known of a model.
const bytesPerToken = 4

// EstimateTokens guesses the tokens of so many bytes of text for a model of
// which nothing is known. It rounds up.
func EstimateTokens(bytes int) int { return (max(bytes, 0) + bytesPerToken - 1) / bytesPerToken }

// gauge learns how many bytes a token of one model holds from the usage that
// its endpoint reports. Larger and newer prompts count more. It is safe for
// concurrent use; the zero value knows nothing yet.
type gauge struct {
	mu     sync.Mutex
	bytes  float64 // seen, fading
	tokens float64 // reported for them
}

// The gauge starts as if it had seen priorBytes at the usual rate, and halves
// what it knows with each memoryBytes that it sees.
const (
	priorBytes  = 2000
	memoryBytes = 256 << 10
)

// learn takes in that a prompt of so many bytes was counted as so many tokens.
// A report that no tokenizer can give is passed over.
func (g *gauge) learn(bytes, tokens int) {
	if bytes <= 0 || tokens <= 0 || tokens > 4*bytes+100 || bytes > 64*tokens {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	fade := float64(memoryBytes) / float64(memoryBytes+bytes)
	g.bytes = g.bytes*fade + float64(bytes)
	g.tokens = g.tokens*fade + float64(tokens)
}

// perByte is the tokens of one byte.
func (g *gauge) perByte() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return (g.tokens + priorBytes/bytesPerToken) / (g.bytes + priorBytes)
}

// Tokens estimates the tokens of so many bytes for the model of a role, or for
// a model's name in the config. It is calibrated by the usage that the
// endpoint reported so far.
func (m *Models) Tokens(role string, bytes int) int {
	e := m.find(role)
	if e == nil {
		return EstimateTokens(bytes)
	}
	return e.tokens(bytes)
}

// Bytes is the inverse of Tokens: how many bytes so many tokens hold.
func (m *Models) Bytes(role string, tokens int) int {
	e := m.find(role)
	if e == nil {
		return max(tokens, 0) * bytesPerToken
	}
	return int(float64(max(tokens, 0)) / e.gauge.perByte())
}

// Context is the context_tokens of the model of a role, or of a model's name
// in the config, or less where its endpoint has said so; 0 when there is none.
func (m *Models) Context(role string) int {
	if e := m.find(role); e != nil {
		return e.context()
	}
	return 0
}

// promptReserve is the part of a context that the definitions of tools and the
// framing of messages may take, in tokens.
const promptReserve = 4000

// PromptBytes is how many bytes the messages of a prompt of that role may hold,
// so that the reply fits into the context as well; at least a quarter of the
// context, and 0 for a role that has no model.
func (m *Models) PromptBytes(role string) int {
	e := m.find(role)
	if e == nil {
		return 0
	}
	tokens := e.context() - e.maxOutput() - promptReserve
	return m.Bytes(role, max(tokens, e.context()/4))
}

func (e *endpoint) tokens(bytes int) int {
	n := float64(max(bytes, 0)) * e.gauge.perByte()
	if whole := int(n); float64(whole) == n {
		return whole
	}
	return int(n) + 1
}
