package llm

import "math"

// Quote is the most that one attempt at a request takes: the tokens of its
// prompt, as far as they can be told before, and of the longest reply, at the
// dearest of the models that may be called. It is zero where the request names
// no model.
func (m *Models) Quote(r Request) Usage {
	first, err := m.choose(r)
	if err != nil {
		return Usage{}
	}
	var most Usage
	for _, e := range m.chain(first) {
		most = most.dearer(e.quote(promptBytes(e.wire(r)), r.MaxOutput))
	}
	return most
}

// QuoteTokens is what so many tokens of prompt and reply cost at most with the
// model of a role, or with the one of a configured name, and its fallbacks.
// Negative output stands for the longest reply.
func (m *Models) QuoteTokens(roleOrName string, input, output int) Usage {
	first := m.find(roleOrName)
	if first == nil {
		return Usage{Input: input, Output: max(output, 0), Estimated: true}
	}
	var most Usage
	for _, e := range m.chain(first) {
		reply := output
		if reply < 0 {
			reply = e.config.MaxOutputTokens
		}
		most = most.dearer(e.priced(Usage{Input: input, Output: min(reply, e.config.MaxOutputTokens), Estimated: true}))
	}
	return most
}

// dearer takes the greater of two quotes, in tokens and in money.
func (u Usage) dearer(v Usage) Usage {
	return Usage{
		Input: max(u.Input, v.Input), Output: max(u.Output, v.Output), Cost: max(u.Cost, v.Cost), Estimated: u.Estimated || v.Estimated,
	}
}

func (e *endpoint) quote(prompt, most int) Usage {
	return e.priced(Usage{Input: e.tokens(prompt), Output: e.output(most), Estimated: true})
}

// output is how many tokens a reply may have; most is what the request says.
func (e *endpoint) output(most int) int {
	if most <= 0 {
		return e.maxOutput()
	}
	return min(most, e.maxOutput())
}

// priced adds what a usage costs, as far as the price is known. A part of a
// millionth counts as a whole one.
func (e *endpoint) priced(u Usage) Usage {
	p := e.config.Price
	if p == nil {
		return u
	}
	cached := p.Input
	if p.CachedInput != nil {
		cached = *p.CachedInput
	}
	sum := float64(max(u.Input-u.CachedInput, 0))*p.Input + float64(u.CachedInput)*cached + float64(u.Output)*p.Output
	u.Cost = int64(math.Ceil(min(max(sum-1e-6, 0), math.MaxInt64/2)))
	return u
}

// Chosen is the configured name of the model that a request asks for; empty
// where there is none.
func (m *Models) Chosen(r Request) string {
	if e, err := m.choose(r); err == nil {
		return e.name
	}
	return ""
}
