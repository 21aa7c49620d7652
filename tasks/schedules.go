package tasks

import (
	"context"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/internal/schedule"
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
