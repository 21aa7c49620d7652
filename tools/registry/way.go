package registry

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"legwork/internal/loopback"
)

// Way is one way to use a server: a package to start, or an address to call.
type Way struct {
	Kind    string   // npm, pypi, oci and so on; http or sse for a remote server
	What    string   // the package with its exact version, or the address
	Problem string   // why legwork cannot use it; empty: it can
	Inputs  []*Input // the values that it takes, in the order of the document

	command string
	args    []piece
	env     []pair
	url     text
	headers []pair
}

// Input is a value that somebody has to give, or may give.
type Input struct {
	Name        string // of a variable, header or argument, as the registry names it
	Header      bool   // it is the whole value of a header
	Description string
	Required    bool
	Secret      bool
	Default     string
	Placeholder string
	Choices     []string
	Format      string // string, number, boolean or filepath; empty: string

	filled bool // without an answer it has its Default
}

// Problem says why an answer does not fit; empty: it fits.
func (in *Input) Problem(answer string) string {
	switch {
	case strings.ContainsFunc(answer, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "It holds a control character."
	case len(in.Choices) > 0 && !slices.Contains(in.Choices, answer):
		return "Allowed are " + strings.Join(in.Choices, ", ") + "."
	case in.Format == "boolean" && answer != "true" && answer != "false":
		return "Allowed are true and false."
	case in.Format == "number" && !numberRule.MatchString(answer):
		return "A number is needed."
	}
	return ""
}

var numberRule = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// text is a value with inputs in it: parts[0], inputs[0], parts[1] and so on.
type text struct {
	parts  []string
	inputs []*Input
}

func literal(s string) text { return text{parts: []string{s}} }

// render is the text with the values of its inputs. ok is false when one has no value.
func (t text) render(values func(*Input) (string, bool)) (out string, ok bool) {
	var b strings.Builder
	for i, part := range t.parts {
		b.WriteString(Escape(part))
		if i == len(t.inputs) {
			break
		}
		v, ok := values(t.inputs[i])
		if !ok {
			return "", false
		}
		b.WriteString(v)
	}
	return b.String(), true
}

// piece is an argument of a command line: it is left out when an input of it, or of needs,
// has no value.
type piece struct {
	flag  string // in front of value; empty: none
	value *text  // nil: the flag alone
	needs *text
}

type pair struct {
	name  string
	value text
}

// Settings are the keys of a server in the config file. Their values are texts of the
// config: $$ is a dollar sign.
type Settings struct {
	Command string
	Args    []string
	Env     []Pair
	URL     string
	Type    string
	Headers []Pair
}

// Pair is a name and its value.
type Pair struct{ Name, Value string }

// Escape makes a text of the config out of a plain text.
func Escape(plain string) string { return strings.ReplaceAll(plain, "$", "$$") }

// Settings are the settings with the values of inputs, which are texts of the config. What
// needs an input without a value is left out.
func (w *Way) Settings(values map[*Input]string) Settings {
	get := func(in *Input) (string, bool) {
		if v, ok := values[in]; ok {
			return v, true
		}
		return Escape(in.Default), in.filled
	}
	s := Settings{Command: w.command}
	for _, a := range w.args {
		value, ok := "", true
		if a.needs != nil {
			_, ok = a.needs.render(get)
		}
		if a.value != nil && ok {
			value, ok = a.value.render(get)
		}
		switch {
		case !ok:
		case a.value == nil:
			s.Args = append(s.Args, Escape(a.flag))
		case strings.HasPrefix(a.flag, "--"): // the schema: a command-line --flag={value}
			s.Args = append(s.Args, Escape(a.flag)+"="+value)
		case a.flag != "":
			s.Args = append(s.Args, Escape(a.flag), value)
		default:
			s.Args = append(s.Args, value)
		}
	}
	pairs := func(list []pair) (out []Pair) {
		for _, p := range list {
			if value, ok := p.value.render(get); ok {
				out = append(out, Pair{p.name, value})
			}
		}
		return out
	}
	s.Env, s.Headers = pairs(w.env), pairs(w.headers)
	if w.command == "" {
		s.URL, _ = w.url.render(get)
		if w.Kind == "sse" {
			s.Type = w.Kind
		}
	}
	return s
}

// AddressProblem says why the values that were given make no address that legwork
// calls; empty: it is one.
func (w *Way) AddressProblem(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "its address is none: " + address
	case u.Scheme == "http" && !loopback.Host(u.Hostname()):
		return "its address has no encryption (http)"
	case u.User != nil:
		return "its address holds a password"
	}
	return ""
}

