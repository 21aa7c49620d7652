// Package setup asks a person for a first configuration, tries each answer at
// once, and writes a short config file and its secrets.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"legwork/app/cli"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/i18n"
	"legwork/llm"
)

// Options of Run. All of them are needed unless a comment says otherwise.
type Options struct {
	// In gives the answers: a terminal, or one line for each answer.
	In io.Reader
	// Out gets the questions and the results.
	Out io.Writer
	// Texts of the questions.
	Texts *i18n.Texts
	// Config is the path of the file to write. Secrets go into EnvFile of the
	// same folder.
	Config string
	// EnvFile is the name of the file with secrets.
	EnvFile string
	// Replace renames an existing config file to FILE.bak. Otherwise Run refuses.
	Replace bool
	// Environment looks up a variable of the process, and Saved one of EnvFile.
	Environment, Saved func(name string) (string, bool)
	// Schema of the config file, which is written beside it for editors.
	Schema []byte
	// TelegramAPI and SlackAPI are written and used as api_url, SearchAPI as the
	// base_url of a search provider; empty: their own.
	TelegramAPI, SlackAPI, SearchAPI string
	// Try tests the answers.
	Try Try
	// Admin says why a text is not the key of a person. It is empty when it is one.
	Admin func(key string) string
	// SearchProblem says what is wrong with the options of the search server. It is
	// empty when nothing is.
	SearchProblem func(options map[string]any) string
	// NewToken makes a token for programs, and its entry of http.tokens.
	NewToken func() (token, line string)
}

// Try calls each service once. A person reads the errors, which hold no secrets.
// Errors of models are *llm.Error, or those of connections.
type Try struct {
	// Models lists the names of an endpoint's models. It is nil, and not empty, when
	// the endpoint did not list any.
	Models func(context.Context, llm.ModelConfig) ([]string, error)
	Model  func(context.Context, llm.ModelConfig) error
	// Window is how many tokens the endpoint keeps; 0: it does not say.
	Window   func(context.Context, llm.ModelConfig) int
	Telegram func(context.Context, telegram.Config) (who string, err error)
	Slack    func(context.Context, slack.Config) (who string, err error)
	Search   func(ctx context.Context, options map[string]any) error
}

// ErrEnded is returned when the input ends before the last answer. Run has then
// written no files.
var ErrEnded = errors.New("the input ended before all questions were answered; nothing was written")

// Outcome lists the files that Run has written.
type Outcome struct {
	Config    string // path of the config file
	EnvFile   string // path of the file with secrets; empty when there was none to write
	Backup    string // new path of the old config file; empty when there was none
	Schema    string // path of the schema beside the config file
	Token     string // for programs; to be shown once; empty: none
	Language  string
	Platforms []string // the platforms that are configured
	Admins    bool     // somebody is admin
}

// Run asks, tries the answers and writes the files after the last answer. It returns
// ErrEnded at the end of the input, and another error when ctx ends.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if _, err := os.Stat(o.Config); err == nil && !o.Replace {
		return Outcome{}, fmt.Errorf("%s exists already; use --force to write a new one and keep the old one as %s%s", o.Config, o.Config, backupEnd)
	}
	lines, done := newLines(ctx, o.In, o.Out)
	defer done()
	t := &dialog{Options: o, ctx: ctx, lines: lines, language: locale(o.Environment), timezone: cli.Timezone(o.Environment)}
	a, err := t.ask()
	if ctx.Err() != nil {
		return Outcome{}, errInterrupted
	}
	if err != nil {
		return Outcome{}, err
	}
	return t.write(a)
}

// locale is the language of the environment; empty when it names none that
// legwork speaks.
func locale(env func(string) (string, bool)) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value, _ := env(name); value != "" {
			return i18n.Match(value)
		}
	}
	return ""
}
