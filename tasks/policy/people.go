package policy

import (
	"slices"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// MaySteer reports whether a person may guide, stop and decide about a task: its
// owner and admins may. person and owner are keys.
func MaySteer(admin bool, person, owner string) bool { return admin || person == owner }

// MayChangeSchedule reports whether a person may change a schedule: its owner and
// admins may. Only admins may change a schedule of the config.
func MayChangeSchedule(admin bool, person string, s tasks.Schedule) bool {
	return admin || !s.Config && s.From.Key() == person
}

// OpenGroups returns the groups that a person may use in a chat. named lists the
// groups that the config gives to the chat; empty: all groups.
func OpenGroups(all []tools.Group, named []string, chat bot.Chat, person bot.Person) []tools.Group {
	return slices.DeleteFunc(all, func(g tools.Group) bool {
		return len(named) > 0 && !slices.Contains(named, g.Name) || !allows(g, chat, person)
	})
}

// TaskGroups returns the groups that a task may use, as OpenGroups does for its
// asker. A tainted task, which has read texts of outsiders, gains no group that
// was not open at its beginning.
func TaskGroups(all []tools.Group, named []string, o *planner.Opening, tainted bool) []tools.Group {
	return slices.DeleteFunc(OpenGroups(all, named, o.Chat, o.From), func(g tools.Group) bool {
		return o.Only != nil && !slices.Contains(o.Only, g.Name) || tainted && o.Groups != nil && !slices.Contains(o.Groups, g.Name)
	})
}

// allows reports whether the config lets a person use a group in a chat.
func allows(g tools.Group, chat bot.Chat, person bot.Person) bool {
	return len(g.Allow) == 0 || slices.ContainsFunc(g.Allow, func(who string) bool {
		return who == "*" || who == person.Key() || who == chat.Key() || who == chat.Room()
	})
}
