package tasks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/schedule"
	"legwork/planner"
)

// Schedule opens a task at given times, once or repeatedly.
type Schedule struct {
	ID       string
	Chat     bot.Chat
	From     bot.Person // the person who asked
	Goal     string
	Spec     string // canonical form of package schedule
	Words    string // as the person wrote it
	Timezone string // IANA name
	Language string // of the texts
	CatchUp  bool   // when fire times were missed, the last one is caught up
	Paused   bool
	Config   bool // it is from the config file, and only the config file can change it
	Made     time.Time
	Next     time.Time // the next fire time, by the wall clock; zero: none
	Last     time.Time // the last fire time; zero: none yet
	LastTask ID

	Team     string    // of From and Chat, as the platform reported when the schedule was made
	External bool      // From is a guest, as reported then
	Name     string    // name in the config
	Skipped  time.Time // newest fire time after Last that was skipped; zero: none
	Why      string    // why it was skipped, or why legwork paused the schedule: one of the constants
}

// The reasons for a skipped fire time or a paused schedule.
const (
	WhyMissed  = "missed"  // legwork was not running
	WhyRunning = "running" // the task of the fire time before was still running
	WhyAccess  = "access"  // the person no longer has access in the chat
	WhyUnseen  = "unseen"  // the last answer could not be shown in the chat
	WhyBroken  = "broken"  // this version cannot read the times
)

// Firing is the fire time of a schedule for which a delivery opens a task. The store
// accepts the delivery only if the schedule is not paused and its Next is At, and
// sets Next in the same transaction. Otherwise the Receipt has ErrRefused.
type Firing struct {
	Schedule string
	At       time.Time
	Next     time.Time // zero: no further fire time
}

// Schedules stores the schedules.
type Schedules interface {
	// Schedules lists the schedules of a conversation, or all if it is empty, in the
	// order in which they were made.
	Schedules(ctx context.Context, conversation string) ([]Schedule, error)
	// PutSchedule stores a schedule and replaces the one with the same id.
	PutSchedule(ctx context.Context, s Schedule) error
	// DropSchedule deletes a schedule, if it exists.
	DropSchedule(ctx context.Context, id string) error
	// Due lists at most limit schedules that are due, the earliest first. next is
	// the fire time of the first schedule after them; zero when there is none.
	Due(ctx context.Context, now time.Time, limit int) (due []Schedule, next time.Time, err error)
}

// ReadSpec parses the times of a schedule, in its time zone.
func (s Schedule) ReadSpec() (schedule.Spec, error) {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return schedule.Spec{}, fmt.Errorf("reading the time zone of schedule %s: %w", s.ID, err)
	}
	return schedule.Read(s.Spec, zone)
}

// Over reports whether a schedule has no further fire time.
func (s Schedule) Over() bool { return s.Next.IsZero() && !s.Paused }

// Pause pauses a schedule, as a person wants.
func (s Schedule) Pause() Schedule {
	s.Paused, s.Why = true, ""
	return s
}

// Resume makes a paused schedule go on from now on: runs that were skipped during the
// pause are not caught up.
func (s Schedule) Resume(now time.Time) (Schedule, error) {
	spec, err := s.ReadSpec()
	if err != nil {
		return s, err
	}
	if s.Why == WhyUnseen {
		s.LastTask = "" // otherwise the unseen answer would pause it again
	}
	s.Paused, s.Why, s.Next = false, "", spec.Next(now)
	return s, nil
}

// ScheduleList reads and changes the schedules of a store. To change a schedule,
// hold the lock from reading it to storing it.
type ScheduleList struct {
	sync.Mutex
	store   Store
	changed chan struct{} // holds one signal
}

// NewScheduleList makes the list of a store's schedules. A process has one.
func NewScheduleList(store Store) *ScheduleList {
	return &ScheduleList{store: store, changed: make(chan struct{}, 1)}
}

// Changed receives a value after schedules were changed.
func (l *ScheduleList) Changed() <-chan struct{} { return l.changed }

func (l *ScheduleList) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// All lists all schedules, in the order in which they were made.
func (l *ScheduleList) All(ctx context.Context) ([]Schedule, error) {
	all, err := l.store.Schedules(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("listing schedules: %w", err)
	}
	return all, nil
}

// InRoom lists the schedules of a chat with its threads and topics.
func (l *ScheduleList) InRoom(ctx context.Context, room string) ([]Schedule, error) {
	all, err := l.All(ctx)
	return slices.DeleteFunc(all, func(s Schedule) bool { return s.Chat.Room() != room }), err
}

// Find returns the schedule of that id.
func (l *ScheduleList) Find(ctx context.Context, id string) (s Schedule, ok bool, err error) {
	all, err := l.All(ctx)
	i := slices.IndexFunc(all, func(s Schedule) bool { return s.ID == id })
	if i < 0 {
		return s, false, err
	}
	return all[i], true, nil
}

// Put stores a schedule, replaces the one with the same id, and signals the change.
func (l *ScheduleList) Put(ctx context.Context, s Schedule) error {
	if err := l.store.PutSchedule(ctx, s); err != nil {
		return fmt.Errorf("storing schedule: %w", err)
	}
	l.signal()
	return nil
}

// Drop deletes a schedule, and signals the change.
func (l *ScheduleList) Drop(ctx context.Context, id string) error {
	if err := l.store.DropSchedule(ctx, id); err != nil {
		return fmt.Errorf("deleting schedule %q: %w", id, err)
	}
	l.signal()
	return nil
}

// LastTaskRuns reports whether the last task of a schedule has not ended.
func (l *ScheduleList) LastTaskRuns(ctx context.Context, s Schedule) (bool, error) {
	state, ok, err := l.lastState(ctx, s)
	return ok && !state.Finished(), err
}

// LastAnswerUnseen reports whether the answer of a schedule's last task could not be
// shown in the chat.
func (l *ScheduleList) LastAnswerUnseen(ctx context.Context, s Schedule) (bool, error) {
	state, ok, err := l.lastState(ctx, s)
	if err != nil || !ok {
		return false, err
	}
	last, err := l.store.Event(ctx, s.LastTask, state.Seq)
	if Unreadable(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading task %s: %w", s.LastTask, err)
	}
	return last.Type == planner.CallFailed && last.Action == planner.ShowID(), nil
}

// lastState returns the state of a schedule's last task; ok is false when there is
// no such task or it cannot be read.
func (l *ScheduleList) lastState(ctx context.Context, s Schedule) (state planner.State, ok bool, err error) {
	if s.LastTask == "" {
		return state, false, nil
	}
	state, err = l.store.State(ctx, s.LastTask)
	if Unreadable(err) {
		return state, false, nil
	}
	if err != nil {
		return state, false, fmt.Errorf("reading task %s: %w", s.LastTask, err)
	}
	return state, true, nil
}
