package cards

import (
	"fmt"
	"strings"
	"time"

	"legwork/i18n"
	"legwork/internal/schedule"
	"legwork/tasks"
)

// DescribeTimes describes the times of a schedule in a language: "Every weekday at 09:00".
func DescribeTimes(texts *i18n.Texts, lang string, spec schedule.Spec) string {
	p := spec.Phrase()
	join := texts.Text(lang, "schedule.and", nil)
	data := map[string]any{"Text": strings.Join(p.Times, join), "Count": p.Count}
	key := p.Kind
	switch p.Kind {
	case schedule.Once:
		data["Date"] = p.At
	case schedule.Interval:
		key, data["Count"] = "minutes", int(p.Every/time.Minute)
		if p.Every%time.Hour == 0 {
			key, data["Count"] = "hours", int(p.Every/time.Hour)
		}
	case schedule.Weekly:
		var days []string
		for _, d := range p.Days {
			days = append(days, texts.Text(lang, fmt.Sprintf("schedule.day_%d", d), nil))
		}
		data["Days"] = strings.Join(days, join)
	case schedule.Nth:
		data["Days"] = texts.Text(lang, fmt.Sprintf("schedule.day_%d", p.Days[0]), nil)
		data["Name"] = texts.Text(lang, fmt.Sprintf("schedule.nth_%d", p.Nth), nil)
	case schedule.Monthly:
		data["Days"] = p.Day
	case schedule.Yearly:
		data["Days"], data["Name"] = p.Day, texts.Text(lang, fmt.Sprintf("schedule.month_%d", p.Month), nil)
	case schedule.Cron:
		data["Text"] = p.Cron
	}
	return texts.Text(lang, "schedule."+key, data)
}

// ScheduleTimes describes the times of a stored schedule. If its spec cannot be
// read, it shows the text that the person wrote.
func ScheduleTimes(texts *i18n.Texts, lang string, s tasks.Schedule) string {
	spec, err := s.ReadSpec()
	if err != nil {
		return InCode(s.Words)
	}
	return DescribeTimes(texts, lang, spec)
}
