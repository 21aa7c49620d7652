package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/schedule"
	"legwork/planner"
)

// Schedule opens a task again and again, or once, at given times.
type Schedule struct {
	ID       string
	Chat     bot.Chat
	From     bot.Person // on whose behalf
	Goal     string
	Spec     string // canonical form of package schedule
	Words    string // as the person wrote it
	Timezone string // IANA name
	Language string // of the texts
	CatchUp  bool   // when fire times were missed, the last one is made up for
	Paused   bool
	Config   bool // it comes from the config file, which alone changes it
	Made     time.Time
	Next     time.Time // wall-clock time of the next one; zero: none
	Last     time.Time // fire time of the last one; zero: none yet
	LastTask ID

	Team     string    // of From and Chat, as the platform told when it was made
	External bool      // and so, whether From is a guest
	Name     string    // in the config
	Skipped  time.Time // newest fire time that was left out since Last; zero: none
	Why      string    // why it was, or why legwork itself paused it: one of the constants
}

// Why a fire time was left out, or a schedule paused.
const (
	WhyMissed  = "missed"  // legwork was not running
	WhyRunning = "running" // the task of the one before still was
	WhyAccess  = "access"  // its person may not use legwork there any more
	WhyUnseen  = "unseen"  // its chat took no answer the last time
	WhyBroken  = "broken"  // this version cannot read when it is due
)

// Firing is a fire time of a schedule that a delivery is for. The store takes
// the delivery only while the schedule is not paused and its Next is At, and
// moves it to Next in the same transaction; otherwise the Receipt is ErrRefused.
type Firing struct {
	Schedule string
	At       time.Time
	Next     time.Time // zero: there is no further one
}

// Schedules is the table of what is due.
type Schedules interface {
	// Schedules lists those of a conversation, or all when it is empty, in the
	// order of their making.
	Schedules(ctx context.Context, conversation string) ([]Schedule, error)
	// PutSchedule stores one, in place of that with the same id.
	PutSchedule(ctx context.Context, s Schedule) error
	// DropSchedule deletes one; of that which is not there, nothing.
	DropSchedule(ctx context.Context, id string) error
	// Due lists at most limit schedules whose Next has come, the earliest first,
	// and tells the Next of the first one that follows; zero when none does.
	Due(ctx context.Context, now time.Time, limit int) (due []Schedule, next time.Time, err error)
}

// ReadSpec reads when a schedule comes, in its zone.
func (s Schedule) ReadSpec() (schedule.Spec, error) {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return schedule.Spec{}, fmt.Errorf("reading the time zone of schedule %s: %w", s.ID, err)
	}
	return schedule.Read(s.Spec, zone)
}

// Over reports that a schedule never comes again by itself.
func (s Schedule) Over() bool { return s.Next.IsZero() && !s.Paused }

// ScheduleList reads and changes the schedules of a store. Who changes one holds the
// lock from reading it to storing it.
type ScheduleList struct {
	sync.Mutex
	store   Store
	changed chan struct{} // holds one signal
}

// NewScheduleList makes the list of a store's schedules. One process has one.
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

// All lists all schedules, in the order of their making.
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

// Put stores a schedule in place of that with the same id, and signals the change.
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

// LastTaskRuns reports that the last task of a schedule is not over.
func (l *ScheduleList) LastTaskRuns(ctx context.Context, s Schedule) (bool, error) {
	state, ok, err := l.lastState(ctx, s)
	return ok && !state.Finished(), err
}

// LastAnswerUnseen reports that the chat took no answer of a schedule's last task.
func (l *ScheduleList) LastAnswerUnseen(ctx context.Context, s Schedule) (bool, error) {
	state, ok, err := l.lastState(ctx, s)
	if err != nil || !ok {
		return false, err
	}
	last, err := l.store.Event(ctx, s.LastTask, state.Seq)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading task %s: %w", s.LastTask, err)
	}
	return last.Type == planner.CallFailed && last.Action == planner.ShowID(), nil
}

// lastState is the state of a schedule's last task; ok is false when there is none
// that can be read.
func (l *ScheduleList) lastState(ctx context.Context, s Schedule) (state planner.State, ok bool, err error) {
	if s.LastTask == "" {
		return state, false, nil
	}
	state, err = l.store.State(ctx, s.LastTask)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) {
		return state, false, nil
	}
	if err != nil {
		return state, false, fmt.Errorf("reading task %s: %w", s.LastTask, err)
	}
	return state, true, nil
}
