package llm

import (
	"log/slog"
	"regexp"
	"strconv"
)

// saidContext finds the tokens that a model takes in the words with which the
// usual servers refuse more: "maximum context length is 8192 tokens", "available
// context size (4096 tokens)", "201000 tokens > 200000 maximum", "exceeds the
// maximum number of tokens allowed (1048576)".
var saidContext = regexp.MustCompile(`(?i)(?:context (?:length|size|window)\D{0,30}|tokens? > ?|tokens allowed \(|n_ctx\D{1,4})(\d{3,8})\b`)

// leastContext is the smallest context that is believed, in tokens.
const leastContext = 512

// context is what prompt and reply may hold together: what the config says, or
// less where the endpoint said so.
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

// learnContext takes in what an endpoint says that it holds. It reports that a
// prompt of so many bytes may fit now, as less room is kept for the reply.
func (e *endpoint) learnContext(f *fault, prompt int, log *slog.Logger) bool {
	found := saidContext.FindStringSubmatch(f.err.Error())
	if f.problem != TooLong || found == nil {
		return false
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n < leastContext || n >= e.context() {
		return false
	}
	e.quirks.context.Store(int64(n))
	log.Warn("a model holds less than the config says", "model", e.name, "context_tokens", e.config.ContextTokens, "holds", n)
	return e.tokens(prompt)+e.maxOutput() <= n
}

// plausible reports that a usage can be that of the attempt: neither more tokens
// than a prompt of so many bytes can have, nor a reply far beyond its limit.
func (e *endpoint) plausible(u Usage, prompt, reply int) bool {
	const much = 10000
	return u.Input <= 4*prompt+much && u.Output <= 4*reply+4*e.config.MaxOutputTokens+much
}
