package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
)

// schema checks values against what a server wrote. It is safe for concurrent
// use.
type schema struct {
	rules *jsonschema.Schema
	mu    sync.Mutex
	steps stepLimit // of the check under way
}

// maxSteps bounds one check: schemas whose parts refer to each other can double
// the work with each level, and a check cannot be broken off from outside.
const maxSteps = 200_000

// stepLimit counts the parts of a schema that were looked at. It stops a check by a
// panic, since the library knows no other way.
type stepLimit struct{ left int }

var errSteps = errors.New("it takes too long to be checked against the schema of the server")

func (s *stepLimit) take() {
	if s.left--; s.left < 0 {
		panic(errSteps)
	}
}

// Validate implements jsonschema.SchemaExt.
func (s *stepLimit) Validate(*jsonschema.ValidatorContext, any) { s.take() }

// recoverError turns what the library panics with into an error: it takes in what
// servers write, and must not bring down more than their own calls.
func recoverError(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = p
	default:
		*err = fmt.Errorf("checking a schema: %v", p)
	}
}

// noLoader keeps a schema from reading files or addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the schema", url)
}

// pattern is a regular expression of a schema. One that Go cannot compile, which
// must not refuse the tool, stands for everything.
type pattern struct {
	text  string
	known *regexp.Regexp // nil: one of another dialect
	steps *stepLimit
}

func (p pattern) MatchString(s string) bool {
	p.steps.take()
	return p.known == nil || p.known.MatchString(s)
}

func (p pattern) String() string { return p.text }

func compile(raw json.RawMessage) (_ *schema, err error) {
	defer recoverError(&err)
	if err := checkNumbers(raw); err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	s := &schema{steps: stepLimit{maxSteps}}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		known, _ := regexp.Compile(text)
		return pattern{text, known, &s.steps}, nil
	})
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL:     "tool:///steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) { return &s.steps, nil },
	})
	c.AssertVocabs()
	if err := c.AddResource("tool:///schema.json", doc); err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	if s.rules, err = c.Compile("tool:///schema.json"); err != nil {
		return nil, fmt.Errorf("compiling its schema: %w", err)
	}
	return s, nil
}

// check tells in words for a model how a value does not fit. raw is the value as
// it was written.
func (s *schema) check(v any, raw json.RawMessage) (err error) {
	if err := checkNumbers(raw); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer recoverError(&err)
	s.steps.left = maxSteps
	var bad *jsonschema.ValidationError
	if err := s.rules.Validate(v); errors.As(err, &bad) {
		return errors.New(strings.Join(explainMismatch(bad, nil), "; "))
	} else if err != nil {
		return err
	}
	return nil
}

// checkNumbers is an error for numbers that take the longer to be compared the
// shorter they are written: 1e999999.
func checkNumbers(raw []byte) error {
	if n, found := plainjson.HugeNumber(raw); found {
		n = clip.Bytes(n, 20)
		return fmt.Errorf("the number %s is too large, or has too many digits", n)
	}
	return nil
}
