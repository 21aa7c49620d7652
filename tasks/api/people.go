package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

// People says who may talk to legwork.
type People struct {
	Admins   []string       `json:"admins" doc:"Keys of the admins, of the config and of the store."`
	Rules    []AccessRule   `json:"rules" doc:"What the config says, by platform."`
	People   []PersonAccess `json:"people" doc:"People about whom admins have decided, by key."`
	Requests []PersonAsks   `json:"requests" doc:"People who wait for a decision."`
}

// AccessRule is what the config says about a platform.
type AccessRule struct {
	Platform string   `json:"platform" doc:"Its name."`
	Users    []string `json:"users" doc:"Ids of the people who have access; '*': everybody."`
	Chats    []string `json:"chats" doc:"Ids of the chats in which all people have access; '*': every chat that is not private."`
	Teams    []string `json:"teams" doc:"Ids of the workspaces whose people have access; '*': all."`
	External bool     `json:"external" doc:"Guests and people of other organisations count like all others."`
}

// PersonAccess is what admins have decided about a person.
type PersonAccess struct {
	Key    string   `json:"key" doc:"Key of the person: 'telegram:12345'."`
	Name   string   `json:"name,omitempty" doc:"The name, when the platform told it."`
	Access string   `json:"access" enum:"allow,chat,ignore" doc:"'allow': everywhere on the platform; 'chat': only in 'chats'; 'ignore': no answer."`
	Chats  []string `json:"chats" doc:"Keys of the chats in which the person has access."`
}

// PersonAsks is a person who wants access.
type PersonAsks struct {
	Key  string `json:"key" doc:"Key of the person."`
	Name string `json:"name,omitempty" doc:"The name, as the platform told it."`
	Chat string `json:"chat" doc:"Key of the chat in which they asked."`
	At   Time   `json:"at" doc:"When they asked."`
}

// People returns who may talk to legwork.
func (o *Operations) People(ctx context.Context, p Principal) (People, error) {
	if err := o.allowed(p, policy.OpPeople); err != nil {
		return People{}, err
	}
	out := People{Rules: []AccessRule{}, People: []PersonAccess{}, Requests: []PersonAsks{}}
	admins, err := o.Inbox.Admins(ctx)
	if err != nil {
		return People{}, fmt.Errorf("reading admins: %w", err)
	}
	out.Admins = append([]string{}, admins...)
	platforms := o.Inbox.CurrentRules().Access.Platforms
	for _, name := range slices.Sorted(maps.Keys(platforms)) {
		if _, served := o.Inbox.Chats[name]; !served {
			continue
		}
		a := platforms[name]
		out.Rules = append(out.Rules, AccessRule{name, append([]string{}, a.Users...), append([]string{}, a.Chats...), append([]string{}, a.Teams...), a.External})
	}
	decided, err := inbox.AccessDecisions(ctx, o.Inbox)
	if err != nil {
		return People{}, fmt.Errorf("reading decisions about people: %w", err)
	}
	for _, d := range decided {
		a := PersonAccess{Key: d.Person, Name: d.Name, Access: inbox.AccessChat, Chats: append([]string{}, d.Chats...)}
		switch {
		case d.Ignored:
			a.Access = inbox.AccessIgnore
		case d.Allowed:
			a.Access = inbox.AccessAllow
		}
		out.People = append(out.People, a)
	}
	asked, err := inbox.AccessRequests(ctx, o.Inbox)
	if err != nil {
		return People{}, fmt.Errorf("reading requests for access: %w", err)
	}
	for _, r := range asked {
		out.Requests = append(out.Requests, PersonAsks{r.Person.Key(), r.Person.Name, r.Chat.Key(), Time{r.At}})
	}
	return out, nil
}

