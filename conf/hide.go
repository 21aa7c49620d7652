package conf

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Hidden is the text of a config file in which a mark such as «hidden:3f2a9c1e» stands
// in place of each part of a secret. References such as ${NAME} stay as they are: their
// values are no part of the text.
type Hidden struct {
	Text  string
	Marks map[string]Mark // by the mark as it stands in Text
}

// Mark is the part of the text that a mark replaces. It never spans a line.
type Mark struct {
	text string   // as in the file, with its escapes
	keys []string // at which it stands, with [] for each index; none: in a comment
}

// ErrNotHidden says that a text has secrets that cannot be told from the rest of it.
var ErrNotHidden = errors.New("the secrets in the file cannot be told from the rest of it")

// Draft is a text of a config file, looked at without being used.
type Draft struct {
	Config   *Config // nil when Errors has any
	Errors   Errors  // all mistakes, as Load returns them
	Warnings Errors
	text     string
	root     *yaml.Node // nil when the text is not one YAML document
	parts    *Config    // the keys without mistakes
	own      secretSet  // of parts
	known    []string   // credentials of parts, wherever they stand
}

// ReadDraft checks a text as Load checks the file at path. It changes nothing.
func ReadDraft(path, text string, env func(string) (string, bool)) Draft {
	root, errs := parse(path, []byte(text))
	if errs != nil {
		return Draft{Errors: errs.within([]byte(text)), text: text}
	}
	config, errs := readRoot(path, []byte(text), root, env)
	d := Draft{Errors: errs, Warnings: config.Warnings(), text: text, root: root, parts: config, own: config.ownSecrets(), known: config.Credentials()}
	if len(errs) == 0 {
		d.Config = config
	}
	return d
}

// Hide replaces the secrets of the text. mark makes the mark of a part of a secret, the
// same one for the same part. The error is ErrNotHidden, also for a text that is not
// YAML.
func (d Draft) Hide(mark func(string) string) (Hidden, error) {
	if d.root == nil {
		return Hidden{}, ErrNotHidden
	}
	h := Hidden{Marks: map[string]Mark{}}
	var out strings.Builder
	end := 0
	for _, s := range d.spans() {
		part := d.text[s.from:s.to]
		name := mark(part)
		m := h.Marks[name]
		m.text = part
		for _, key := range s.keys {
			m.keys = append(m.keys, withoutIndexes(key))
		}
		h.Marks[name] = m
		out.WriteString(d.text[end:s.from] + name)
		end = s.to
	}
	out.WriteString(d.text[end:])
	h.Text = out.String()
	return h, d.checkHidden(h.Text)
}

// checkHidden returns ErrNotHidden unless the text with marks has the keys of the
// original and none of its secrets.
func (d Draft) checkHidden(hidden string) error {
	root, errs := parse("", []byte(hidden))
	if errs != nil {
		return ErrNotHidden
	}
	before, whole := leaves(d.root)
	after, _ := leaves(root)
	if !whole || len(before) != len(after) {
		return ErrNotHidden
	}
	for i, now := range after {
		was := before[i]
		if was.key() != now.key() || was.Line != now.Line {
			return ErrNotHidden
		}
		for _, secret := range d.secretsAt(was) {
			if strings.Contains(markForm.ReplaceAllString(now.Value, ""), secret) {
				return ErrNotHidden
			}
		}
	}
	return nil
}

// span is a part of the text that is hidden, in bytes. keys are those at which it
// stands: several for an anchored value, none in a comment.
type span struct {
	from, to int
	keys     []string
}

// spans lists what is hidden, in order and without overlap.
func (d Draft) spans() []span {
	at := &locator{text: d.text, lines: lineStarts(d.text)}
	var all []span
	covered := make([]span, 0, 64) // scalars, in which a # begins no comment
	seen := map[*yaml.Node]bool{}
	values, _ := leaves(d.root)
	for _, l := range values {
		if l.Kind != yaml.ScalarNode {
			continue
		}
		from, to := at.extent(l.Node)
		seen[l.Node] = true
		for _, secret := range d.secretsAt(l) {
			all = append(all, d.spansOf(from, to, secret, l)...)
		}
		if secretKey(l.key()) {
			for _, part := range defaultValue.FindAllStringSubmatchIndex(d.text[from:to], -1) {
				all = append(all, span{from + part[2], from + part[3], []string{l.key()}})
			}
		}
	}
	eachNode(d.root, func(n *yaml.Node, isKey bool) {
		if n.Kind != yaml.ScalarNode {
			return
		}
		from, to := at.extent(n)
		covered = append(covered, span{from: from, to: to})
		if !isKey && !seen[n] && n.ShortTag() == "!!str" { // of a key that is set twice
			all = append(all, d.spansOf(from, to, n.Value, leaf{Node: n, path: []string{"?"}})...)
		}
	})
	all = append(all, d.secretComments(at.lines, covered)...)
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	joined := all[:0]
	for _, s := range all {
		if n := len(joined); n > 0 && s.from < joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			joined[n-1].keys = append(joined[n-1].keys, s.keys...)
		} else if s.from < s.to {
			joined = append(joined, s)
		}
	}
	return joined
}

