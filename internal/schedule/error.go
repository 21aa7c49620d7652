package schedule

import "fmt"

// Error says why a text tells no time. Code is one of the constants; what to
// write instead is up to who shows it.
type Error struct {
	Code  string
	Text  string   // what it is about, as it was written
	Field string   // of BadField: which of the five
	Among []string // of Unclear: what it may mean
}

// The codes of errors.
const (
	Unknown   = "unknown"    // it says no time that is understood
	NoTime    = "no_time"    // it says a day, but no time of the day
	NoDay     = "no_day"     // it says a week, a month or a year, but not which day of it
	BadTime   = "bad_time"   // there is no such time of the day
	BadDate   = "bad_date"   // there is no such date
	Unclear   = "unclear"    // it may mean several things
	TooShort  = "too_short"  // the interval
	TooLong   = "too_long"   // the interval
	Past      = "past"       // it is over
	Never     = "never"      // it never comes
	BadCron   = "bad_cron"   // an expression of cron that has not five fields
	BadField  = "bad_field"  // one of its fields
	BadTag    = "bad_tag"    // an unknown @name
	TooMuch   = "too_much"   // a further condition follows that cannot be met
	Unquoted  = "unquoted"   // the second quotation mark is missing
	UnknownIn = "unknown_in" // what stands in quotation marks goes on after the time
)

func (e *Error) Error() string {
	why := map[string]string{
		Unknown:   "%q says no time that is understood",
		NoTime:    "%q names no time of the day",
		NoDay:     "%q does not say on which day",
		BadTime:   "there is no time %q",
		BadDate:   "there is no date %q",
		Unclear:   "%q may mean several days",
		TooShort:  "%q is too short; at least one minute",
		TooLong:   "%q is too long; at most a year",
		Past:      "%q is over",
		Never:     "%q never comes",
		BadCron:   "%q is no cron expression; it has five fields: minute, hour, day of the month, month, day of the week",
		BadTag:    "%q is unknown; there are @hourly, @daily, @weekly, @monthly and @yearly",
		TooMuch:   "%q cannot be met; write a cron expression for it",
		Unquoted:  "after %q a quotation mark is missing",
		UnknownIn: "%q in quotation marks says more than a time",
	}[e.Code]
	if e.Code == BadField {
		return fmt.Sprintf("%q is no %s of a cron expression", e.Text, e.Field)
	}
	return fmt.Sprintf(why, e.Text)
}
