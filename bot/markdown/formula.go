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

// formulas finds \(x\), \[x\], $x$ and $$x$$ and makes them readable.
type formulas struct{}

// Trigger implements parser.InlineParser.
func (formulas) Trigger() []byte { return []byte{'\\', '$'} }

// Parse implements parser.InlineParser.
func (formulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if line[0] == '$' && isWord(block.PrecendingCharacter()) {
		return nil // an amount such as US$5
	}
	start, end := formulaMarks(string(line[:min(len(line), 2)]))
	if start == "" {
		return nil
	}
	at, segment := block.Position()
	block.Advance(len(start))
	var body []byte
	for len(body) < maxFormula {
		line, _ := block.PeekLine()
		if line == nil {
			break
		}
		near := line[:min(len(line), maxFormula-len(body)+len(end))]
		i := bytes.Index(near, []byte(end))
		if i < 0 && end != "$" && len(near) == len(line) {
			body = append(body, line...)
			block.AdvanceLine()
			continue
		}
		if i < 0 {
			break
		}
		after, _ := utf8.DecodeRune(line[i+len(end):])
		body = append(body, line[:i]...)
		if !isFormula(string(body), end, after) {
			break
		}
		block.Advance(i + len(end))
		return ast.NewString([]byte(formula(string(body))))
	}
	block.SetPosition(at, segment)
	return nil
}

// formulaMarks are the marks around the formula that begins a text; empty when none does.
func formulaMarks(s string) (start, end string) {
	for _, marks := range [...][2]string{{`\(`, `\)`}, {`\[`, `\]`}, {"$$", "$$"}, {"$", "$"}} {
		if strings.HasPrefix(s, marks[0]) {
			return marks[0], marks[1]
		}
	}
	return "", ""
}

// joinFormulas writes each formula that begins a line outside of code in one line:
// lines of it may look like a list or a heading.
func joinFormulas(src string) string {
	if !strings.Contains(src, "$$") && !strings.Contains(src, `\[`) {
		return src
	}
	return rewriteLines(src, func(rest, line string, inCode bool) (string, int) {
		text := strings.TrimLeft(line, " ")
		start, end := formulaMarks(text)
		if inCode || len(start) != 2 || start == `\(` {
			return line, len(line)
		}
		from := len(line) - len(text) + len(start)
		body := rest[from:min(len(rest), len(line)+maxFormula)]
		n := strings.Index(body, end)
		if from+n < len(line) || !isFormula(body[:n], end, 0) || strings.Contains(body[:n], "\n\n") {
			return line, len(line)
		}
		stop := lineStop(rest, from+n)
		return rest[:from] + strings.Join(strings.Fields(body[:n]), " ") + rest[from+n:stop], stop
	})
}

// isFormula reports whether a text between such marks, and before that character, is a
// formula. Other brackets are escaped because their writer wants brackets: \[1\],
// \(see above\). Other dollars are money ($5 and $6) or names ($HOME/$USER).
func isFormula(body, end string, after rune) bool {
	if !strings.ContainsFunc(body, isWord) {
		return false
	}
	inLine := end == "$" || end == `\)`
	if end == "$" && (isWord(after) || body != strings.TrimSpace(body) || manyLetters(body)) {
		return false
	}
	return strings.ContainsAny(body, `\^_={}`) || !inLine && strings.ContainsAny(body, "+<>") || inLine && !strings.Contains(strings.TrimSpace(body), " ")
}

// manyLetters reports whether a text is a name of three letters or more.
func manyLetters(s string) bool {
	return len(s) > 2 && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsLetter(c) && c != '_' })
}

// symbols are the commands of LaTeX that stand for a sign.
var symbols = func() map[string]string {
	m := map[string]string{}
	const list = `times × cdot · div ÷ pm ± mp ∓ ast * star ⋆ leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ approx ≈ equiv ≡ sim ∼ propto ∝ ll ≪ gg ≫ ` +
		`infty ∞ to → rightarrow → leftarrow ← Rightarrow ⇒ Leftarrow ⇐ implies ⇒ iff ⇔ Leftrightarrow ⇔ leftrightarrow ↔ mapsto ↦ gets ← uparrow ↑ downarrow ↓ longrightarrow ⟶ sum ∑ prod ∏ int ∫ iint ∬ oint ∮ partial ∂ nabla ∇ ` +
		`in ∈ notin ∉ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ setminus ∖ cup ∪ cap ∩ emptyset ∅ forall ∀ exists ∃ neg ¬ land ∧ wedge ∧ lor ∨ vee ∨ circ ∘ degree ° oplus ⊕ otimes ⊗ perp ⊥ parallel ∥ angle ∠ triangle △ cong ≅ simeq ≃ therefore ∴ because ∵ prime ′ bullet • hbar ℏ ell ℓ ` +
		`ldots … dots … cdots … langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ mid | vert | lvert | rvert | Vert ‖ lVert ‖ rVert ‖ | ‖ colon : ` +
		`alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ varphi φ vartheta ϑ varrho ϱ chi χ psi ψ omega ω ` +
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
	for _, dropped := range strings.Fields("left right bigl bigr big Big bigg Bigg displaystyle textstyle limits nolimits nonumber hline !") {
		m[dropped] = ""
	}
	return m
}()

