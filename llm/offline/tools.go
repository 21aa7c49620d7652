package offline

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// schema is the part of a tool's JSON Schema that the rules read.
type schema struct {
	Properties map[string]struct {
		Type        any
		Description string
		Enum        []any
	}
	Required []string
}

// noteFile is the file of notes, when the tool wants a file.
const noteFile = "notes.md"

// choose takes the tool that fits a task best: it must be possible to fill all
// that it requires, and what is filled counts more than words in common, of
// which those of its name count twice. When the task names nothing to fill in,
// the tool must know each of its words.
func (r *rules) choose(p prompt) (tool string, args map[string]any, ok bool) {
	f := r.facts(p.task)
	most := 0
	for _, t := range p.tools {
		var s schema
		if json.Unmarshal(t.Schema, &s) != nil {
			continue
		}
		filled, worth, fits := r.fill(s, p, f)
		hints, name := r.hints(p.task, f), r.signs.Replace(t.Name)
		fits = fits && (worth > 0 || r.knows(vocabulary(name+" "+t.Description), p.task))
		n := worth + 2*overlap(hints, vocabulary(name+" "+t.Description)) + 2*overlap(hints, vocabulary(name))
		if fits && n > most {
			tool, args, ok, most = t.Name, filled, true, n
		}
	}
	return tool, args, ok
}

// knows tells whether the words of a tool have all those of a task.
func (r *rules) knows(tool []string, task string) bool {
	return !slices.ContainsFunc(vocabulary(task), func(w string) bool { return overlap(r.hints(w, facts{}), tool) == 0 })
}

// fill finds arguments for the properties of a schema, in the order of their
// names. worth grows with those that the task names; fits says whether all
// required ones have one.
func (r *rules) fill(s schema, p prompt, f facts) (args map[string]any, worth int, fits bool) {
	args = map[string]any{}
	values := supply{
		places: f.places, dates: f.dates, times: f.times, urls: f.urls, paths: f.paths, expression: f.expression,
		numbers: r.number.FindAllString(p.task, -1), amounts: r.amount.FindAllStringSubmatch(r.date.ReplaceAllString(p.task, " "), -1), text: p.task,
	}
	note := r.note.FindStringSubmatch(p.task)
	if _, writes := s.Properties["content"]; writes && note != nil {
		values.text, values.content, values.paths = note[2]+"\n", true, []string{noteFile}
	} else if q := r.quoted.FindStringSubmatch(p.task); q != nil {
		values.text, values.content = q[1], true
	}
	for _, name := range order(s) {
		property := s.Properties[name]
		required := slices.Contains(s.Required, name)
		where := isPlace(name, property.Description)
		var v any
		found := false
		if _, span := s.Properties["to"]; !span || name != "from" || !values.scarce(where) {
			v, found = values.value(strings.ToLower(name), where, property.Type, required)
		}
		if len(property.Enum) > 0 {
			i := slices.IndexFunc(property.Enum, func(e any) bool { return mentions(p.task, e) })
			if found = i >= 0; found {
				v = property.Enum[i]
			}
		}
		switch {
		case found && v == values.text:
			args[name] = v
			worth++
		case found:
			args[name] = v
			worth += 8
		case where && p.zone != "" && own(name, property.Description, required, f):
			args[name] = p.zone
		case required:
			return nil, 0, false
		}
	}
	return args, worth, true
}

// own tells whether a place that the task does not name is the person's: that of
// a time or date, and one of the two of a conversion.
func own(name, description string, required bool, f facts) bool {
	if ends(name) {
		return required && len(f.places) > 0
	}
	return required || strings.Contains(description, "zone")
}

// order puts the beginning of a span of time before its end.
func order(s schema) []string {
	return slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		rank := func(name string) string {
			if strings.HasPrefix(name, "to") || strings.HasPrefix(name, "end") || strings.HasPrefix(name, "until") {
				return "~" + name
			}
			return name
		}
		return strings.Compare(rank(a), rank(b))
	})
}

func mentions(text string, value any) bool {
	s, ok := value.(string)
	return ok && s != "" && strings.Contains(strings.ToLower(text), strings.ToLower(s))
}

// ends tells whether a name is that of one end of a span, of time or between places.
func ends(name string) bool { return name == "from" || name == "to" }

func isPlace(name, description string) bool {
	if ends(name) {
		return strings.Contains(description, "place") || strings.Contains(description, "zone")
	}
	return slices.Contains([]string{"place", "city", "location", "zone", "timezone", "time_zone", "tz"}, strings.ToLower(name))
}

// supply holds the values that a task names; each is used once.
type supply struct {
	places, dates, times, urls, paths, numbers []string
	amounts                                    [][]string
	expression, text                           string
	content                                    bool // text is what to write, not the whole task
}

// scarce tells whether the only date or place is that of an end, and leaves
// none for a beginning: "until tomorrow", "to Tokyo".
func (s *supply) scarce(where bool) bool {
	if where {
		return len(s.places) == 1 && !strings.Contains(s.text, "from "+s.places[0])
	}
	return len(s.dates) == 1
}

func (s *supply) value(name string, where bool, kind any, required bool) (any, bool) {
	var list *[]string
	switch {
	case where:
		list = &s.places
	case slices.Contains([]string{"expression", "formula"}, name):
		return s.expression, s.expression != ""
	case slices.Contains([]string{"url", "uri", "link"}, name):
		list = &s.urls
	case slices.Contains([]string{"path", "file", "filename", "file_path"}, name):
		list = &s.paths
	case name == "time" && len(s.times) > 0:
		list = &s.times
	case slices.Contains([]string{"date", "from", "to", "start", "end", "until", "start_date", "end_date", "time"}, name):
		list = &s.dates
	case slices.Contains([]string{"query", "q", "text", "message", "input"}, name):
		return s.text, required
	case name == "content":
		return s.text, s.content
	case kind == "integer":
		return s.amount(name)
	case kind == "number" && required && len(s.numbers) > 0:
		n, err := strconv.ParseFloat(strings.ReplaceAll(s.numbers[0], ",", ""), 64)
		s.numbers = s.numbers[1:]
		return n, err == nil
	default:
		return nil, false
	}
	if len(*list) == 0 {
		return nil, false
	}
	v := (*list)[0]
	*list = (*list)[1:]
	if where {
		v = nominative(v)
	}
	return v, true
}

// amount finds a number of days, weeks and so on by the name of the unit.
func (s *supply) amount(name string) (any, bool) {
	units := map[string]string{
		"секунд": "second", "минут": "minute", "час": "hour", "дн": "day", "день": "day", "недел": "week", "месяц": "month", "год": "year", "лет": "year",
		"秒": "second", "分钟": "minute", "小时": "hour", "天": "day", "周": "week", "个月": "month", "年": "year",
	}
	for _, a := range s.amounts {
		unit := strings.ToLower(a[2])
		if strings.TrimSuffix(name, "s") == cmp.Or(units[unit], unit) {
			n, err := strconv.Atoi(a[1])
			return n, err == nil
		}
	}
	return nil, false
}
