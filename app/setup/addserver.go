package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"legwork/app/cli"
	"legwork/app/confedit"
	"legwork/conf"
	"legwork/tools/registry"
)

// AddServer adds a server of a registry to a config file. All fields are needed unless a
// comment says otherwise.
type AddServer struct {
	// In gives the answers: a terminal, or one line for each answer.
	In io.Reader
	// Out gets the questions and the results.
	Out io.Writer
	// Config is the path of the config file, and Now what it says.
	Config string
	Now    *conf.Config
	// Env looks up a variable as it would be when legwork reads the file.
	Env func(string) (string, bool)
	// Registry is the host that Server comes from.
	Registry string
	Server   registry.Server
	// Name is the name of the server in the config; empty: one that follows from its own.
	Name string
	// Choice is the number of the way to use it, from 1; 0: the only one, or ask.
	Choice int
	// Description is what the planner reads; empty: ask, or none with Yes.
	Description string
	// Yes asks nothing: what the server needs is left to be set.
	Yes bool
}

// Added is what AddServer.Run has written.
type Added struct {
	Name    string   // of the server in the config
	EnvFile string   // that holds variables of it; empty: it needs none
	ToSet   []string // variables in it that have no value yet
}

// errNotAdded is returned when the person does not want the server.
var errNotAdded = errors.New("nothing was written")

// Run shows the server, asks for what it needs and writes it: secrets into the file with
// variables, the rest into the config file.
func (o AddServer) Run(ctx context.Context) (Added, error) {
	lines, done := newLines(ctx, o.In, o.Out)
	defer done()
	a := &adding{AddServer: o, lines: lines, values: map[*registry.Input]string{}}
	added, err := a.run(ctx)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return added, err
}

// adding is one run of AddServer.
type adding struct {
	AddServer
	lines  *lines
	way    registry.Way
	values map[*registry.Input]string // texts of the config
	fresh  []variable                 // of the file with variables
}

type variable struct{ name, value string }

func (a *adding) run(ctx context.Context) (Added, error) {
	file, err := confedit.Open(a.Config)
	if err != nil {
		return Added{}, err
	}
	if err := a.pickName(); err != nil {
		return Added{}, err
	}
	a.describe()
	if err := a.choose(); err != nil {
		return Added{}, err
	}
	if err := a.fill(); err != nil {
		return Added{}, err
	}
	if err := a.describeGroup(); err != nil {
		return Added{}, err
	}
	text, err := a.insert(file.Text())
	if err != nil {
		return Added{}, err
	}
	if !a.Yes {
		answer, err := a.lines.ask("Add it? [y/N]")
		if err != nil {
			return Added{}, err
		}
		if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
			return Added{}, errNotAdded
		}
	}
	added := Added{Name: a.Name}
	if len(a.fresh) > 0 {
		added.EnvFile = filepath.Join(filepath.Dir(a.Config), conf.EnvFile)
		if err := addVariables(added.EnvFile, a.fresh); err != nil {
			return Added{}, fmt.Errorf("writing %s: %w", added.EnvFile, err)
		}
	}
	for _, v := range a.fresh {
		if v.value == "" {
			added.ToSet = append(added.ToSet, v.name)
		}
	}
	if err := file.Replace(ctx, text); err != nil {
		return Added{}, fmt.Errorf("writing %s: %w", a.Config, err)
	}
	return added, nil
}

func (a *adding) taken(name string) bool {
	_, server := a.Now.Tools.Servers[name]
	_, group := a.Now.Tools.Groups[name]
	return server || group || name == "legwork" || name == "llm_tool"
}

func (a *adding) pickName() error {
	if a.Name == "" {
		a.Name = a.Server.Key(a.taken)
	}
	if a.taken(a.Name) {
		return fmt.Errorf("the config has a server or a group %q already; choose another name with --as", a.Name)
	}
	return nil
}

// say prints a line with words of strangers in it.
func (a *adding) say(format string, values ...any) {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = cli.OneLine(text)
		}
	}
	a.lines.show(fmt.Sprintf(format, values...) + "\n")
}

// describe shows what the registry says about the server.
func (a *adding) describe() {
	s := a.Server
	title := s.Name
	if s.Title != "" {
		title = s.Title + " (" + s.Name + ")"
	}
	a.say("%s %s", title, s.Version)
	a.say("  %s", s.Description)
	a.say("  published by  %s, as the registry %s says", s.Publisher(), a.Registry)
	if source := s.Source(); source != "" {
		a.say("  source        %s", source)
	}
	if s.WebsiteURL != "" {
		a.say("  website       %s", s.WebsiteURL)
	}
	if s.Status == registry.Deprecated {
		a.say("  DEPRECATED: its publisher advises against it. %s", s.StatusMessage)
	}
}

