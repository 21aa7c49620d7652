package main

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"legwork/app/cli"
	"legwork/conf"
)

type tokenCommand struct {
	New tokenNewCommand `cmd:"" help:"Make a token for the API, and print it once with the line for the config."`
}

type tokenNewCommand struct {
	Name     string   `required:"" placeholder:"NAME" help:"Its name in the audit log and in budgets: 1 to 40 of a-z, 0-9, - and _."`
	Role     string   `required:"" placeholder:"ROLE" help:"viewer reads; operator also starts, steers and stops tasks and approves calls; admin also extends budgets and reads the audit log; agent works on tasks of programs and never approves calls."`
	Chats    []string `placeholder:"KEY,..." help:"Chats whose tasks it may see and change, such as slack:C012AB3CD, slack:* or api:*. Default: all; agents: its own tasks."`
	Groups   []string `placeholder:"NAME,..." help:"Groups of tools that its tasks may use. Default: all."`
	Webhooks []string `placeholder:"NAME,..." help:"Webhooks that may get the outcome of its tasks. Default: all."`
}

// Run prints the token on the first line of standard output and its config entry on
// the second. Instructions go to standard error.
func (command tokenNewCommand) Run(c cli.Console) error {
	if problem := command.problem(); problem != "" {
		return cli.MisuseError(problem)
	}
	token := newToken()
	fmt.Fprintln(c.Out, token)
	fmt.Fprintln(c.Out, command.line(token))
	fmt.Fprintln(c.Err, `legwork: the first line is the token: give it to the program that uses it; it is not shown again.
legwork: the second line belongs below http: tokens: in the config file; a running "legwork serve" reloads it by itself.`)
	return nil
}

func (command tokenNewCommand) problem() string {
	if p := conf.TokenProblem(command.Name); p != "" {
		return "--name: " + p
	}
	if p := conf.RoleProblem(command.Role); p != "" {
		return "--role: " + p
	}
	for _, chat := range command.Chats {
		if p := conf.VisibleProblem(chat); p != "" {
			return "--chats: " + p
		}
	}
	if slices.Contains(command.Groups, "") {
		return "--groups: a name is empty"
	}
	if slices.Contains(command.Webhooks, "") {
		return "--webhooks: a name is empty"
	}
	return ""
}

// newToken is a random text that a double click selects as a whole.
func newToken() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	return conf.TokenPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret[:]))
}

// line is the entry of http.tokens, in YAML.
func (command tokenNewCommand) line(token string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- {name: %q, sha256: %q, role: %s", command.Name, conf.HashToken(token), command.Role)
	for _, list := range []struct {
		key    string
		values []string
	}{{"chats", command.Chats}, {"groups", command.Groups}, {"webhooks", command.Webhooks}} {
		if len(list.values) == 0 {
			continue
		}
		var quoted []string
		for _, value := range list.values {
			quoted = append(quoted, fmt.Sprintf("%q", value))
		}
		fmt.Fprintf(&b, ", %s: [%s]", list.key, strings.Join(quoted, ", "))
	}
	return b.String() + "}"
}