// DecidePerson decides about a person as the buttons in an admin's chat do: "allow",
// "chat", "ignore"; "remove" takes an earlier decision back. ErrConflict: the person
// waits for no decision, or an admin has decided already.
func (o *Operations) DecidePerson(ctx context.Context, p Principal, person, decision string) (People, error) {
	if err := o.allowed(p, policy.OpPeople); err != nil {
		return People{}, err
	}
	err := inbox.DecideAccess(ctx, o.Inbox, decision, person)
	if errors.Is(err, inbox.ErrDecided) {
		return People{}, fmt.Errorf("%w: an admin has decided meanwhile, or this person does not ask", ErrConflict)
	}
	if err != nil {
		return People{}, fmt.Errorf("deciding about %s: %w", person, err)
	}
	action := map[string]string{inbox.AccessAllow: "access.allow", inbox.AccessChat: "access.allow_here", inbox.AccessIgnore: "access.ignore", inbox.AccessRemove: "access.remove"}[decision]
	if err := o.record(ctx, p, action, person, ""); err != nil {
		return People{}, err
	}
	return o.People(ctx, p)
}

// Schedule is a schedule.
type Schedule struct {
	ID       string `json:"id" doc:"Its id."`
	Name     string `json:"name,omitempty" doc:"Its name in the config."`
	Goal     string `json:"goal" doc:"The question or task; at most 500 bytes of it."`
	When     string `json:"when" doc:"Its times, as the person wrote them."`
	Timezone string `json:"timezone" doc:"IANA name of the time zone."`
	Chat     string `json:"chat" doc:"Key of the chat that gets the answers."`
	From     string `json:"from" doc:"Key of the person whose rights and budgets it uses."`
	FromName string `json:"from_name,omitempty" doc:"Name of that person."`
	Config   bool   `json:"config" doc:"It is from the config file, and only the config can delete it."`
	CatchUp  bool   `json:"catch_up" doc:"The last missed run is caught up."`
	State    string `json:"state" enum:"active,paused,over" doc:"'over': there is no further run."`
	Why      string `json:"why,omitempty" doc:"The reason why legwork has paused it, or why the last run was skipped: 'missed' (legwork was not running), 'running' (the run before was not over), 'access' (the person has no access any more), 'unseen' (the last answer could not be shown), 'broken' (this version cannot read its times)."`
	Next     *Time  `json:"next_at" doc:"The next run; null: none."`
	Last     *Time  `json:"last_at" doc:"The last run; null: none yet."`
	Skipped  *Time  `json:"skipped_at" doc:"The newest run after the last that was skipped; null: none."`
	LastTask string `json:"last_task,omitempty" doc:"Id of the task of the last run."`
	LastDone string `json:"last_state,omitempty" doc:"State of that task."`
	MayEdit  bool   `json:"may_change" doc:"The caller may pause, resume, run and, if it is not from the config, delete it."`
}

// maxScheduleGoal bounds Schedule.Goal, in bytes.
const maxScheduleGoal = 500

