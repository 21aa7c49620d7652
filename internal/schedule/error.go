package schedule

import "fmt"

// Error says why Parse found no time in a text. Code is one of the constants; the
// chat texts say what to write instead.
type Error struct {
	Code  string
	Text  string   // the part of the text that is wrong
	Field string   // of BadField: which of the five
	Among []string // of Unclear: what it may mean
}

// The codes of errors.
const (
	Unknown   = "unknown"    // the text does not begin with a time
	NoTime    = "no_time"    // a day without a time of the day
	NoDay     = "no_day"     // a week, a month or a year without a day
	BadTime   = "bad_time"   // there is no such time of the day
	BadDate   = "bad_date"   // there is no such date
	Unclear   = "unclear"    // it may mean several days
	TooShort  = "too_short"  // an interval
	TooLong   = "too_long"   // an interval, or a date too far ahead
	Past      = "past"       // the time is over
	Never     = "never"      // the time never comes
	BadCron   = "bad_cron"   // a cron expression without exactly five fields
	BadField  = "bad_field"  // a field of a cron expression
	BadTag    = "bad_tag"    // an unknown @name
	TooMuch   = "too_much"   // a further condition follows that legwork does not support
	Unquoted  = "unquoted"   // the second quotation mark is missing
	UnknownIn = "unknown_in" // the quotation holds more than a time
)

func (e *Error) Error() string {
	why := map[string]string{
		Unknown:   "%q does not begin with a time",
		NoTime:    "%q has no time of the day",
		NoDay:     "%q has no day",
		BadTime:   "there is no time %q",
		BadDate:   "there is no date %q",
		Unclear:   "%q may mean several days",
		TooShort:  "%q is too short; at least one minute",
		TooLong:   "%q is too long; at most a year",
		Past:      "%q is in the past",
		Never:     "%q never comes",
		BadCron:   "%q is not a cron expression, which has five fields: minute, hour, day of the month, month, day of the week",
		BadTag:    "%q is unknown; allowed: @hourly, @daily, @weekly, @monthly and @yearly",
		TooMuch:   "%q is a condition that is not supported; write a cron expression",
		Unquoted:  "the closing quotation mark is missing: %q",
		UnknownIn: "%q is in quotation marks, but holds more than a time",
	}[e.Code]
	if e.Code == BadField {
		return fmt.Sprintf("%q is not a valid %s of a cron expression", e.Text, e.Field)
	}
	return fmt.Sprintf(why, e.Text)
}
