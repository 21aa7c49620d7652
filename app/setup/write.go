package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"legwork/bot/slack"
	"legwork/bot/telegram"
)

// backupEnd is the end of the name of a replaced config file.
const backupEnd = ".bak"

// write writes the file with secrets, then the config file. Each write is atomic.
func (t *dialog) write(a answers) (Outcome, error) {
	out := Outcome{Config: t.Config, Schema: schemaOf(t.Config), Token: a.token, Language: a.language, Admins: len(a.admins) > 0}
	if a.telegram.value != "" {
		out.Platforms = append(out.Platforms, telegram.Name)
	}
	if a.slackBot.value != "" {
		out.Platforms = append(out.Platforms, slack.Name)
	}
	env, changed, err := t.env(a)
	if err != nil {
		return Outcome{}, err
	}
	if changed {
		out.EnvFile = filepath.Join(filepath.Dir(t.Config), t.EnvFile)
		if err := replace(out.EnvFile, env, 0o600); err != nil {
			return Outcome{}, fmt.Errorf("writing %s: %w", out.EnvFile, err)
		}
	}
	if _, err := os.Stat(t.Config); err == nil {
		out.Backup = unused(t.Config + backupEnd)
		if err := os.Rename(t.Config, out.Backup); err != nil {
			return Outcome{}, fmt.Errorf("keeping the old config file: %w", err)
		}
	}
	if err := replace(out.Schema, string(t.Schema), 0o644); err != nil {
		return Outcome{}, fmt.Errorf("writing %s: %w", out.Schema, err)
	}
	if err := replace(t.Config, t.config(a), 0o644); err != nil {
		return Outcome{}, fmt.Errorf("writing %s: %w", t.Config, err)
	}
	return out, nil
}

// schemaOf is the path of the schema of a config file: config.schema.json for
// config.yaml.
func schemaOf(config string) string {
	return strings.TrimSuffix(config, filepath.Ext(config)) + ".schema.json"
}

// unused is path, or path with a number when there is such a file.
func unused(path string) string {
	name := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s.%d", path, n)
	}
}

// replace writes a file under another name and renames it. It follows a symbolic
// link.
func replace(path, text string, mode os.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".legwork-init-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // renamed already unless there was an error
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// env is the new text of the file with secrets: the old lines, then the new ones. Of
// two lines with the same name the later one counts.
func (t *dialog) env(a answers) (text string, changed bool, err error) {
	old, err := os.ReadFile(filepath.Join(filepath.Dir(t.Config), t.EnvFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	var fresh []variable
	for _, c := range []credential{a.key, a.telegram, a.slackBot, a.slackApp, a.search.key} {
		if c.value != "" && !c.set {
			fresh = append(fresh, variable{c.variable, c.value})
		}
	}
	return withVariables(string(old), fresh), len(fresh) > 0, nil
}

var plainEnv = regexp.MustCompile(`^[A-Za-z0-9_./:+=@%,-]+$`)

// quoteEnv quotes a value of the file with secrets.
func quoteEnv(value string) string {
	switch {
	case plainEnv.MatchString(value):
		return value
	case !strings.Contains(value, "'"):
		return "'" + value + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(value) + `"`
}

// config is the text of the config file.
func (t *dialog) config(a answers) string {
	var b strings.Builder
	section := func(key, format string, values ...any) {
		for line := range strings.Lines(t.Texts.Text(t.language, key, nil)) {
			b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		fmt.Fprintf(&b, format+"\n", values...)
	}
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", filepath.Base(schemaOf(t.Config)))
	section("init.file_head", "language: %s\ntimezone: %s\n", a.language, quote(a.timezone))
	section("init.file_models", "%s", a.section())
	if a.telegram.value != "" {
		section("init.file_telegram", "telegram:\n%s%s", a.telegram.line("  token"), setting("  api_url", t.TelegramAPI))
	}
	if a.slackBot.value != "" {
		section("init.file_slack", "slack:\n%s%s%s", a.slackBot.line("  bot_token"), a.slackApp.line("  app_token"), setting("  api_url", t.SlackAPI))
	}
	if len(a.admins) > 0 {
		quoted := make([]string, len(a.admins))
		for i, admin := range a.admins {
			quoted[i] = quote(admin)
		}
		section("init.file_access", "access:\n  admins: [%s]\n", strings.Join(quoted, ", "))
	}
	if lines := a.budget.lines(); lines != "" {
		section("init.file_budget", "budget:\n%s", lines)
	}
	if a.tokenLine != "" {
		section("init.file_token", "http:\n  tokens:\n    %s\n", a.tokenLine)
	}
	section("init.file_servers", "servers:\n  clock: {builtin: clock}\n  math: {builtin: math}\n  web: {builtin: web}%s", a.search.line())
	return b.String()
}

// line is a key with the credential's variable as its value; empty without one.
func (c credential) line(key string) string {
	if c.value == "" {
		return ""
	}
	return key + ": ${" + c.variable + "}\n"
}

// setting is a key with a value; empty for an empty value.
func setting(key, value string) string {
	if value == "" {
		return ""
	}
	return key + ": " + quote(value) + "\n"
}

// quote quotes a value for YAML and escapes references.
func quote(value string) string {
	text, err := json.Marshal(strings.ReplaceAll(value, "$", "$$"))
	if err != nil {
		panic(err) // a text always has a form in JSON
	}
	return string(text)
}