// formula makes LaTeX readable where it is simple. It keeps unknown commands.
func formula(latex string) string {
	p := formulaReader{rest: strings.ReplaceAll(latex, "\n", " "), row: "\n"}
	var lines []string
	for line := range strings.SplitSeq(p.all(0), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// formulaReader reads a formula from its beginning.
type formulaReader struct {
	rest      string
	cell, row string // what & and \\ stand for
}

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
		return p.cell
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
	case name == `\`:
		if i := strings.IndexByte(p.rest, ']'); i > 0 && i < 8 && p.rest[0] == '[' {
			p.rest = p.rest[i+1:] // the space below the row
		}
		return p.row
	case name == "":
		return " "
	case strings.ContainsAny(name, "{}%$#_&| "):
		return name
	}
	switch name {
	case "begin":
		return p.environment(depth)
	case "frac", "dfrac", "tfrac", "cfrac":
		above := atom(p.argument(depth))
		return above + "/" + atom(p.argument(depth))
	case "sqrt":
		root := ""
		if i := strings.IndexByte(p.rest, ']'); i > 0 && i < 8 && p.rest[0] == '[' {
			root = script(superscripts, "", p.rest[1:i])
			p.rest = p.rest[i+1:]
		}
		return root + "√" + atom(p.argument(depth))
	case "vec", "overrightarrow", "hat", "widehat", "bar", "overline", "tilde", "widetilde", "dot", "ddot":
		return p.argument(depth) + accents[name]
	case "text", "textbf", "textit", "mathrm", "mathbf", "mathit", "mathsf", "mathbb", "mathcal", "operatorname", "boxed":
		return p.argument(depth)
	}
	return `\` + name
}

// accents are the marks over the last letter of an argument.
var accents = map[string]string{
	"vec": "\u20d7", "overrightarrow": "\u20d7", "hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0304",
	"tilde": "\u0303", "widetilde": "\u0303", "dot": "\u0307", "ddot": "\u0308",
}

// brackets are the brackets around matrices and cases.
var brackets = map[string][2]string{
	"matrix": {}, "smallmatrix": {}, "array": {}, "pmatrix": {"(", ")"}, "bmatrix": {"[", "]"}, "Bmatrix": {"{", "}"},
	"vmatrix": {"|", "|"}, "Vmatrix": {"‖", "‖"}, "cases": {"{ ", ""},
}

// environment reads what stands between \begin{name}, whose command is read already, and
// \end{name}: rows of a matrix in one line, as in (a, b; c, d), others as lines.
func (p *formulaReader) environment(depth int) string {
	name, rest, _ := strings.Cut(p.rest, "}")
	body, after, found := strings.Cut(rest, `\end`+name+"}")
	if !found || !strings.HasPrefix(name, "{") {
		return `\begin`
	}
	p.rest = after
	marks, inLine := brackets[name[1:]]
	inner := formulaReader{rest: body, row: "\n"}
	if inLine {
		inner.cell, inner.row = ", ", "; "
	}
	if name == "{array" && strings.HasPrefix(body, "{") {
		_, inner.rest, _ = strings.Cut(body, "}") // the columns
	}
	var b strings.Builder
	for inner.rest != "" {
		b.WriteString(inner.all(depth + 1))
		inner.rest = strings.TrimPrefix(inner.rest, "}")
	}
	if !inLine {
		return b.String()
	}
	s := strings.Join(strings.Fields(b.String()), " ")
	s = strings.NewReplacer(" ,", ",", " ;", ";").Replace(s)
	return marks[0] + strings.TrimSuffix(s, ";") + marks[1]
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
	superscripts = newScripts("0123456789+-=()niT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀ")
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
