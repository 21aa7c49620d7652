package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	maxExpression = 10_000 // bytes
	maxDepth      = 100    // of parentheses, signs and powers
)

// evaluator reads an expression from left to right and calculates as it goes;
// nothing in it is ever run as code.
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "%" | "of" | "mod" | nothing) signed }
//	signed  = ("+" | "-" | "√") signed | power
//	power   = postfix [ "^" signed ]
//	postfix = primary { "!" | "%" | "°" }
//	primary = number | "(" sum ")" | constant | function "(" sum { "," sum } ")"
type evaluator struct {
	ctxErr func() error // the error of a cancelled evaluation
	tokens []token
	at     int
	depth  int
	work   int // estimated word operations so far
}

type token struct {
	kind byte // 'n' number, 'w' word, 0 end, or the operator itself
	text string
}

// evaluate calculates an expression within fixed bounds of size and time.
func evaluate(ctx context.Context, expression string) (number, error) {
	if len(expression) > maxExpression {
		return number{}, fmt.Errorf("it is longer than %d bytes", maxExpression)
	}
	tokens, err := scan(expression)
	if err != nil {
		return number{}, err
	}
	e := &evaluator{ctxErr: ctx.Err, tokens: tokens}
	n, err := e.sum()
	if err != nil {
		return number{}, err
	}
	if t := e.peek(); t.kind != 0 {
		return number{}, fmt.Errorf("%q is not expected there", t.text)
	}
	return n, nil
}

// scan splits an expression. Other ways to write an operator become the usual
// ones, and commas between thousands are dropped outside of function calls.
func scan(s string) ([]token, error) {
	s = strings.NewReplacer("×", "*", "·", "*", "⋅", "*", "∙", "*", "÷", "/", "∕", "/", "−", "-", "–", "-", "**", "^",
		"²", "^2", "³", "^3", "π", "pi", "∛", "cbrt", "\u00a0", " ", "\u202f", " ").Replace(width.Fold.String(s))
	s = strings.TrimSuffix(strings.TrimSpace(s), "=")
	var tokens []token
	var calls []bool // for each open parenthesis: whether it is a function's
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r) || r == '_':
			i += size
		case r >= '0' && r <= '9' || r == '.':
			inCall := len(calls) > 0 && calls[len(calls)-1]
			n := numberLength(s[i:], !inCall)
			tokens = append(tokens, token{'n', strings.ReplaceAll(s[i:i+n], ",", "")})
			i += n
		case unicode.IsLetter(r):
			n := len(s[i:]) - len(strings.TrimLeftFunc(s[i:], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }))
			tokens = append(tokens, token{'w', strings.ToLower(s[i : i+n])})
			i += n
		case strings.ContainsRune("+-*/^%!()°√,", r):
			kind := byte(r)
			if r == '√' {
				kind = 'r'
			}
			if r == '(' {
				calls = append(calls, len(tokens) > 0 && tokens[len(tokens)-1].kind == 'w')
			}
			if r == ')' && len(calls) > 0 {
				calls = calls[:len(calls)-1]
			}
			tokens = append(tokens, token{kind, string(r)})
			i += size
		default:
			return nil, fmt.Errorf("%q is not part of arithmetic", r)
		}
	}
	if len(tokens) == 0 {
		return nil, errors.New("it is empty")
	}
	return tokens, nil
}

