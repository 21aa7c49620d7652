package builtin

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that zones are known where the system has none
	"unicode"

	"legwork/internal/nearest"

	"golang.org/x/text/unicode/norm"
)

//go:embed zones.txt
var zonesText string // per line: a country's ISO 3166 code and its IANA zones

// countriesText has per line, parted by tabs: a country's ISO 3166 code of two
// letters, its names in the languages of the interface, English first, and its
// code of three letters.
//
//go:embed countries.txt
var countriesText string

//go:embed cities.txt
var citiesText string // per line: a zone, a colon, and names that mean it

// places finds time zones by the names people use. The index is made at the
// first use.
type places struct {
	once  sync.Once
	zones map[string][]string // normalised name to IANA zones
	names []string            // of cities and countries, in English, to suggest
}

// zonedPlace is a place with one of its zones.
type zonedPlace struct {
	name string // "Tokyo"; the zone's own city when the place has several zones
	loc  *time.Location
}

var offsetRule = regexp.MustCompile(`^(?:utc|gmt)? ?([+-]) ?(\d{1,2})(?::?(\d{2}))?$`)

// find returns the zones of a place. A country has one for each of its
// different times at now, otherwise there is exactly one.
func (p *places) find(place string, now time.Time) ([]zonedPlace, error) {
	p.once.Do(p.index)
	place = strings.TrimSpace(place)
	if place == "" {
		return nil, fmt.Errorf("the place is empty; give a city, a country, an IANA zone or a UTC offset")
	}
	if len(place) > 200 {
		return nil, fmt.Errorf("the place is longer than 200 bytes")
	}
	if loc := offset(place); loc != nil {
		return []zonedPlace{{loc.String(), loc}}, nil
	}
	if strings.Contains(place, "/") {
		if loc, err := time.LoadLocation(place); err == nil {
			return []zonedPlace{{city(place), loc}}, nil
		}
	}
	for _, guess := range readings(place) {
		if zones := p.zones[normalized(guess)]; len(zones) > 0 {
			return zonedPlaces(strings.TrimSpace(guess), zones, now)
		}
	}
	if loc, err := time.LoadLocation(place); err == nil && place != "Local" {
		return []zonedPlace{{place, loc}}, nil
	}
	perhaps := ""
	if near := p.similar(place); near != "" {
		perhaps = " (perhaps " + near + "?)"
	}
	return nil, fmt.Errorf("the place %q is not known%s; give a larger city near it, an IANA zone such as Europe/Paris, or a UTC offset such as UTC+3", place, perhaps)
}

// zonedPlaces loads zones and keeps the first of each different time.
func zonedPlaces(name string, zones []string, now time.Time) ([]zonedPlace, error) {
	var list []zonedPlace
	seen := map[int]bool{}
	for _, zone := range zones {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			return nil, fmt.Errorf("loading the zone %s: %w", zone, err)
		}
		_, secs := now.In(loc).Zone()
		if !seen[secs] {
			seen[secs] = true
			list = append(list, zonedPlace{city(zone), loc})
		}
	}
	if len(list) == 1 {
		list[0].name = name
	}
	return list, nil
}

// offset reads "UTC+3", "+05:30", "GMT-7".
func offset(s string) *time.Location {
	m := offsetRule.FindStringSubmatch(strings.ToLower(strings.ReplaceAll(s, "−", "-")))
	if m == nil {
		return nil
	}
	h, _ := strconv.Atoi(m[2])
	mins, _ := strconv.Atoi(m[3])
	if h > 14 || mins > 59 {
		return nil
	}
	secs := h*3600 + mins*60
	if m[1] == "-" {
		secs = -secs
	}
	return time.FixedZone(fmt.Sprintf("UTC%s%02d:%02d", m[1], h, mins), secs)
}

// readings are the ways to read a place, from the whole to its parts: "Paris,
// France", "the city of Tokyo", "Berlin time".
func readings(place string) []string {
	list := []string{place}
	if head, _, ok := strings.Cut(place, ","); ok {
		list = append(list, head)
	}
	if head, _, ok := strings.Cut(place, "("); ok {
		list = append(list, head)
	}
	short := strings.ToLower(list[len(list)-1])
	for _, before := range []string{"in ", "the ", "city of ", "the city of ", "в ", "во ", "город "} {
		if rest, ok := strings.CutPrefix(short, before); ok {
			list = append(list, rest)
		}
	}
	for _, after := range []string{" time", " city", " now", " usa", "时间", "市", "现在"} {
		if rest, ok := strings.CutSuffix(short, after); ok {
			list = append(list, rest)
		}
	}
	_, tail, ok := strings.Cut(place, ",")
	for ok {
		list = append(list, tail)
		_, tail, ok = strings.Cut(tail, ",")
	}
	return list
}

// index is built of three sources: IANA zones and their cities, the table of
// cities, and the names of countries in the languages of the interface.
func (p *places) index() {
	p.zones = map[string][]string{}
	set := func(name string, zones ...string) {
		if key := normalized(name); key != "" && len(p.zones[key]) == 0 {
			p.zones[key] = zones
		}
	}
	for line := range strings.Lines(citiesText) {
		zone, names, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		for _, name := range strings.Split(names, ", ") {
			set(name, zone)
			if name[0] < unicode.MaxASCII {
				p.names = append(p.names, name)
			}
		}
	}
	p.indexCountries(set)
	slices.Sort(p.names)
}

// indexCountries goes on where index stopped; names that are set already stay.
func (p *places) indexCountries(set func(name string, zones ...string)) {
	names := map[string][]string{}
	for line := range strings.Lines(countriesText) {
		c := strings.Split(strings.TrimSpace(line), "\t")
		names[c[0]] = c[1:]
	}
	var countries [][]string
	for line := range strings.Lines(zonesText) {
		c := strings.Fields(line)
		countries = append(countries, c)
		for _, name := range names[c[0]] {
			set(name, c[1:]...)
		}
		p.names = append(p.names, names[c[0]][0])
	}
	for _, name := range []string{"USA", "US", "America", "США"} {
		set(name, p.zones["unitedstates"]...)
	}
	set("UAE", "Asia/Dubai")
	set("Turkey", "Europe/Istanbul")
	set("Holland", "Europe/Amsterdam")
	set("Czech Republic", "Europe/Prague")
	for _, c := range countries {
		for _, zone := range c[1:] {
			set(city(zone), zone)
			set(zone, zone)
		}
	}
}

// similar suggests a known name that is spelt almost like the place; empty for
// none.
func (p *places) similar(place string) string {
	if len(normalized(place)) < 4 {
		return ""
	}
	return nearest.Typo(place, p.names)
}

// city is the readable end of a zone's name.
func city(zone string) string {
	return strings.ReplaceAll(zone[strings.LastIndexByte(zone, '/')+1:], "_", " ")
}

// normalized is a name without case, accents, spaces and punctuation, which people
// write in different ways.
func normalized(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(name))
}