// defaultValue is the default of a ${NAME:-default}.
var defaultValue = regexp.MustCompile(`:-([^${}\s]+)\}`)

// secretKey reports whether the name of a key is that of a secret.
func secretKey(key string) bool {
	name := key[strings.LastIndexByte(key, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	return secretArgument.MatchString(name)
}

// secretsAt lists the secrets in the value of a leaf that stand in the file itself.
func (d Draft) secretsAt(l leaf) (list []string) {
	if l.Kind != yaml.ScalarNode || l.Value == "" || l.ShortTag() == "!!null" {
		return nil
	}
	key := l.key()
	refers := strings.Contains(strings.ReplaceAll(l.Value, "$$", ""), "${")
	if _, known := d.parts.places[key]; !refers && l.ShortTag() == "!!str" && (secretKey(key) || !known) {
		list = append(list, l.Value)
	}
	for _, secret := range d.known {
		if strings.Contains(l.Value, secret) {
			list = append(list, secret)
		}
	}
	for secret, keys := range d.own {
		under := slices.ContainsFunc(keys, func(k string) bool {
			return key == k || strings.HasPrefix(key, k+".") || strings.HasPrefix(key, k+"[")
		})
		switch {
		case !under:
		case strings.Contains(l.Value, secret):
			list = append(list, secret)
		case !refers && strings.ReplaceAll(l.Value, "$$", "$") == secret:
			list = append(list, l.Value)
		}
	}
	return list
}

// spansOf lists where a secret stands in the text of a scalar: as it is, or else the
// whole scalar, line by line.
func (d Draft) spansOf(from, to int, secret string, l leaf) (list []span) {
	raw := d.text[from:to]
	if !strings.ContainsAny(secret, "\n\r") {
		for at := range occurrences(raw, secret) {
			list = append(list, span{from + at, from + at + len(secret), []string{l.key()}})
		}
		if list != nil {
			return list
		}
	}
	block := l.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	for i, line := range strings.SplitAfter(raw, "\n") {
		start, text := from, strings.TrimRight(line, "\r\n")
		from += len(line)
		if block && i == 0 { // the indicator
			continue
		}
		start += len(text) - len(strings.TrimLeft(text, " \t"))
		text = strings.TrimSpace(text)
		if l.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			inside := strings.TrimLeft(text, `"'`)
			start += len(text) - len(inside)
			text = strings.TrimRight(inside, `"'`)
		}
		if text != "" {
			list = append(list, span{start, start + len(text), []string{l.key()}})
		}
	}
	return list
}

// occurrences yields the offsets of part in text.
func occurrences(text, part string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; part != ""; {
			i := strings.Index(text[at:], part)
			if i < 0 || !yield(at+i) {
				return
			}
			at += i + len(part)
		}
	}
}

// commentSecret is a value with a secret name in a comment.
var commentSecret = regexp.MustCompile(`(?i)[\w-]*(?:key|token|secret|passw(?:or)?d|pwd|credentials?|authorization|cookie|signature)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?([^\s"',}#$<{][^\s"',}#]{5,})`)

// secretComments lists the values in comments that look like secrets, and known
// credentials there. covered are all scalars, in order.
func (d Draft) secretComments(lines []int, covered []span) (list []span) {
	for i, from := range lines {
		to := len(d.text)
		if i+1 < len(lines) {
			to = lines[i+1]
		}
		start := -1
		for at := range occurrences(d.text[from:to], "#") {
			at += from
			n, _ := slices.BinarySearchFunc(covered, at, func(s span, at int) int { return cmp.Compare(s.to, at+1) })
			inside := n < len(covered) && covered[n].from <= at
			if !inside && (at == from || strings.ContainsRune(" \t", rune(d.text[at-1]))) {
				start = at
				break
			}
		}
		if start < 0 {
			continue
		}
		comment := d.text[start:to]
		for _, at := range commentSecret.FindAllStringSubmatchIndex(comment, -1) {
			if scheme := strings.ToLower(comment[at[2]:at[3]]); scheme != "bearer" {
				list = append(list, span{from: start + at[2], to: start + at[3]})
			}
		}
		for _, secret := range d.known {
			for at := range occurrences(comment, secret) {
				list = append(list, span{from: start + at, to: start + at + len(secret)})
			}
		}
	}
	return list
}

