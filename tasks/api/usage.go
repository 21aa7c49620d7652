package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/llm"
	"legwork/tasks"
)

// UsageRow is what was spent by what the question groups by: empty for all.
type UsageRow struct {
	User  string `json:"user,omitempty" doc:"Who asked."`
	Chat  string `json:"chat,omitempty" doc:"The chat."`
	Model string `json:"model,omitempty" doc:"The model."`
	Day   string `json:"day,omitempty" doc:"The day: '2026-11-21'."`
	Calls int    `json:"calls" doc:"The number of model calls."`
	Usage
}

// UsageKeys are what usage can be summed by.
func UsageKeys() []string { return []string{"user", "chat", "model", "day"} }

// usualDays is how far back usage goes where no day is named.
const usualDays = 30

// Usage sums what was spent between two days, both included ("2026-11-20"; empty:
// the last 30 days), by user, chat, model, day, in that order.
func (s *Service) Usage(ctx context.Context, p Principal, by []string, from, to string) ([]UsageRow, error) {
	if err := p.Allowed(OpUsage); err != nil {
		return nil, err
	}
	for _, key := range by {
		if !slices.Contains(UsageKeys(), key) {
			return nil, &InvalidError{"by", fmt.Sprintf("%q is none of %s", key, strings.Join(UsageKeys(), ", "))}
		}
	}
	from, to, err := s.days(from, to)
	if err != nil {
		return nil, err
	}
	spent, err := s.Store.Spent(ctx, tasks.SpentQuery{From: from, To: to})
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	sums, calls := map[UsageRow]llm.Usage{}, map[UsageRow]int{}
	for _, row := range spent {
		if p.Sees(roomIn(row.Chat)) {
			key := grouped(row, by)
			sums[key], calls[key] = sums[key].Add(row.Usage), calls[key]+row.Calls
		}
	}
	rows := make([]UsageRow, 0, len(sums))
	for key, sum := range sums {
		key.Usage = usageOf(sum)
		key.Calls = calls[UsageRow{User: key.User, Chat: key.Chat, Model: key.Model, Day: key.Day}]
		rows = append(rows, key)
	}
	slices.SortFunc(rows, func(a, b UsageRow) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Day, b.Day))
	})
	return rows, nil
}

// days are the first and the last day of a question.
func (s *Service) days(from, to string) (string, string, error) {
	for field, day := range map[string]string{"from": from, "to": to} {
		if _, err := time.Parse(time.DateOnly, day); err != nil && day != "" {
			return "", "", &InvalidError{field, `must be a day such as "2026-11-20"`}
		}
	}
	to = cmp.Or(to, tasks.Today(s.Inbox))
	if from == "" {
		last, err := time.Parse(time.DateOnly, to)
		if err != nil {
			return "", "", fmt.Errorf("reading day %q: %w", to, err)
		}
		from = last.AddDate(0, 0, 1-usualDays).Format(time.DateOnly)
	}
	if from > to {
		return "", "", &InvalidError{"from", "is after to"}
	}
	return from, to, nil
}

// grouped is the row that counts what was spent.
func grouped(row tasks.Spent, by []string) UsageRow {
	var key UsageRow
	for _, name := range by {
		switch name {
		case "user":
			key.User = row.User
		case "chat":
			key.Chat = row.Chat
		case "model":
			key.Model = row.Model
		case "day":
			key.Day = row.Day
		}
	}
	return key
}
