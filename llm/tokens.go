package llm

import (
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"sync"
)

// bytesPerToken is the size of a token before an endpoint has reported usage.
const bytesPerToken = 4

// EstimateTokens guesses the tokens of so many bytes of text for an unknown model. It
// rounds up.
func EstimateTokens(bytes int) int { return (max(bytes, 0) + bytesPerToken - 1) / bytesPerToken }

// tokenRatio measures how many bytes a token of one model holds from the usage that
// its endpoint reports. Larger and newer prompts count more. It is safe for
// concurrent use; the zero value knows nothing yet.
type tokenRatio struct {
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

// learn adds the measurement that a prompt of so many bytes had so many tokens.
// It ignores figures that no tokenizer can produce.
func (g *tokenRatio) learn(bytes, tokens int) {
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
func (g *tokenRatio) perByte() float64 {
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
	return int(float64(max(tokens, 0)) / e.tokenRatio.perByte())
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

func (e *endpoint) promptTokens(p promptSize) int { return e.tokens(p.bytes) + p.images*ImageTokens }

func (e *endpoint) tokens(bytes int) int {
	return int(math.Ceil(float64(max(bytes, 0)) * e.tokenRatio.perByte()))
}

// contextLimit finds the size of the context in the errors of the usual servers: "maximum context length is 8192 tokens", "available
// context size (4096 tokens)", "201000 tokens > 200000 maximum", "exceeds the
// maximum number of tokens allowed (1048576)".
var contextLimit = regexp.MustCompile(`(?i)(?:context (?:length|size|window)\D{0,30}|tokens? > ?|tokens allowed \(|n_ctx\D{1,4})(\d{3,8})\b`)

// minContext is the smallest plausible context, in tokens.
const minContext = 512

// context returns how many tokens prompt and reply may have together: what the
// config says, or less where the endpoint said so.
func (e *endpoint) context() int {
	if n := int(e.quirks.context.Load()); n > 0 && n < e.config.ContextTokens {
		return n
	}
	return e.config.ContextTokens
}

// maxOutput is how long a reply may be: no more than half of a context that
// turned out to be smaller than the config says.
func (e *endpoint) maxOutput() int {
	if n := e.context(); n < e.config.ContextTokens {
		return min(e.config.MaxOutputTokens, n/2)
	}
	return e.config.MaxOutputTokens
}

// learnContext reads the size of the context from the error of an endpoint. It
// reports whether a prompt of that size may fit now, because less room is kept
// for the reply.
func (e *endpoint) learnContext(f *fault, prompt promptSize, log *slog.Logger) bool {
	found := contextLimit.FindStringSubmatch(f.err.Error())
	if f.problem != TooLong || found == nil {
		return false
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n < minContext || n >= e.context() {
		return false
	}
	e.quirks.context.Store(int64(n))
	log.Warn("context smaller than configured", "model", e.name, "context_tokens", e.config.ContextTokens, "found", n)
	return e.promptTokens(prompt)+e.maxOutput() <= n
}

// plausible reports whether a usage is possible for an attempt: no more tokens
// than a prompt of so many bytes can have, and no reply far beyond its limit.
func (e *endpoint) plausible(u Usage, prompt, reply int) bool {
	const much = 10000
	return u.Input <= 4*prompt+much && u.Output <= 4*reply+4*e.config.MaxOutputTokens+much
}

// Quote is the most that one attempt at a request takes: the tokens of its
// prompt, as far as they are known before the call, and of the longest reply, at the
// dearest of the models that may be called. It is zero where the request names
// no model.
func (m *Models) Quote(r Request) Usage {
	first, err := m.choose(r)
	if err != nil {
		return Usage{}
	}
	var most Usage
	for _, e := range m.chain(first) {
		most = most.max(e.quote(sizeOf(e.wire(r)), r.MaxOutput))
	}
	return most
}

// QuoteTokens is what so many tokens of prompt and reply cost at most with the
// model of a role, or with the one of a configured name, and its fallbacks.
// A negative output means the longest reply.
func (m *Models) QuoteTokens(roleOrName string, input, output int) Usage {
	first := m.find(roleOrName)
	if first == nil {
		return Usage{Input: input, Output: max(output, 0), Estimated: true, Unpriced: true}
	}
	var most Usage
	for _, e := range m.chain(first) {
		reply := e.config.MaxOutputTokens
		if output >= 0 {
			reply = min(output, reply)
		}
		most = most.max(e.priced(Usage{Input: input, Output: reply, Estimated: true}))
	}
	return most
}

// QuoteUsage returns u with the most that it costs with the model of a role, or with
// the one of a configured name, and its fallbacks.
func (m *Models) QuoteUsage(roleOrName string, u Usage) Usage {
	first := m.find(roleOrName)
	u.Estimated = true
	if first == nil {
		u.Unpriced = true
		return u
	}
	most := u
	for _, e := range m.chain(first) {
		most = most.max(e.priced(u))
	}
	return most
}

// max returns the greater of two quotes, in tokens and in money.
func (u Usage) max(v Usage) Usage {
	return Usage{
		Input: max(u.Input, v.Input), Output: max(u.Output, v.Output), Cost: max(u.Cost, v.Cost),
		Estimated: u.Estimated || v.Estimated, Unpriced: u.Unpriced || v.Unpriced,
		Images: max(u.Images, v.Images), AudioSeconds: max(u.AudioSeconds, v.AudioSeconds), Characters: max(u.Characters, v.Characters),
	}
}

func (e *endpoint) quote(prompt promptSize, most int) Usage {
	return e.priced(Usage{Input: e.promptTokens(prompt), Output: e.output(most), Estimated: true})
}

// output is how many tokens a reply may have; most is the bound of the request.
func (e *endpoint) output(most int) int {
	if most <= 0 {
		return e.maxOutput()
	}
	return min(most, e.maxOutput())
}

// priced adds the cost of a usage, or notes that a price is not known. It rounds up
// to a millionth of a dollar.
func (e *endpoint) priced(u Usage) Usage {
	p := e.config.Price
	if p == nil {
		u.Unpriced = !u.Empty()
		return u
	}
	cached := p.Input
	if p.CachedInput != nil {
		cached = *p.CachedInput
	}
	sum := float64(max(u.Input-u.CachedInput, 0))*p.Input + float64(u.CachedInput)*cached + float64(u.Output)*p.Output
	for _, unit := range units() {
		switch price := unit.costs(p); {
		case unit.used(u) == 0:
		case price == nil:
			u.Unpriced = true
		default:
			sum += float64(unit.used(u)) / unit.size * *price * 1e6
		}
	}
	u.Cost = int64(math.Ceil(min(max(sum-1e-6, 0), math.MaxInt64/2)))
	return u
}

// Measured reports whether the model that a request asks for has sent a whole reply
// since the start. Until then quotes guess how it counts tokens.
func (m *Models) Measured(r Request) bool {
	e, err := m.choose(r)
	return err != nil || e.measured.Load()
}

// Chosen is the configured name of the model that a request asks for; empty
// where there is none.
func (m *Models) Chosen(r Request) string {
	if e, err := m.choose(r); err == nil {
		return e.name
	}
	return ""
}