// Ways are the ways to use the server, packages first.
func (s Server) Ways() []Way {
	ways := make([]Way, 0, len(s.Packages)+len(s.Remotes))
	for _, p := range s.Packages {
		ways = append(ways, p.way())
	}
	for _, r := range s.Remotes {
		ways = append(ways, r.way())
	}
	return ways
}

// runner is a program that fetches a package and starts it.
type runner struct {
	command    string
	args       []string
	base       []string       // addresses of the registry that it fetches from, without the slash at the end
	identifier *regexp.Regexp // nothing else is an argument of the runner in disguise, or fetched from elsewhere
}

func runners() map[string]runner {
	return map[string]runner{
		"npm":  {"npx", []string{"-y"}, []string{"https://registry.npmjs.org"}, regexp.MustCompile(`^(@[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*$`)},
		"pypi": {"uvx", nil, []string{"https://pypi.org"}, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)},
		"oci":  {"docker", []string{"run", "-i", "--rm"}, []string{"https://docker.io", "https://ghcr.io"}, regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._:/-]*(@sha256:[0-9a-f]{64})?$`)},
	}
}

var exactVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+!_-]*$`)

func (p pack) way() Way {
	w := Way{Kind: p.Kind, What: p.Identifier}
	r, known := runners()[p.Kind]
	if p.Version != "" {
		w.What += "@" + p.Version
	}
	if p.Kind == "oci" {
		if w.What = p.Identifier; !strings.Contains(p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:], ":") && p.Version != "" {
			w.What += ":" + p.Version
		}
	}
	_, tag, tagged := strings.Cut(w.What[strings.LastIndexByte(w.What, '/')+1:], ":")
	switch {
	case !known:
		w.Problem = fmt.Sprintf("legwork does not start packages of the kind %q", p.Kind)
	case p.Transport.Type != "stdio":
		w.Problem = fmt.Sprintf("it is a program that talks by %q; legwork starts only programs that talk by stdio", p.Transport.Type)
	case !r.identifier.MatchString(p.Identifier):
		w.Problem = fmt.Sprintf("%q is no name of a package of the kind %s", p.Identifier, p.Kind)
	case p.Base != "" && !slices.Contains(r.base, strings.TrimRight(p.Base, "/")):
		w.Problem = fmt.Sprintf("its package is at %s, and %s fetches from %s", p.Base, r.command, r.base[0])
	case p.Kind == "oci" && (!tagged || tag == "latest"), p.Kind != "oci" && (!exactVersion.MatchString(p.Version) || p.Version == "latest"):
		w.Problem = "it names no exact version of its package"
	case len(p.RuntimeArguments) > 0 && p.RuntimeHint != "" && p.RuntimeHint != r.command:
		w.Problem = fmt.Sprintf("it is made to be started by %q; legwork uses %s", p.RuntimeHint, r.command)
	}
	if w.Problem != "" {
		return w
	}
	w.command = r.command
	fixed := func(s string) { v := literal(s); w.args = append(w.args, piece{value: &v}) }
	for _, a := range r.args {
		fixed(a)
	}
	for _, a := range p.RuntimeArguments {
		if flag := a.Name + a.Value; p.Kind == "npm" && (flag == "-y" || flag == "--yes") || p.Kind == "oci" && (flag == "run" || slices.Contains(r.args, flag)) {
			continue // it is there already
		}
		w.argument(a)
	}
	for _, e := range p.Environment {
		v := w.take(e, e.Name)
		w.env = append(w.env, pair{e.Name, v})
		if p.Kind == "oci" { // docker hands it on by its name alone
			name := literal(e.Name)
			w.args = append(w.args, piece{flag: "-e", value: &name, needs: &v})
		}
	}
	fixed(w.What)
	for _, a := range p.PackageArguments {
		w.argument(a)
	}
	return w
}

