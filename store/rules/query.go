package rules

import (
	"cmp"
	"slices"
	"strings"

	"legwork/tasks"
)

// pageSize is how many rows a query for tasks gets that names no limit.
const pageSize = 50

// PageSize is how many rows a query gets.
func PageSize(q tasks.TaskQuery) int {
	if q.Limit <= 0 {
		return pageSize
	}
	return q.Limit
}

// Matches reports that a row is what a query is about.
func Matches(q tasks.TaskQuery, r tasks.Row) bool {
	if q.Before != "" && r.Task >= q.Before || q.Waits && !r.Waits {
		return false
	}
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) && inRooms(q.Rooms, r)
}

func inRooms(rooms []string, r tasks.Row) bool {
	if rooms == nil {
		return true
	}
	return slices.ContainsFunc(rooms, func(room string) bool {
		if platform, all := PlatformOf(room); all {
			return platform == "" || platform == r.Chat.Platform
		}
		return room == r.Chat.Room()
	})
}

// PlatformOf is the platform that a query names in place of a room; empty for all of
// them.
func PlatformOf(room string) (platform string, all bool) {
	if room == "*" {
		return "", true
	}
	platform, all = strings.CutSuffix(room, ":*")
	return platform, all && !strings.Contains(platform, ":")
}

// CompareDeliveries sorts deliveries in the order in which they were queued.
func CompareDeliveries(a, b tasks.Delivery) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}
