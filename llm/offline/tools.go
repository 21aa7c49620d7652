package offline

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// schema is what is looked at in a tool's JSON Schema.
type schema struct {
	Properties map[string]struct {
		Type        any
		Description string
		Enum        []any
	}
	Required []string
}

// choose takes the tool that fits a task best: it must be possible to fill all
// that it requires, and what is filled counts more than words in common, of
// which those of its name count twice.
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
		n := worth + 2*overlap(hints, vocabulary(name+" "+t.Description)) + 2*overlap(hints, vocabulary(name))
		if fits && n > most {
			tool, args, ok, most = t.Name, filled, true, n
		}
	}
	return tool, args, ok
}

// fill finds arguments for the properties of a schema, in the order of their
// names. worth grows with those that the task names; fits says whether all
// required ones have one.
func (r *rules) fill(s schema, p prompt, f facts) (args map[string]any, worth int, fits bool) {
	args = map[string]any{}
	values := supply{
		places: f.places, dates: f.dates, urls: f.urls, paths: f.paths, expression: f.expression,
		numbers: r.number.FindAllString(p.task, -1), amounts: r.amount.FindAllStringSubmatch(p.task, -1), text: p.task,
	}
	if q := r.quoted.FindStringSubmatch(p.task); q != nil {
		values.text = q[1]
	}
	for _, name := range order(s) {
		property := s.Properties[name]
		required := slices.Contains(s.Required, name)
		where := isPlace(name, property.Description)
		v, found := values.value(strings.ToLower(name), where, property.Type, required)
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
		case required && where && p.zone != "":
			args[name] = p.zone
		case required:
			return nil, 0, false
		}
	}
	return args, worth, true
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

func isPlace(name, description string) bool {
	if name == "from" || name == "to" {
		return strings.Contains(description, "place")
	}
	return slices.Contains([]string{"place", "city", "location", "zone", "timezone", "time_zone", "tz"}, strings.ToLower(name))
}

// supply holds what a task names; each value is given away once.
type supply struct {
	places, dates, urls, paths, numbers []string
	amounts                             [][]string
	expression, text                    string
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
	case slices.Contains([]string{"date", "from", "to", "start", "end", "until", "start_date", "end_date", "time"}, name):
		list = &s.dates
	case slices.Contains([]string{"query", "q", "text", "message", "input", "content"}, name):
		return s.text, required
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
		if en, ok := units[unit]; ok {
			unit = en
		}
		if strings.TrimSuffix(name, "s") == unit {
			n, err := strconv.Atoi(a[1])
			return n, err == nil
		}
	}
	return nil, false
}
