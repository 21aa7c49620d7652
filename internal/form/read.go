package form

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"legwork/internal/plainjson"
)

// ValueError says why a value does not fit a field. Key is for translated
// sentences: one of the words below; Limit is the number, the format or the
// pattern that Key is about.
type ValueError struct {
	Key   string
	Limit string
}

func (e *ValueError) Error() string {
	if e.Limit == "" {
		return e.Key
	}
	return e.Key + " " + e.Limit
}

// The keys of ValueError.
const (
	NotNumber  = "number"     // not a number
	NotInteger = "integer"    // not a whole number
	NotBoolean = "boolean"    // neither yes nor no
	NotChoice  = "choice"     // none of the choices
	TooShort   = "short"      // fewer than Limit characters
	TooLong    = "long"       // more than Limit characters
	TooSmall   = "small"      // less than Limit
	TooLarge   = "large"      // more than Limit
	TooFew     = "few"        // fewer than Limit choices
	TooMany    = "many"       // more than Limit choices
	Email      = "email"      // no address of mail
	URI        = "uri"        // no address
	Date       = "date"       // no date as 2026-01-31
	DateTime   = "date-time"  // no time as 2026-01-31 09:00
	Pattern    = "pattern"    // not of the form that Limit says
	Missing    = "missing"    // left out, and it is required
	Other      = "unexpected" // does not fit in another way
)

// Read parses the text of a person in zone: a choice by its label, its value or its
// number from 1, several separated by commas or lines, a number, a day or a time in
// the usual formats. An error is a *ValueError.
func (f Field) Read(written string, zone *time.Location) (json.RawMessage, error) {
	written = strings.TrimSpace(written)
	if written == "" {
		return f.empty()
	}
	value, err := f.read(f.moment(written, zone))
	if err != nil {
		return nil, err
	}
	return value, f.Check(value)
}

// empty is the value of a field that is left out: nil, or the empty text where
// that fits.
func (f Field) empty() (json.RawMessage, error) {
	switch {
	case len(f.Default) > 0:
		return f.Default, nil
	case f.Required:
		return nil, &ValueError{Key: Missing}
	}
	return nil, nil
}

func (f Field) read(written string) (json.RawMessage, error) {
	switch {
	case f.Many:
		return f.readMany(written)
	case len(f.Choices) > 0:
		return f.choice(written)
	}
	switch f.kind() {
	case "boolean":
		if b := strings.ToLower(written); b == "true" || b == "false" {
			return json.RawMessage(b), nil
		}
		return nil, &ValueError{Key: NotBoolean}
	case "number", "integer":
		return number(written, f.kind() == "integer")
	}
	return json.Marshal(strings.ToValidUTF8(written, "\uFFFD"))
}

// kind is the JSON type of the value.
func (f Field) kind() string {
	var p property
	_ = json.Unmarshal(f.Schema, &p)
	return p.Type
}

func (f Field) readMany(written string) (json.RawMessage, error) {
	values := []json.RawMessage{}
	for part := range strings.FieldsFuncSeq(written, func(r rune) bool { return r == ',' || r == '\n' || r == ';' || r == '，' || r == '、' }) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		v, err := f.choice(strings.TrimSpace(part))
		if err != nil {
			whole, err := f.choice(written) // a label with a comma in it
			if err != nil {
				return nil, err
			}
			return json.Marshal([]json.RawMessage{whole})
		}
		if !slices.ContainsFunc(values, func(have json.RawMessage) bool { return bytes.Equal(have, v) }) {
			values = append(values, v)
		}
	}
	return json.Marshal(values)
}

// choice finds a choice by its label or value, then without regard to case, then
// by its number.
func (f Field) choice(written string) (json.RawMessage, error) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, c := range f.Choices {
			if same(c.Label, written) || same(text(c.Value), written) {
				return c.Value, nil
			}
		}
	}
	n, ok := new(big.Int).SetString(strings.TrimSuffix(written, "."), 10)
	if ok && n.IsInt64() && n.Int64() >= 1 && n.Int64() <= int64(len(f.Choices)) {
		return f.Choices[n.Int64()-1].Value, nil
	}
	return nil, &ValueError{Key: NotChoice}
}

// Check tells whether a value fits the field. An error is an *ValueError.
func (f Field) Check(value json.RawMessage) error {
	if _, found := plainjson.HugeNumber(value); found {
		return &ValueError{Key: NotNumber}
	}
	schema, err := compiled(f.Schema)
	if err != nil {
		return &ValueError{Key: Other}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &ValueError{Key: Other}
	}
	var bad *jsonschema.ValidationError
	if err := schema.Validate(v); errors.As(err, &bad) {
		return f.reason(bad)
	} else if err != nil {
		return &ValueError{Key: Other}
	}
	return nil
}

// reason is the first mistake that has a text for people.
func (f Field) reason(e *jsonschema.ValidationError) *ValueError {
	for _, c := range e.Causes {
		if inner := f.reason(c); inner.Key != Other {
			return inner
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		keys := map[string]string{"number": NotNumber, "integer": NotInteger, "boolean": NotBoolean}
		return &ValueError{Key: cmp.Or(keys[f.kind()], Other)}
	case *kind.Enum, *kind.Const, *kind.OneOf, *kind.AnyOf:
		return &ValueError{Key: NotChoice}
	case *kind.MinLength:
		return &ValueError{TooShort, fmt.Sprint(k.Want)}
	case *kind.MaxLength:
		return &ValueError{TooLong, fmt.Sprint(k.Want)}
	case *kind.Minimum:
		return &ValueError{TooSmall, decimal(k.Want)}
	case *kind.ExclusiveMinimum:
		return &ValueError{TooSmall, decimal(k.Want)}
	case *kind.Maximum:
		return &ValueError{TooLarge, decimal(k.Want)}
	case *kind.ExclusiveMaximum:
		return &ValueError{TooLarge, decimal(k.Want)}
	case *kind.MinItems:
		return &ValueError{TooFew, fmt.Sprint(k.Want)}
	case *kind.MaxItems:
		return &ValueError{TooMany, fmt.Sprint(k.Want)}
	case *kind.Pattern:
		return &ValueError{Pattern, k.Want}
	case *kind.Format:
		if slices.Contains([]string{Email, URI, Date, DateTime}, k.Want) {
			return &ValueError{Key: k.Want}
		}
		return &ValueError{Pattern, k.Want}
	}
	return &ValueError{Key: Other}
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(10), "0")
}

// noLoader keeps a schema from reading files or addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the form", url)
}

func compiled(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(s)
		if err != nil {
			return anything(s), nil //nolint:nilerr // a pattern of another dialect is left to the server
		}
		return re, nil
	})
	if err := c.AddResource("form:///field.json", doc); err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	s, err := c.Compile("form:///field.json")
	if err != nil {
		return nil, fmt.Errorf("compiling its schema: %w", err)
	}
	return s, nil
}

// anything stands for a pattern that Go cannot compile.
type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }
