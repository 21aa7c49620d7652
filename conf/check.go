package conf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones must not depend on the machine's files

	"legwork/i18n"
	"legwork/internal/issue"
	"legwork/internal/nearest"
	"legwork/llm"
)

// check adds the mistakes in the meaning of a decoded config.
func (d *decoder) check(c *Config) {
	for role := range c.LLM.Roles {
		if path := "roles." + role; !slices.Contains(llm.Roles(), role) {
			d.issue(path, fmt.Sprintf("unknown role%s; allowed: %s", nearest.Hint(role, llm.Roles()), list(llm.Roles())))
			d.failed[path] = true
		}
	}
	for _, i := range slices.Concat(c.LLM.Validate(), c.Tools.Validate(), c.own()) {
		d.issue(i.Path, i.Problem)
	}
}

// issue adds a mistake at the place of its key. It skips a key that has a mistake
// already, and all keys below it. It also skips one about keys of which one is
// misspelt: what they lack is probably that key.
func (d *decoder) issue(path, problem string) {
	if d.misspelt[path] {
		return
	}
	for key := path; key != ""; key = parent(key) {
		if d.failed[key] {
			return
		}
	}
	e := errorOf(d.places, d.file, path, d.redact(path, problem))
	if e.File != d.file {
		d.imported = append(d.imported, e)
		return
	}
	d.errors = append(d.errors, e)
}

// errorOf is a mistake at the place of its key, or of the nearest key around it.
func errorOf(places map[string]place, file, path, problem string) Error {
	at, known := place{}, false
	rest := ""
	for key := path; !known; key = parent(key) {
		at, known = places[key]
		rest = path[len(key):]
		if key == "" {
			break
		}
	}
	if at.file != "" {
		return Error{at.file, at.line, at.column, at.key + rest, problem}
	}
	return Error{file, at.line, at.column, path, problem}
}

// texts lists the mistakes in the files of texts_dir. A missing folder is a mistake
// of the key.
func (d *decoder) texts(folder string) Errors {
	if folder == "" {
		return nil
	}
	_, err := i18n.Load(folder)
	var faults Errors
	for _, err := range parts(err) {
		fault := new(i18n.Error)
		if errors.As(err, &fault) && fault.File != folder {
			faults = append(faults, Error{fault.File, fault.Line, fault.Column, fault.Key, fault.Problem})
		} else {
			d.issue("texts_dir", err.Error())
		}
	}
	return faults
}

// parts splits a joined error.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, parts(one)...)
	}
	return all
}

// parent is the key around a key; "" is the whole config.
func parent(key string) string {
	return key[:max(0, strings.LastIndexAny(key, ".["))]
}

// redact replaces expanded values by their references.
func (d *decoder) redact(path, problem string) string {
	longest := func(a, b secret) int { return cmp.Compare(len(b.text), len(a.text)) }
	for _, s := range slices.SortedStableFunc(slices.Values(d.secrets), longest) {
		near := strings.HasPrefix(s.key, path) || strings.HasPrefix(path, s.key)
		problem = s.hideIn(problem, near)
		if quoted := strconv.Quote(s.text); quoted != `"`+s.text+`"` {
			problem = expanded{s.reference, quoted[1 : len(quoted)-1]}.hideIn(problem, near)
		}
	}
	return problem
}

// hideIn replaces an expanded value by its reference. The beginning of a long value
// counts too, because messages shorten values. A short value is only replaced as a
// whole word and near its own key, because elsewhere it is an ordinary word.
func (e expanded) hideIn(problem string, near bool) string {
	const short, beginning = 8, 16
	if len(e.text) < short {
		if e.text == "" || !near {
			return problem
		}
		word := regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(e.text) + `($|[^\pL\pN])`)
		return word.ReplaceAllString(problem, "${1}"+strings.ReplaceAll(e.reference, "$", "$$")+"${2}")
	}
	var out strings.Builder
	for first := e.text[:min(len(e.text), beginning)]; ; {
		before, after, found := strings.Cut(problem, first)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		rest := e.text[len(first):]
		same := 0
		for same < min(len(rest), len(after)) && rest[same] == after[same] {
			same++
		}
		out.WriteString(e.reference)
		problem = after[same:]
	}
}

// issues are the mistakes in the meaning of keys.
type issues struct{ issue.List }

// oneOf requires a value from a list.
func (l *issues) oneOf(path, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		l.Add(path, "unknown value %s; allowed: %s", shown(value), list(allowed))
	}
}

