package harness

import "math/rand/v2"

// terminalFront is legwork chat --json: what goes in on stdin and comes out on
// stdout. What was not accepted is said again to the next life.
type terminalFront struct {
	s *session
	p *process
}

func (*terminalFront) scenario(r *rand.Rand) []Input { return Scenario(r) }

func (*terminalFront) arguments() []string { return []string{"chat", "--json"} }

func (*terminalFront) config() string { return "" }

func (f *terminalFront) greet(p *process) { f.p = p }

func (*terminalFront) can(Input) bool { return true }

func (f *terminalFront) say(in Input) bool {
	f.p.write(in)
	return false // stdout tells
}

func (*terminalFront) trouble(*rand.Rand) {}

// leave closes stdin: it ends when all it has accepted is done. Again and
// again does no harm.
func (*terminalFront) leave(p *process, _ func() bool) bool {
	_ = p.stdin.Close()
	return false
}

func (*terminalFront) gates() []string { return nil }

func (*terminalFront) collect(*Record) {}

func (*terminalFront) close() error { return nil }