// choose chooses one of the ways to use the server, and shows it.
func (a *adding) choose() error {
	ways := a.Server.Ways()
	var usable []int
	for i, w := range ways {
		if w.Problem == "" {
			usable = append(usable, i+1)
		}
	}
	if len(ways) > 1 || len(usable) == 0 {
		for i, w := range ways {
			a.say("  %s", fmt.Sprintf("%d. %s  %s", i+1, w.Transport(), w.What))
			if w.Problem != "" {
				a.say("     cannot be used: %s", w.Problem)
			}
		}
	}
	n := a.Choice
	switch {
	case len(usable) == 0:
		return errors.New("legwork cannot use this server: the registry names no package and no address that it can use")
	case n != 0 && (n < 1 || n > len(ways)):
		return fmt.Errorf("--choice %d is none of the %d ways to use this server", n, len(ways))
	case n == 0 && len(usable) == 1:
		n = usable[0]
	case n == 0 && a.Yes:
		return errors.New("there are several ways to use this server; choose one with --choice NUMBER")
	}
	for n == 0 {
		answer, err := a.lines.ask("Which one? Type its number.")
		if err != nil {
			return err
		}
		if chosen, err := strconv.Atoi(answer); err == nil && slices.Contains(usable, chosen) {
			n = chosen
		} else {
			a.say("That is not one of the numbers.")
		}
	}
	a.way = ways[n-1]
	if a.way.Problem != "" {
		return fmt.Errorf("legwork cannot use this server in that way: %s", cli.OneLine(a.way.Problem))
	}
	a.preview()
	return nil
}

// preview shows what the server would run, or which host it would call.
func (a *adding) preview() {
	shown := map[*registry.Input]string{}
	for _, in := range a.way.Inputs {
		if v, ok := a.values[in]; ok {
			shown[in] = v
		} else if in.Required || in.Secret {
			shown[in] = "<" + in.Name + ">"
		}
	}
	s := a.way.Settings(shown)
	if s.Command == "" {
		host := s.URL
		if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
			host = u.Host
		}
		a.say("  calls         %s", readable(s.URL))
		a.say("  talks to      %s", host)
		return
	}
	words := []string{s.Command}
	for _, arg := range s.Args {
		words = append(words, shellWord(readable(arg)))
	}
	a.say("  runs here     %s", strings.Join(words, " "))
	a.say("                with the rights of legwork's user, unless you add a sandbox")
}

