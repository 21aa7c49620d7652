package tooladmin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"

	"legwork/app/cli"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/i18n"
	"legwork/internal/form"
	"legwork/tools/client"
)

// prompter asks the person at the terminal. Without a terminal it approves
// nothing and declines the questions of servers. It is safe for concurrent use and
// asks one question at a time.
type prompter struct {
	mu  sync.Mutex
	in  *os.File // nil: there is no terminal
	out io.Writer
}

// newPrompter reads from standard input. stdinUsed says that the arguments of the
// call come from there.
func newPrompter(c cli.Console, stdinUsed bool) *prompter {
	in, isIn := c.In.(*os.File)
	out, isOut := c.Err.(*os.File)
	if stdinUsed || !isIn || !isOut || !terminal.IsTerminal(in, out) {
		in = nil
	}
	return &prompter{in: in, out: c.Err}
}

// errNoTerminal is returned where a person would have to agree.
var errNoTerminal = errors.New("it needs approval, but there is no terminal; call it in a terminal, or with --yes")

// errDenied is returned when the person does not agree.
var errDenied = errors.New("it was not called: you did not approve it")

// approve shows a call in full and asks whether to make it.
func (p *prompter) approve(ctx context.Context, tool, group string, arguments json.RawMessage) error {
	if p.in == nil {
		return fmt.Errorf("calling %s by the rules of the group %q: %w", tool, group, errNoTerminal)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "The group %q needs your approval for this call:\n  %s\n%s\n", group, bot.Visible(tool), indented(bot.VisibleJSON(arguments)))
	yes, err := p.confirm(ctx, "Call it?")
	if err == nil && !yes {
		err = errDenied
	}
	return err
}

// confirm asks a yes-or-no question. Enter and Ctrl-D mean no.
func (p *prompter) confirm(ctx context.Context, question string) (bool, error) {
	answer, err := p.line(ctx, question+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	answer = strings.ToLower(answer)
	return err == nil && (answer == "y" || answer == "yes"), err
}

// line asks a question and reads one line. When ctx ends, the error is that of
// ctx. Ctrl-D is io.EOF.
func (p *prompter) line(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.out, question)
	reader, err := cancelreader.NewReader(p.in)
	if err != nil {
		return "", fmt.Errorf("reading from the terminal: %w", err)
	}
	defer reader.Close()
	stop := context.AfterFunc(ctx, func() { reader.Cancel() })
	defer stop()
	text, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		fmt.Fprintln(p.out)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return strings.TrimSpace(text), err
}

// progress prints the progress of a call.
func (p *prompter) progress(r client.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how := fmt.Sprintf("%g", r.Done)
	if r.Total > 0 {
		how += fmt.Sprintf(" of %g", r.Total)
	}
	fmt.Fprintln(p.out, strings.TrimSpace(how+" "+cli.OneLine(r.Message)))
}

// answer asks the person a question of a server. The error is that of the
// terminal or of ctx.
func (p *prompter) answer(ctx context.Context, server string, q form.Question) (form.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "The server %q asks:\n", server)
	if q.Message != "" {
		fmt.Fprintln(p.out, indented(bot.Visible(q.Message)))
	}
	if p.in == nil {
		fmt.Fprintln(p.out, "Declined, because there is no terminal; call the tool in a terminal to answer.")
		return form.Answer{Action: form.Decline}, nil
	}
	a, err := p.decide(ctx, q)
	if errors.Is(err, io.EOF) {
		return form.Answer{Action: form.Cancel}, nil
	}
	return a, err
}

// decide reads the answer to a question that is on the screen.
func (p *prompter) decide(ctx context.Context, q form.Question) (form.Answer, error) {
	if q.URL != "" {
		return p.visit(ctx, q.URL)
	}
	if len(q.Fields) > 0 {
		fmt.Fprintln(p.out, "Your answers go to the server. Ctrl-D cancels; type ! to decline.")
		return p.fill(ctx, q.Fields)
	}
	yes, err := p.confirm(ctx, "Agree?")
	if !yes {
		return form.Answer{Action: form.Decline}, err
	}
	return form.Answer{Action: form.Accept}, err
}

// visit shows an address. legwork never opens it itself.
func (p *prompter) visit(ctx context.Context, address string) (form.Answer, error) {
	host := "?"
	if u, err := url.Parse(address); err == nil {
		host = cmp.Or(u.Hostname(), host)
	}
	fmt.Fprintf(p.out, "It asks you to open this address on the host %s. Open it only if you trust it: legwork has not checked it.\n%s\n",
		bot.Visible(host), indented(bot.Visible(address)))
	yes, err := p.confirm(ctx, "Have you opened it, or will you?")
	if !yes {
		return form.Answer{Action: form.Decline}, err
	}
	return form.Answer{Action: form.Accept}, err
}

// decline is typed in place of a value to decline a form.
const decline = "!"

// fill asks for each field of a form until the value fits.
func (p *prompter) fill(ctx context.Context, fields []form.Field) (form.Answer, error) {
	texts, err := i18n.Load("")
	if err != nil {
		return form.Answer{}, fmt.Errorf("loading texts: %w", err)
	}
	a := form.Answer{Action: form.Accept, Values: map[string]json.RawMessage{}}
	for i, f := range fields {
		fmt.Fprintf(p.out, "%s (%d of %d)\n%s", cli.OneLine(cmp.Or(f.Title, f.Name)), i+1, len(fields), described(f))
		for {
			written, err := p.line(ctx, "> ")
			if err != nil {
				return form.Answer{}, err
			}
			if written == decline {
				return form.Answer{Action: form.Decline}, nil
			}
			value, err := f.Read(plainBool(f, written), time.Local)
			var wrong *form.ValueError
			if errors.As(err, &wrong) {
				fmt.Fprintln(p.out, texts.Text(i18n.Default, wrongKey(wrong), map[string]any{"Text": wrong.Limit}))
				continue
			}
			if err != nil {
				return form.Answer{}, err
			}
			if value != nil {
				a.Values[f.Name] = value
			}
			break
		}
	}
	return a, nil
}

// wrongKey is the key of the text about a wrong value.
func wrongKey(e *form.ValueError) string {
	if e.Key == form.DateTime {
		return "form.bad_time"
	}
	return "form.bad_" + e.Key
}

// described is the text that explains a field.
func described(f form.Field) string {
	var b strings.Builder
	if f.Description != "" {
		fmt.Fprintln(&b, indented(bot.Visible(f.Description)))
	}
	for i, choice := range f.Choices {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, cli.OneLine(choice.Label))
	}
	switch {
	case f.Many:
		fmt.Fprintln(&b, "  Type the numbers of your choices, such as 1, 3.")
	case len(f.Choices) > 0:
		fmt.Fprintln(&b, "  Type the number of your choice.")
	case isBool(f):
		fmt.Fprintln(&b, "  Type yes or no.")
	}
	switch {
	case len(f.Default) > 0:
		fmt.Fprintf(&b, "  Enter: %s\n", bot.Visible(string(f.Default)))
	case !f.Required:
		fmt.Fprintln(&b, "  Enter: no answer.")
	}
	return b.String()
}

// isBool reports whether the value of a field is true or false.
func isBool(f form.Field) bool {
	var schema struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(f.Schema, &schema) == nil && schema.Type == "boolean"
}

// plainBool replaces yes and no by true and false in what was typed.
func plainBool(f form.Field, written string) string {
	if isBool(f) {
		switch strings.ToLower(written) {
		case "y", "yes":
			return "true"
		case "n", "no":
			return "false"
		}
	}
	return written
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