// known requires a configured name; empty means the default.
func (l *issues) known(path, kind, name string, configured []string) {
	switch {
	case name == "" || slices.Contains(configured, name):
	case len(configured) == 0:
		l.Add(path, "unknown %s %s; none is configured", kind, shown(name))
	default:
		l.Add(path, "unknown %s %s%s; allowed: %s", kind, shown(name), nearest.Hint(name, configured), list(configured))
	}
}

// within requires a duration from least to most.
func (l *issues) within(path string, d, least, most time.Duration) {
	if d < least || d > most {
		l.Add(path, "%s is out of range; allowed: %s to %s", brief(d), brief(least), brief(most))
	}
}

// zeroOr requires a duration from least to most, or 0 with the meaning zero.
func (l *issues) zeroOr(path, zero string, d, least, most time.Duration) {
	if d != 0 && (d < least || d > most) {
		l.Add(path, "%s is out of range; allowed: 0 %s, or %s to %s", brief(d), zero, brief(least), brief(most))
	}
}

// brief formats a duration without zeros at the end: 36h, not 36h0m0s. Whole days
// are written as such: 90d.
func brief(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	if short, found := strings.CutSuffix(text, "m0s"); found {
		text = short + "m"
	}
	if short, found := strings.CutSuffix(text, "h0m"); found {
		text = short + "h"
	}
	return text
}

// zoneProblem says that a time zone is unknown, and which zone of that city there is.
func zoneProblem(name string) string {
	city := strings.ReplaceAll(name, " ", "_")
	for _, area := range []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"} {
		if _, err := time.LoadLocation(area + "/" + city); err == nil && city != "" {
			return fmt.Sprintf("unknown time zone %s; write %s/%s", shown(name), area, city)
		}
	}
	return fmt.Sprintf("unknown time zone %s; allowed: UTC and IANA names such as Europe/Berlin", shown(name))
}

// own lists the mistakes in the keys of this package that need more than the rules
// of their tags.
func (c *Config) own() issue.List {
	var l issues
	var languages []string
	for _, language := range i18n.Languages() {
		languages = append(languages, language.Code)
	}
	l.oneOf("language", c.Language, languages)
	if _, err := time.LoadLocation(c.Timezone); err != nil || c.Timezone == "" || c.Timezone == "Local" {
		l.Add("timezone", "%s", zoneProblem(c.Timezone))
	}
	if c.DataDir == "" {
		l.Add("data_dir", "must name a folder")
	}
	models := slices.Collect(maps.Keys(c.LLM.Models))
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Groups)) {
		l.known("groups."+name+".model", "model", c.Tools.Groups[name].Model, models)
		l.ids("groups."+name+".allow", c.Tools.Groups[name].Allow, allowProblem)
	}
	l.within("approvals.expire", c.Approvals.Expire, time.Minute, 90*24*time.Hour)
	l.within("approvals.grants", c.Approvals.Grants, time.Minute, 10*365*24*time.Hour)
	c.ownChats(&l, models)
	c.ownPlatforms(&l)
	c.ownTokens(&l)
	c.ownSchedules(&l, languages)
	c.ownLimits(&l)
	c.ownCare(&l)
	c.ownAlerts(&l)
	c.ownSealing(&l)
	c.Telemetry.validate(&l)
	c.Trust.validate(&l)
	return l.List
}

func (c *Config) ownLimits(l *issues) {
	l.within("limits.task_timeout", c.Limits.TaskTimeout, time.Second, 30*24*time.Hour)
	l.within("limits.context_idle", c.Limits.ContextIdle, time.Minute, 365*24*time.Hour)
}

func (c *Config) ownChats(l *issues, models []string) {
	groups := c.GroupNames()
	for _, name := range slices.Sorted(maps.Keys(c.Chats)) {
		chat, path := c.Chats[name], "chats."+name
		l.Unless(path, chatKeyProblem(name))
		for i, group := range chat.Groups {
			l.known(fmt.Sprintf("%s.groups[%d]", path, i), "group", group, groups)
		}
		l.known(path+".model", "model", chat.Model, models)
	}
}

// GroupNames lists the names that sub-tasks can be assigned to, unordered: the
// groups, and each server that is in no group.
func (c *Config) GroupNames() []string {
	grouped := map[string]bool{}
	names := slices.Collect(maps.Keys(c.Tools.Groups))
	for name, group := range c.Tools.Groups {
		grouped[name] = true
		for _, server := range group.Servers {
			grouped[server] = true
		}
	}
	for server := range c.Tools.Servers {
		if !grouped[server] {
			names = append(names, server)
		}
	}
	return names
}

// list joins words with commas, sorted. A long list is cut.
func list(words []string) string {
	const most = 40
	sorted := slices.Sorted(slices.Values(words))
	if len(sorted) <= most {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:most], ", "), len(sorted)-most)
}
