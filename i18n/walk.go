package i18n

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// shape is the fields that a value has. A nil shape is unknown: anything goes.
// A list has the shape of its elements.
type shape map[string]shape

// leaves is the shape of data whose fields are plain values.
func leaves(fields []string) shape {
	s := shape{}
	for _, f := range fields {
		s[f] = shape{}
	}
	return s
}

func shapeOf(t reflect.Type) shape {
	s := shape{}
	switch t.Kind() {
	case reflect.Slice:
		return shapeOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			s[t.Field(i).Name] = shapeOf(t.Field(i).Type)
		}
	}
	return s
}

// wrong is a mistake in a template.
type wrong struct {
	line, column int // from 1
	problem      string
}

// wrongIn finds the fields that data of this shape lacks, and templates within
// the template, which could call themselves for ever.
func wrongIn(t *template.Template, source string, data shape) []wrong {
	var found []wrong
	w := walker{root: data, report: func(at parse.Pos, problem string) {
		before := source[:at]
		found = append(found, wrong{1 + strings.Count(before, "\n"), len(before) - strings.LastIndex(before, "\n"), problem})
	}}
	w.walk(t.Root, scope{data, true})
	return found
}

// fieldsIn lists the fields that a template reads from its data.
func fieldsIn(t *template.Template) []string {
	var fields []string
	w := walker{field: func(name string) { fields = append(fields, name) }}
	w.walk(t.Root, scope{nil, true})
	return fields
}

// walker visits everything in a template that reads data.
type walker struct {
	root   shape
	report func(at parse.Pos, problem string) // may be nil
	field  func(name string)                  // gets each field read from the root data; may be nil
}

// scope is what the dot means in a part of a template.
type scope struct {
	shape shape
	root  bool // it is the whole data
}

func (w *walker) walk(node parse.Node, dot scope) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, part := range n.Nodes {
				w.walk(part, dot)
			}
		}
	case *parse.ActionNode:
		w.pipe(n.Pipe, dot)
	case *parse.IfNode:
		w.branch(&n.BranchNode, dot, dot)
	case *parse.WithNode:
		w.branch(&n.BranchNode, dot, w.value(n.Pipe, dot))
	case *parse.RangeNode:
		w.branch(&n.BranchNode, dot, w.value(n.Pipe, dot))
	case *parse.TemplateNode:
		if w.report != nil {
			w.report(n.Position(), "must not contain other templates")
		}
	}
}

func (w *walker) branch(n *parse.BranchNode, dot, inside scope) {
	w.pipe(n.Pipe, dot)
	w.walk(n.List, inside)
	w.walk(n.ElseList, dot)
}

func (w *walker) pipe(pipe *parse.PipeNode, dot scope) {
	for _, command := range pipe.Cmds {
		for _, argument := range command.Args {
			w.argument(argument, dot)
		}
	}
}

func (w *walker) argument(node parse.Node, dot scope) {
	switch n := node.(type) {
	case *parse.PipeNode:
		w.pipe(n, dot)
	case *parse.ChainNode:
		w.argument(n.Node, dot)
	case *parse.FieldNode:
		w.follow(n.Position(), n.Ident, dot)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			w.follow(n.Position(), n.Ident[1:], scope{w.root, true})
		}
	}
}

// value is what the dot becomes inside a with or range over pipe.
func (w *walker) value(pipe *parse.PipeNode, dot scope) scope {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return scope{}
	}
	switch n := pipe.Cmds[0].Args[0].(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return scope{shape: resolve(n.Ident, dot.shape)}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return scope{resolve(n.Ident[1:], w.root), len(n.Ident) == 1}
		}
	}
	return scope{}
}

// resolve gives the shape at the end of a chain of fields, nil when unknown.
func resolve(names []string, s shape) shape {
	for _, name := range names {
		s = s[name]
	}
	return s
}

// follow checks a chain of fields that starts at dot.
func (w *walker) follow(at parse.Pos, names []string, dot scope) {
	if dot.root && len(names) > 0 && w.field != nil {
		w.field(names[0])
	}
	s := dot.shape
	for _, name := range names {
		if s == nil {
			return
		}
		next, ok := s[name]
		if !ok {
			if w.report != nil {
				w.report(at, fmt.Sprintf("has no field .%s; %s", name, allowed(s)))
			}
			return
		}
		s = next
	}
}

func allowed(s shape) string {
	if len(s) == 0 {
		return "none is allowed here"
	}
	return "allowed are ." + strings.Join(slices.Sorted(maps.Keys(s)), ", .")
}
