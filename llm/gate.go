package llm

// Held is the Problem of a call that Options.Gate kept from being made: nothing
// is wrong with the model, and nobody is told.
const Held Problem = "held"

// held is the fault of an attempt that is not to be made now; nil otherwise.
func (m *Models) held() *fault {
	if m.gate == nil {
		return nil
	}
	if err := m.gate(); err != nil {
		return &fault{problem: Held, err: err}
	}
	return nil
}