// readable shows a text of the config without its escapes; references stay.
func readable(text string) string { return strings.ReplaceAll(text, "$$", "$") }

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:+=@%,<>{}$-]+$`)

// shellWord quotes an argument as a shell would need it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// fill asks for the values that the server needs, and for secrets that it can use.
func (a *adding) fill() error {
	var others []string
	for _, in := range a.way.Inputs {
		switch {
		case !in.Required && !in.Secret:
			others = append(others, in.Name)
		case a.Yes:
			a.leave(in)
		default:
			if err := a.askFor(in); err != nil {
				return err
			}
		}
	}
	if len(others) > 0 {
		a.say("It also takes these values, which are left out: %s.", strings.Join(others, ", "))
	}
	s := a.way.Settings(a.values)
	if address, err := expanded(s.URL, a.fresh); s.URL != "" && err == nil {
		if problem := a.way.AddressProblem(address); problem != "" {
			return fmt.Errorf("legwork does not call this server: %s", cli.OneLine(problem))
		}
	}
	return nil
}

// expanded is an address with its variables, as far as they have values.
func expanded(address string, fresh []variable) (string, error) {
	for _, v := range fresh {
		if v.value == "" && strings.Contains(address, "${"+v.name+"}") {
			return "", errors.New("a value is missing")
		}
		address = strings.ReplaceAll(address, "${"+v.name+"}", v.value)
	}
	return readable(address), nil
}

// leave leaves a value to be set in the file with variables.
func (a *adding) leave(in *registry.Input) {
	switch {
	case in.Default != "" && !in.Secret:
		a.values[in] = registry.Escape(in.Default)
	case in.Required:
		a.values[in] = a.store(in, "")
	}
}

// askFor asks for one value until the answer fits.
func (a *adding) askFor(in *registry.Input) error {
	question := "It asks for " + cli.OneLine(in.Name)
	if in.Description != "" {
		question += ": " + cli.OneLine(in.Description)
	}
	if in.Header {
		question += "\nType the whole value of the header " + cli.OneLine(in.Name) + "."
	}
	if len(in.Choices) > 0 {
		question += "\nOne of " + cli.OneLine(strings.Join(in.Choices, ", ")) + "."
	}
	if in.Placeholder != "" {
		question += "\nSuch as " + cli.OneLine(in.Placeholder) + "."
	}
	switch {
	case in.Default != "":
		question += "\nEnter takes " + cli.OneLine(in.Default) + "."
	case !in.Required:
		question += "\nEnter leaves it out."
	}
	ask := a.lines.ask
	if in.Secret {
		question += "\nIt is a secret: it goes into " + conf.EnvFile + ", and is not shown."
		ask = a.lines.secret
	}
	for {
		answer, err := ask(question)
		if err != nil {
			return err
		}
		if answer == "" {
			answer = in.Default
		}
		problem := in.Problem(answer)
		switch {
		case answer == "" && !in.Required:
			return nil
		case answer == "":
			a.say("It does not work without this value.")
		case problem != "":
			a.say("%s", problem)
		case in.Secret:
			a.values[in] = a.store(in, answer)
			return nil
		default:
			a.values[in] = registry.Escape(answer)
			return nil
		}
	}
}

var notInNames = regexp.MustCompile(`[^A-Z0-9]+`)

// store keeps a value in the file with variables, and returns the reference to it. The
// variable is a new one that begins with the name of the server: a registry must not get
// at a variable that is there for something else.
func (a *adding) store(in *registry.Input, value string) string {
	server := strings.Trim(notInNames.ReplaceAllString(strings.ToUpper(a.Name), "_"), "_")
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToUpper(in.Name), "_"), "_")
	if name != server && !strings.HasPrefix(name, server+"_") {
		name = server + "_" + name
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	free := name
	for n := 2; a.isSet(free); n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	a.fresh = append(a.fresh, variable{free, value})
	return "${" + free + "}"
}

func (a *adding) isSet(name string) bool {
	_, set := a.Env(name)
	return set || slices.ContainsFunc(a.fresh, func(v variable) bool { return v.name == name })
}

// describeGroup asks for the sentence by which the planner chooses the server. The words
// of the registry come into prompts only when a person takes them.
func (a *adding) describeGroup() error {
	if a.Description != "" || a.Yes {
		return nil
	}
	answer, err := a.lines.ask("Models choose a server by a sentence. Type one that says what it is for.\nEnter takes: " + cli.OneLine(a.Server.Description))
	if answer == "" {
		answer = cli.OneLine(a.Server.Description)
	}
	a.Description = answer
	return err
}

// insert is the text of the config file with the server. It shows the new lines, and is an
// error when the file would have mistakes.
func (a *adding) insert(text string) (string, error) {
	server := a.entry()
	sections := map[string]confedit.Entry{"servers": server}
	shown := server.Lines("servers")
	if a.Description != "" {
		group := confedit.Entry{Name: a.Name, Keys: []confedit.Key{
			{Name: "description", Value: confedit.Quote(registry.Escape(a.Description))}, {Name: "servers", Value: "[" + confedit.Quote(a.Name) + "]"},
		}}
		sections["groups"] = group
		shown += group.Lines("groups")
	}
	a.lines.show("\nNew lines in " + a.Config + ":\n")
	fmt.Fprintln(a.Out, "  "+strings.ReplaceAll(strings.TrimRight(shown, "\n"), "\n", "\n  "))
	for _, section := range []string{"servers", "groups"} {
		entry, ok := sections[section]
		if !ok {
			continue
		}
		var err error
		if text, err = confedit.Insert(text, section, entry); err != nil {
			return "", fmt.Errorf("adding the server to %s: %w; nothing was written, add the lines above by hand", a.Config, err)
		}
	}
	env := func(name string) (string, bool) {
		if i := slices.IndexFunc(a.fresh, func(v variable) bool { return v.name == name }); i >= 0 {
			return a.fresh[i].value, true
		}
		return a.Env(name)
	}
	if draft := conf.ReadDraft(a.Config, text, env); len(draft.Errors) > 0 {
		return "", fmt.Errorf("the config would have mistakes, so nothing was written: %w", draft.Errors)
	}
	return text, nil
}

// entry are the lines of the server.
func (a *adding) entry() confedit.Entry {
	s := a.way.Settings(a.values)
	e := confedit.Entry{Name: a.Name, Comment: cli.OneLine(fmt.Sprintf("%s %s, from %s", a.Server.Name, a.Server.Version, a.Registry))}
	add := func(name, value string) { e.Keys = append(e.Keys, confedit.Key{Name: name, Value: value}) }
	pairs := func(name string, list []registry.Pair) {
		var all []string
		for _, p := range list {
			all = append(all, confedit.Quote(p.Name)+": "+confedit.Quote(p.Value))
		}
		if len(all) > 0 {
			add(name, "{"+strings.Join(all, ", ")+"}")
		}
	}
	if s.Command != "" {
		args := make([]string, len(s.Args))
		for i, arg := range s.Args {
			args[i] = confedit.Quote(arg)
		}
		add("command", s.Command)
		add("args", "["+strings.Join(args, ", ")+"]")
		pairs("env", s.Env)
	} else {
		add("url", confedit.Quote(s.URL))
		if s.Type != "" {
			add("type", s.Type)
		}
		pairs("headers", s.Headers)
	}
	add("hold_new_tools", "true")
	return e
}

// addVariables adds lines to a file with variables. Of two lines with the same name the
// later one counts.
func addVariables(path string, fresh []variable) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return replace(path, withVariables(string(old), fresh), 0o600)
}

// withVariables is the text of a file with variables with new lines.
func withVariables(old string, fresh []variable) string {
	var b strings.Builder
	b.WriteString(old)
	if old != "" && !strings.HasSuffix(old, "\n") {
		b.WriteByte('\n')
	}
	for _, v := range fresh {
		fmt.Fprintf(&b, "%s=%s\n", v.name, quoteEnv(v.value))
	}
	return b.String()
}