// lineStarts are the offsets at which lines begin, as YAML counts lines.
func lineStarts(text string) []int {
	starts := []int{0}
	for _, end := range lineBreak.FindAllStringIndex(text, -1) {
		starts = append(starts, end[1])
	}
	return starts
}

// locator finds places of nodes in a text. It is quick when they come in order.
type locator struct {
	text  string
	lines []int // see lineStarts

	line, column, offset int // of the last node
}

// begin is the offset at which a node begins.
func (l *locator) begin(n *yaml.Node) int {
	if n.Line != l.line || n.Column < l.column {
		l.line, l.column, l.offset = n.Line, 1, l.lines[n.Line-1]
	}
	for ; l.column < n.Column; l.column++ {
		_, size := utf8.DecodeRuneInString(l.text[l.offset:])
		l.offset += size
	}
	return l.offset
}

// extent is where a scalar stands in the text, with its quotes. The parser tells only
// where it begins, so that the end follows from its style; Hide checks the result.
func (l *locator) extent(n *yaml.Node) (from, to int) {
	if n.Line < 1 || n.Line > len(l.lines) {
		return 0, 0
	}
	text := l.text
	from = l.begin(n)
	for from < len(text) && (text[from] == '&' || text[from] == '!') { // an anchor or a tag
		from += strings.IndexFunc(text[from:]+" ", isSpace)
		from += len(text[from:]) - len(strings.TrimLeftFunc(text[from:], isSpace))
	}
	if from >= len(text) {
		return len(text), len(text)
	}
	to = from
	switch {
	case text[from] == '"':
		for to++; to < len(text) && text[to] != '"'; to++ {
			if text[to] == '\\' {
				to++
			}
		}
		return from, min(to+1, len(text))
	case text[from] == '\'':
		for to++; to < len(text); to++ {
			if text[to] != '\'' {
				continue
			}
			if to++; to == len(text) || text[to] != '\'' {
				break
			}
		}
		return from, to
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return from, blockEnd(text, from)
	}
	for _, r := range n.Value { // a plain scalar: the text differs only in its white space
		if isSpace(r) {
			continue
		}
		at := strings.IndexRune(text[to:], r)
		if at < 0 {
			return from, to
		}
		to += at + utf8.RuneLen(r)
	}
	return from, to
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// blockEnd is the end of a literal or folded scalar: of the lines that are blank or not
// less indented than its first one.
func blockEnd(text string, from int) int {
	end, indent := len(text), -1
	at := from
	for line := range strings.SplitAfterSeq(text[from:], "\n") {
		start := at
		at += len(line)
		content := strings.TrimLeft(line, " ")
		switch depth := len(line) - len(content); {
		case start == from || strings.TrimSpace(content) == "":
		case indent < 0:
			indent = depth
		case depth < indent:
			return start
		}
	}
	return end
}

// leaf is a value of a document without keys or entries below it. The path to it has a
// name for each key, and a number in brackets for each entry of a list.
type leaf struct {
	*yaml.Node
	path []string
}

// key is the path as messages have it, such as "servers.x.args[0]".
func (l leaf) key() string { return strings.ReplaceAll(strings.Join(l.path, "."), ".[", "[") }

// leaves lists the values of a document in the order of the file. An anchored value is
// listed for each key that uses it. whole is false when aliases of aliases make too many
// of them; such a config has a mistake.
func leaves(root *yaml.Node) (list []leaf, whole bool) {
	d := decoder{failed: map[string]bool{}}
	var walk func(n *yaml.Node, path []string)
	walk = func(n *yaml.Node, path []string) {
		n, leave := d.follow(n, "")
		if n == nil {
			return
		}
		defer leave()
		if len(n.Content) == 0 {
			list = append(list, leaf{n, path})
		}
		switch n.Kind {
		case yaml.MappingNode:
			for _, e := range d.entries(n, "") {
				walk(e.value, append(slices.Clip(path), e.key.Value))
			}
		case yaml.SequenceNode:
			for i, item := range n.Content {
				walk(item, append(slices.Clip(path), "["+strconv.Itoa(i)+"]"))
			}
		}
	}
	walk(root, nil)
	return list, !d.spent
}

// eachNode visits every node of a document once.
func eachNode(n *yaml.Node, visit func(n *yaml.Node, isKey bool)) {
	for i, below := range n.Content {
		visit(below, n.Kind == yaml.MappingNode && i%2 == 0)
		eachNode(below, visit)
	}
}

var index = regexp.MustCompile(`\[\d+\]`)

// withoutIndexes drops the numbers of a key, so that the entries of a list may move.
func withoutIndexes(key string) string { return index.ReplaceAllString(key, "[]") }