// Schedules lists the schedules of the chats that the principal sees, and its own, in the
// order in which they were made.
func (o *Operations) Schedules(ctx context.Context, p Principal) ([]Schedule, error) {
	if err := p.Allowed(policy.OpSchedules); err != nil {
		return nil, err
	}
	all, err := o.Inbox.Schedules.All(ctx)
	if err != nil {
		return nil, err
	}
	list := []Schedule{}
	for _, s := range all {
		if !p.seesSchedule(s) {
			continue
		}
		one, err := o.schedule(ctx, p, s)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// seesSchedule reports whether a schedule exists for the principal.
func (p Principal) seesSchedule(s tasks.Schedule) bool {
	return p.ownsSchedule(s) || p.Role.May(policy.OpSchedules) == policy.Always && p.Sees(s.Chat)
}

func (p Principal) ownsSchedule(s tasks.Schedule) bool { return p.Owns(s.From) }

// mayChange reports whether the principal may change a schedule, by the rules of the
// chat command (policy.MayChangeSchedule).
func (p Principal) mayChange(s tasks.Schedule) bool {
	right := p.Role.May(policy.OpSchedule)
	return right == policy.Always || right == policy.Own && !s.Config && p.ownsSchedule(s)
}

func (o *Operations) schedule(ctx context.Context, p Principal, s tasks.Schedule) (Schedule, error) {
	out := Schedule{
		ID: s.ID, Name: s.Name, Goal: clip.Marked(s.Goal, maxScheduleGoal), When: cmp.Or(strings.TrimSpace(s.Words), s.Spec), Timezone: s.Timezone, Chat: s.Chat.Key(), From: s.From.Key(),
		FromName: s.From.Name, Config: s.Config, CatchUp: s.CatchUp, State: "active", Why: s.Why, LastTask: string(s.LastTask), MayEdit: p.mayChange(s),
	}
	switch {
	case s.Paused:
		out.State = "paused"
	case s.Over():
		out.State = "over"
	}
	if !s.Next.IsZero() && !s.Paused {
		out.Next = &Time{s.Next}
	}
	if !s.Last.IsZero() {
		out.Last = &Time{s.Last}
	}
	if !s.Skipped.IsZero() {
		out.Skipped = &Time{s.Skipped}
	}
	if s.LastTask != "" {
		row, err := o.Inbox.Store.Row(ctx, s.LastTask)
		switch {
		case tasks.Unreadable(err):
			out.LastTask = ""
		case err != nil:
			return out, fmt.Errorf("reading task %s: %w", s.LastTask, err)
		default:
			out.LastDone = row.Status
		}
	}
	return out, nil
}

// The actions on a schedule.
const (
	SchedulePause  = "pause"
	ScheduleResume = "resume"
	ScheduleDelete = "delete"
	ScheduleRun    = "run"
)

// ChangeSchedule acts on a schedule by the rules of the chat command, and returns it; a
// deleted one as it was. ErrNotFound, ErrForbidden, ErrConflict.
func (o *Operations) ChangeSchedule(ctx context.Context, p Principal, id, action string) (Schedule, error) {
	if err := p.Allowed(policy.OpSchedule); err != nil {
		return Schedule{}, err
	}
	s, err := o.changeSchedule(ctx, p, id, action)
	if err != nil {
		return Schedule{}, err
	}
	if action == ScheduleRun {
		task, err := inbox.RunSchedule(ctx, o.Inbox, s)
		switch {
		case errors.Is(err, inbox.ErrRuns), errors.Is(err, inbox.ErrNoAccess), errors.Is(err, tasks.ErrRefused):
			return Schedule{}, fmt.Errorf("%w: %w", ErrConflict, err)
		case errors.Is(err, inbox.ErrOverloaded):
			return Schedule{}, fmt.Errorf("%w: %w", ErrBusy, err)
		case err != nil:
			return Schedule{}, fmt.Errorf("running schedule %s: %w", id, err)
		}
		s.LastTask, s.Last = task, o.Inbox.Wall()
	}
	if err := o.record(ctx, p, "schedule."+action, id, s.Chat.Key()); err != nil {
		return Schedule{}, err
	}
	return o.schedule(ctx, p, s)
}

// changeSchedule finds a schedule and stores the change of an action.
func (o *Operations) changeSchedule(ctx context.Context, p Principal, id, action string) (tasks.Schedule, error) {
	list := o.Inbox.Schedules
	list.Lock()
	defer list.Unlock()
	s, found, err := list.Find(ctx, id)
	switch {
	case err != nil:
		return s, err
	case !found || !p.seesSchedule(s):
		return s, notFoundError("no such schedule, or not one that you may see")
	case !p.mayChange(s):
		return s, fmt.Errorf("%w: only its person and admins may change a schedule, and only admins one of the config", ErrForbidden)
	case action == ScheduleDelete && s.Config:
		return s, fmt.Errorf("%w: the schedule is from the config; delete it there", ErrConflict)
	}
	switch action {
	case SchedulePause:
		s = s.Pause()
		return s, list.Put(ctx, s)
	case ScheduleResume:
		if !s.Paused {
			return s, nil
		}
		if s, err = s.Resume(o.Inbox.Wall()); err != nil {
			return s, fmt.Errorf("%w: %w", ErrConflict, err)
		}
		return s, list.Put(ctx, s)
	case ScheduleDelete:
		return s, list.Drop(ctx, id)
	case ScheduleRun:
		return s, nil
	}
	return s, &InvalidError{"action", "must be pause, resume, delete or run"}
}
