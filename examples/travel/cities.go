package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that time zones are known everywhere

	"legwork/internal/nearest"
)

// city is a place with airports and hotels.
type city struct {
	name                string
	airports            []string // IATA codes, the one with the most flights first
	also                []string // other names, in lower case
	zone                string
	latitude, longitude float64
}

var cities = []city{
	{"Amsterdam", []string{"AMS"}, []string{"阿姆斯特丹", "амстердам"}, "Europe/Amsterdam", 52.3, 4.8},
	{"Bangkok", []string{"BKK", "DMK"}, []string{"曼谷", "бангкок"}, "Asia/Bangkok", 13.7, 100.7},
	{"Beijing", []string{"PEK", "PKX"}, []string{"bjs", "北京", "пекин"}, "Asia/Shanghai", 40.1, 116.6},
	{"Berlin", []string{"BER"}, []string{"柏林", "берлин"}, "Europe/Berlin", 52.4, 13.5},
	{"Chengdu", []string{"TFU", "CTU"}, []string{"成都", "чэнду"}, "Asia/Shanghai", 30.3, 104.4},
	{"Dubai", []string{"DXB", "DWC"}, []string{"迪拜", "дубай"}, "Asia/Dubai", 25.3, 55.4},
	{"Guangzhou", []string{"CAN"}, []string{"广州", "гуанчжоу"}, "Asia/Shanghai", 23.4, 113.3},
	{"Hong Kong", []string{"HKG"}, []string{"hongkong", "香港", "гонконг"}, "Asia/Hong_Kong", 22.3, 113.9},
	{"Istanbul", []string{"IST", "SAW"}, []string{"伊斯坦布尔", "стамбул"}, "Europe/Istanbul", 41.3, 28.7},
	{"London", []string{"LHR", "LGW"}, []string{"lon", "伦敦", "лондон"}, "Europe/London", 51.5, -0.5},
	{"Madrid", []string{"MAD"}, []string{"马德里", "мадрид"}, "Europe/Madrid", 40.5, -3.6},
	{"Moscow", []string{"SVO", "DME"}, []string{"mow", "莫斯科", "москва"}, "Europe/Moscow", 56.0, 37.4},
	{"New York", []string{"JFK", "EWR"}, []string{"nyc", "new york city", "纽约", "нью-йорк"}, "America/New_York", 40.6, -73.8},
	{"Paris", []string{"CDG", "ORY"}, []string{"par", "巴黎", "париж"}, "Europe/Paris", 49.0, 2.5},
	{"Rome", []string{"FCO", "CIA"}, []string{"rom", "罗马", "рим"}, "Europe/Rome", 41.8, 12.2},
	{"San Francisco", []string{"SFO"}, []string{"旧金山", "сан-франциско"}, "America/Los_Angeles", 37.6, -122.4},
	{"Seoul", []string{"ICN", "GMP"}, []string{"sel", "首尔", "сеул"}, "Asia/Seoul", 37.5, 126.4},
	{"Shanghai", []string{"PVG", "SHA"}, []string{"上海", "шанхай"}, "Asia/Shanghai", 31.1, 121.8},
	{"Shenzhen", []string{"SZX"}, []string{"深圳", "шэньчжэнь"}, "Asia/Shanghai", 22.6, 113.8},
	{"Singapore", []string{"SIN"}, []string{"新加坡", "сингапур"}, "Asia/Singapore", 1.4, 104.0},
	{"St Petersburg", []string{"LED"}, []string{"saint petersburg", "圣彼得堡", "санкт-петербург"}, "Europe/Moscow", 59.8, 30.3},
	{"Sydney", []string{"SYD"}, []string{"悉尼", "сидней"}, "Australia/Sydney", -33.9, 151.2},
	{"Tokyo", []string{"HND", "NRT"}, []string{"tyo", "东京", "токио"}, "Asia/Tokyo", 35.6, 139.8},
}

// find returns the city that a person or a model means. With the code of an
// airport that one alone counts.
func find(text string) (c city, airport string, err error) {
	name := strings.ToLower(strings.TrimSpace(text))
	for _, c := range cities {
		if i := slices.Index(c.airports, strings.ToUpper(name)); i >= 0 {
			return c, c.airports[i], nil
		}
		if strings.ToLower(c.name) == name || slices.Contains(c.also, name) {
			return c, "", nil
		}
	}
	known := make([]string, len(cities))
	for i, c := range cities {
		known[i] = c.name
	}
	if best := nearest.Typo(name, known); best != "" {
		return city{}, "", fmt.Errorf("there is no city %q here; did you mean %s? Known are %s", text, best, strings.Join(known, ", "))
	}
	return city{}, "", fmt.Errorf("there is no city %q here; known are %s and the IATA codes of their airports", text, strings.Join(known, ", "))
}

// location is the city's time zone.
func (c city) location() *time.Location {
	where, err := time.LoadLocation(c.zone)
	if err != nil {
		panic(err) // the zones are built in
	}
	return where
}

// kilometres is the length of the great circle between two cities.
func kilometres(a, b city) float64 {
	const radius, degree = 6371, math.Pi / 180
	north, east := (b.latitude-a.latitude)*degree, (b.longitude-a.longitude)*degree
	h := math.Pow(math.Sin(north/2), 2) + math.Cos(a.latitude*degree)*math.Cos(b.latitude*degree)*math.Pow(math.Sin(east/2), 2)
	return 2 * radius * math.Asin(math.Sqrt(h))
}
