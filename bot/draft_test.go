package bot_test

import (
	"testing"
	"time"

	"legwork/bot"
)

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 900 * time.Millisecond: "0:00", 12 * time.Second: "0:12", 185 * time.Second: "3:05",
		time.Hour - time.Millisecond: "59:59", 3723 * time.Second: "1:02:03", 100 * time.Hour: "100:00:00",
	} {
		if got := bot.Clock(d); got != want {
			t.Errorf("Clock(%s) = %q, want %q", d, got, want)
		}
	}
}

// TestPriority: the board of a task that waits for others uses nothing that the rate
// limits reserve for answers.
func TestPriority(t *testing.T) {
	for _, test := range []struct {
		draft bot.Draft
		fresh bool
		want  bot.Priority
	}{
		{bot.Draft{Kind: bot.KindBoard, Partial: true, Board: &bot.Board{}}, true, bot.PriorityFirstFrame},
		{bot.Draft{Kind: bot.KindBoard, Partial: true, Board: &bot.Board{Queued: true}}, true, bot.PriorityFrame},
		{bot.Draft{Kind: bot.KindBoard, Partial: true, Board: &bot.Board{}}, false, bot.PriorityFrame},
		{bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{}}, false, bot.PriorityNormal},
		{bot.Draft{Kind: bot.KindAnswer, Partial: true}, true, bot.PriorityFirstFrame},
		{bot.Draft{Kind: bot.KindAnswer}, true, bot.PriorityHigh},
	} {
		if got := test.draft.Priority(test.fresh); got != test.want {
			t.Errorf("priority of %+v, fresh %v: got %d, want %d", test.draft, test.fresh, got, test.want)
		}
	}
}

func TestParts(t *testing.T) {
	whole := bot.Draft{Kind: bot.KindAnswer, Text: "long", Footer: "2 s", Buttons: []bot.Button{{Label: "Details", Data: "d"}}, File: &bot.File{Name: "a.txt"}}
	for i, part := range whole.Parts(3) {
		last := i == 2
		if part.Part != i+1 || part.Text != "long" || (part.Footer != "") != last || (part.Buttons != nil) != last || (part.File != nil) != (i == 0) {
			t.Errorf("part %d of 3 is %+v", i+1, part)
		}
	}
}