func (t transport) way() Way {
	w := Way{Kind: "http", What: t.URL}
	switch t.Type {
	case "streamable-http":
	case "sse":
		w.Kind = t.Type
	default:
		w.Problem = fmt.Sprintf("legwork does not know the transport %q", t.Type)
		return w
	}
	w.url = w.template(t.URL, t.Variables, true)
	sample, _ := w.url.render(func(*Input) (string, bool) { return "x", true })
	if len(w.url.inputs) == 0 || !strings.HasPrefix(t.URL, "{") {
		w.Problem = w.AddressProblem(strings.ReplaceAll(sample, "$$", "$"))
	}
	if strings.ContainsAny(sample, "{}") {
		w.Problem = "its address has a placeholder that the registry does not explain: " + t.URL
	}
	for _, h := range t.Headers {
		w.headers = append(w.headers, pair{h.Name, w.take(h, h.Name)})
		if in := w.Inputs; h.Value == "" && len(in) > 0 {
			in[len(in)-1].Header = true
		}
	}
	return w
}

// argument adds an argument of a command line.
func (w *Way) argument(a argument) {
	p := piece{}
	name := a.ValueHint
	if a.Type == "named" {
		p.flag, name = a.Name, strings.TrimLeft(a.Name, "-")
		if a.Value == "" && a.Default == "" && !a.Required && len(a.Choices) == 0 && a.Format == "" && a.Placeholder == "" && a.ValueHint == "" && !a.Secret {
			w.args = append(w.args, p) // such as --stdio
			return
		}
	}
	v := w.take(a.value, name)
	p.value = &v
	w.args = append(w.args, p)
}

// take makes the text of a value: a fixed one with its variables, or an input.
func (w *Way) take(v value, name string) text {
	if v.Value != "" {
		return w.template(v.Value, v.Variables, false)
	}
	return text{parts: []string{"", ""}, inputs: []*Input{w.input(v, name)}}
}

func (w *Way) input(v value, name string) *Input {
	if name == "" {
		name = "value"
	}
	in := &Input{
		Name: name, Description: v.Description, Required: v.Required, Secret: v.Secret, Default: v.Default,
		Placeholder: v.Placeholder, Choices: v.Choices, Format: v.Format,
	}
	w.Inputs = append(w.Inputs, in)
	return in
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// template reads a value with {NAME} for variables. Others stay as they are. needed says
// that the value cannot be left out.
func (w *Way) template(s string, variables map[string]value, needed bool) text {
	t := text{}
	end := 0
	part := ""
	known := map[string]*Input{}
	for _, at := range placeholder.FindAllStringIndex(s, -1) {
		name := s[at[0]+1 : at[1]-1]
		v, ok := variables[name]
		if !ok {
			continue
		}
		part += s[end:at[0]]
		end = at[1]
		if v.Value != "" {
			part += v.Value
			continue
		}
		if known[name] == nil {
			in := w.input(v, name)
			in.filled = in.Default != ""
			in.Required = in.Required || needed && !in.filled
			known[name] = in
		}
		t.parts, t.inputs = append(t.parts, part), append(t.inputs, known[name])
		part = ""
	}
	t.parts = append(t.parts, part+s[end:])
	return t
}

// Asks names the values that somebody has to give, with the secret ones.
func (w *Way) Asks() []string {
	var names []string
	for _, in := range w.Inputs {
		if in.Required && in.Default == "" || in.Secret {
			names = append(names, in.Name)
		}
	}
	return names
}

// Transport is how legwork would talk to the server.
func (w *Way) Transport() string {
	if w.Kind == "http" || w.Kind == "sse" {
		return w.Kind
	}
	return "stdio (" + w.Kind + ")"
}
