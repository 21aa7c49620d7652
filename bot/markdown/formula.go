package markdown

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Bounds of a formula: longer or deeper ones are shown as they are written.
const (
	maxFormula      = 1000
	maxFormulaDepth = 8
)

// formulas finds \(x\) and \[x\] and makes them readable.
type formulas struct{}

// Trigger implements parser.InlineParser.
func (formulas) Trigger() []byte { return []byte{'\\'} }

// Parse implements parser.InlineParser.
func (formulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) < 2 || line[1] != '(' && line[1] != '[' {
		return nil
	}
	end := []byte(`\)`)
	if line[1] == '[' {
		end = []byte(`\]`)
	}
	at, segment := block.Position()
	block.Advance(2)
	var body []byte
	for len(body) < maxFormula {
		line, _ := block.PeekLine()
		if line == nil {
			break
		}
		i := bytes.Index(line, end)
		if i < 0 {
			body = append(body, line...)
			block.AdvanceLine()
			continue
		}
		body = append(body, line[:i]...)
		if !isFormula(string(body), end[1] == ']') {
			break
		}
		block.Advance(i + 2)
		return ast.NewString([]byte(formula(string(body))))
	}
	block.SetPosition(at, segment)
	return nil
}

// isFormula reports whether a text between escaped brackets is a formula. Others are
// escaped because their writer wants brackets: \[1\], \(see above\).
func isFormula(body string, square bool) bool {
	if !strings.ContainsFunc(body, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
		return false
	}
	return strings.ContainsAny(body, `\^_={}`) || square && strings.ContainsAny(body, "+<>") || !square && !strings.Contains(strings.TrimSpace(body), " ")
}

// symbols are the commands of LaTeX that stand for a sign.
var symbols = func() map[string]string {
	m := map[string]string{}
	const list = `times × cdot · div ÷ pm ± mp ∓ ast * star ⋆ leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ approx ≈ equiv ≡ sim ∼ propto ∝ ll ≪ gg ≫ ` +
		`infty ∞ to → rightarrow → leftarrow ← Rightarrow ⇒ Leftarrow ⇐ implies ⇒ iff ⇔ Leftrightarrow ⇔ leftrightarrow ↔ mapsto ↦ sum ∑ prod ∏ int ∫ partial ∂ nabla ∇ ` +
		`in ∈ notin ∉ subset ⊂ subseteq ⊆ cup ∪ cap ∩ emptyset ∅ forall ∀ exists ∃ neg ¬ land ∧ wedge ∧ lor ∨ vee ∨ circ ∘ degree ° ` +
		`ldots … dots … cdots … langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ mid | ` +
		`alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ phi φ varphi φ chi χ psi ψ omega ω ` +
		`Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω`
	words := strings.Fields(list)
	for i := 0; i < len(words); i += 2 {
		m[words[i]] = words[i+1]
	}
	for _, name := range strings.Fields("sin cos tan cot arcsin arccos arctan sinh cosh tanh log ln exp lim max min sup inf gcd det dim mod") {
		m[name] = name
	}
	for _, gap := range strings.Fields("quad qquad , ; :") {
		m[gap] = " "
	}
	for _, dropped := range strings.Fields("left right big Big bigg Bigg displaystyle limits !") {
		m[dropped] = ""
	}
	return m
}()

// formula makes LaTeX readable where it is simple. It keeps unknown commands.
func formula(latex string) string {
	p := formulaReader{rest: latex}
	return strings.Join(strings.Fields(p.all(0)), " ")
}

// formulaReader reads a formula from its beginning.
type formulaReader struct{ rest string }

// all reads up to the end of the group.
func (p *formulaReader) all(depth int) string {
	var b strings.Builder
	for p.rest != "" && p.rest[0] != '}' {
		b.WriteString(p.next(depth))
	}
	return b.String()
}

// next reads one element.
func (p *formulaReader) next(depth int) string {
	c, n := utf8.DecodeRuneInString(p.rest)
	if depth >= maxFormulaDepth {
		s := p.rest
		p.rest = ""
		return s
	}
	p.rest = p.rest[n:]
	switch c {
	case '\\':
		return p.command(depth)
	case '{':
		s := p.all(depth + 1)
		p.rest = strings.TrimPrefix(p.rest, "}")
		return s
	case '^':
		return script(superscripts, "^", p.argument(depth))
	case '_':
		return script(subscripts, "_", p.argument(depth))
	case '&':
		return ""
	}
	return string(c)
}

// argument reads the next element after spaces.
func (p *formulaReader) argument(depth int) string {
	p.rest = strings.TrimLeft(p.rest, " \n")
	if p.rest == "" || p.rest[0] == '}' {
		return ""
	}
	return strings.TrimSpace(p.next(depth + 1))
}

// command reads a command, whose backslash is read already.
func (p *formulaReader) command(depth int) string {
	n := len(p.rest) - len(strings.TrimLeftFunc(p.rest, func(c rune) bool { return c < utf8.RuneSelf && unicode.IsLetter(c) }))
	if n == 0 && p.rest != "" {
		_, n = utf8.DecodeRuneInString(p.rest)
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	sign, known := symbols[name]
	switch {
	case known:
		return sign
	case name == `\`, name == "":
		return " "
	case strings.ContainsAny(name, "{}%$#_&| "):
		return name
	}
	switch name {
	case "frac", "dfrac", "tfrac":
		above := atom(p.argument(depth))
		return above + "/" + atom(p.argument(depth))
	case "sqrt":
		return "√" + atom(p.argument(depth))
	case "text", "textbf", "textit", "mathrm", "mathbf", "mathit", "mathsf", "mathbb", "mathcal", "operatorname", "boxed":
		return p.argument(depth)
	}
	return `\` + name
}

// atom puts a term of several parts into parentheses.
func atom(s string) string {
	if utf8.RuneCountInString(s) < 2 || !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '.' }) {
		return s
	}
	return "(" + s + ")"
}

// scripts are the raised or lowered forms of characters.
type scripts map[rune]rune

func newScripts(from, to string) scripts {
	m, forms := scripts{}, []rune(to)
	for i, c := range []rune(from) {
		m[c] = forms[i]
	}
	return m
}

var (
	superscripts = newScripts("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
	subscripts   = newScripts("0123456789+-=()ni", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ")
)

// of returns the form of a text; ok is false when a character has none.
func (s scripts) of(text string) (form string, ok bool) {
	form = strings.Map(func(c rune) rune {
		if r := s[c]; r != 0 {
			return r
		}
		return -1
	}, text)
	return form, utf8.RuneCountInString(form) == utf8.RuneCountInString(text)
}

// script raises or lowers a text, or puts mark before it.
func script(s scripts, mark, text string) string {
	if form, ok := s.of(text); ok {
		return form
	}
	return mark + atom(text)
}