// numberLength is the length of the number that s begins with.
func numberLength(s string, thousands bool) int {
	i := digits(s)
	for thousands && i > 0 && i <= 3+4*8 && strings.HasPrefix(s[i:], ",") && digits(s[i+1:]) == 3 {
		i += 4
	}
	if strings.HasPrefix(s[i:], ".") {
		i += 1 + digits(s[i+1:])
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if d := digits(s[j:]); d > 0 {
			return j + d
		}
	}
	return i
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

func (e *evaluator) peek() token {
	if e.at == len(e.tokens) {
		return token{text: "the end"}
	}
	return e.tokens[e.at]
}

// accept moves past the next token if it is an operator of this kind.
func (e *evaluator) accept(kind byte) bool {
	if e.peek().kind == kind {
		e.at++
		return true
	}
	return false
}

// nested bounds the recursion of next.
func (e *evaluator) nested(next func() (number, error)) (number, error) {
	if e.depth++; e.depth > maxDepth {
		return number{}, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	defer func() { e.depth-- }()
	return next()
}

func (e *evaluator) sum() (number, error) {
	n, err := e.product()
	for err == nil {
		op := e.peek().kind
		if op != '+' && op != '-' {
			break
		}
		e.at++
		var m number
		if m, err = e.product(); err == nil {
			n, err = e.binary(op, n, m)
		}
	}
	return n, err
}

func (e *evaluator) product() (number, error) {
	n, err := e.signed()
	for err == nil {
		op := e.peek().kind
		switch t := e.peek(); {
		case op == '*' || op == '/' || op == '%':
			e.at++
		case op == 'w' && t.text == "of":
			op, e.at = '*', e.at+1
		case op == 'w' && t.text == "mod":
			op, e.at = '%', e.at+1
		case e.startsOperand():
			op = '*'
		default:
			return n, nil
		}
		var m number
		if m, err = e.signed(); err == nil {
			n, err = e.binary(op, n, m)
		}
	}
	return n, err
}

// startsOperand tells whether a value begins here, so that "2(3+4)" is a product.
func (e *evaluator) startsOperand() bool {
	t := e.peek()
	return t.kind == '(' || t.kind == 'r' || (t.kind == 'w' && t.text != "of" && t.text != "mod")
}

func (e *evaluator) signed() (number, error) {
	return e.nested(func() (number, error) {
		switch {
		case e.accept('+'):
			return e.signed()
		case e.accept('-'):
			n, err := e.signed()
			if err != nil {
				return n, err
			}
			return e.binary('-', integer(0), n)
		case e.accept('r'):
			n, err := e.signed()
			if err != nil {
				return n, err
			}
			return e.call("sqrt", []number{n})
		}
		return e.power()
	})
}

func (e *evaluator) power() (number, error) {
	n, err := e.postfix()
	if err == nil && e.accept('^') {
		var m number
		if m, err = e.signed(); err == nil {
			n, err = e.binary('^', n, m)
		}
	}
	return n, err
}

func (e *evaluator) postfix() (number, error) {
	n, err := e.primary()
	for err == nil {
		switch {
		case e.accept('!'):
			n, err = e.factorial(n)
		case e.accept('°'):
			n, err = e.binary('*', n, degree())
		case e.peek().kind == '%' && e.percent():
			e.at++
			n, err = e.binary('/', n, integer(100))
		default:
			return n, nil
		}
	}
	return n, err
}

// percent tells a percent sign from the remainder operator: nothing that could
// be divided by follows it.
func (e *evaluator) percent() bool {
	e.at++
	defer func() { e.at-- }()
	return e.peek().kind != 'n' && !e.startsOperand()
}

func (e *evaluator) primary() (number, error) {
	t := e.peek()
	e.at++
	switch t.kind {
	case 'n':
		return e.parseNumber(t.text)
	case '(':
		n, err := e.nested(e.sum)
		if err == nil && !e.accept(')') {
			err = errors.New("a closing parenthesis is missing")
		}
		return n, err
	case 'w':
		if n, ok := constant(t.text); ok {
			return n, nil
		}
		if !e.accept('(') {
			return number{}, fmt.Errorf("%q is not a number, a constant or a function with parentheses", t.text)
		}
		args, err := e.arguments()
		if err != nil {
			return number{}, err
		}
		return e.call(t.text, args)
	}
	return number{}, fmt.Errorf("a number is missing before %s", t.text)
}

func (e *evaluator) arguments() ([]number, error) {
	var args []number
	for {
		n, err := e.nested(e.sum)
		if err != nil {
			return nil, err
		}
		args = append(args, n)
		if e.accept(')') {
			return args, nil
		}
		if !e.accept(',') {
			return nil, errors.New("a closing parenthesis is missing")
		}
	}
}
