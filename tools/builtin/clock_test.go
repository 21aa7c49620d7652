package builtin_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/watch"
	"legwork/tools/builtin"
)

// noon is a Friday in the northern winter.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func summer() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

func TestTimeIn(t *testing.T) {
	winter, july := caller(t, "clock", noon), caller(t, "clock", summer)
	for _, c := range []struct{ place, want string }{
		{"Tokyo", "Tokyo: 21:00:00 on Friday, 20 November 2026 (Asia/Tokyo, JST, UTC+09:00)"},
		{"Paris", "Paris: 13:00:00 on Friday, 20 November 2026 (Europe/Paris, CET, UTC+01:00)"},
		{"UTC", "UTC: 12:00:00 on Friday, 20 November 2026 (UTC+00:00)"},
		{"utc+3", "UTC+03:00: 15:00:00"},
		{"GMT-7", "05:00:00"},
		{"+05:30", "17:30:00"},
		{"America/New_York", "New York: 07:00:00"},
		{"new york city", "07:00:00"},
		{"NYC", "07:00:00"},
		{"Boston, USA", "07:00:00"},
		{"paris, france", "13:00:00"},
		{"in Paris", "13:00:00"},
		{"the city of Tokyo", "21:00:00"},
		{"Tokyo time", "21:00:00"},
		{"東京", "21:00:00"},
		{"东京", "21:00:00"},
		{"Токио", "21:00:00"},
		{"北京", "20:00:00"},
		{"北京时间", "20:00:00"},
		{"Москва", "15:00:00"},
		{"в москва", "15:00:00"},
		{"Sao Paulo", "09:00:00"},
		{"São Paulo", "09:00:00"},
		{"Zürich", "13:00:00"},
		{"Mumbai", "17:30:00"},
		{"Kathmandu", "17:45:00"},
		{"Japan", "21:00:00"},
		{"日本", "21:00:00"},
		{"Япония", "21:00:00"},
		{"France", "13:00:00"},
		{"Germany", "13:00:00"},
		{"China", "20:00:00"},
		{"中国", "20:00:00"},
		{"UK", "12:00:00"},
		{"EST", "07:00:00"},
		{"PST", "04:00:00"},
		{"JST", "21:00:00"},
		{"San Francisco, California", "04:00:00"},
		{"Unknownville, Japan", "21:00:00"},
	} {
		got, failed := winter("time_in", map[string]any{"place": c.place})
		if failed || !strings.Contains(got, c.want) {
			t.Errorf("time_in(%q): got %q, failed %v; want %q", c.place, got, failed, c.want)
		}
	}
	if got, _ := july("time_in", map[string]any{"place": "London"}); !strings.Contains(got, "13:00:00 on Wednesday, 1 July 2026 (Europe/London, BST, UTC+01:00)") {
		t.Errorf("time_in(London) in summer: got %q", got)
	}
	got, failed := winter("time_in", map[string]any{"place": "United States"})
	for _, want := range []string{"several time zones", "New York: 07:00:00", "Los Angeles: 04:00:00", "Honolulu: 02:00:00"} {
		if failed || !strings.Contains(got, want) {
			t.Errorf("time_in(United States): got %q, want it to contain %q", got, want)
		}
	}
	for place, want := range map[string]string{"Atlantis": "not known", "": "is empty", "Tokio": "perhaps Tokyo", "../etc/passwd": "not known", "UTC+99": "not known", strings.Repeat("x", 300): "longer than"} {
		if got, failed := winter("time_in", map[string]any{"place": place}); !failed || !strings.Contains(got, want) {
			t.Errorf("time_in(%.20q): got %q, failed %v; want a failure with %q", place, got, failed, want)
		}
	}
}

func TestDates(t *testing.T) {
	clock := caller(t, "clock", noon)
	for _, c := range []struct{ tool, args, want string }{
		{"convert_time", `{"time":"15:30","from":"Tokyo","to":"Paris"}`, "Paris: 07:30:00 on Friday, 20 November 2026"},
		{"convert_time", `{"time":"2026-07-01 9:00 AM","from":"New York","to":"London"}`, "London: 14:00:00 on Wednesday, 1 July 2026"},
		{"convert_time", `{"time":"2026-07-01T09:00:00Z","from":"Tokyo","to":"Tokyo"}`, "18:00:00"},
		{"date_add", `{"days":100}`, "Sunday, 28 February 2027 (2027-02-28)"},
		{"date_add", `{"date":"2024-01-31","months":1}`, "2024-02-29"},
		{"date_add", `{"date":"2024-02-29","years":1}`, "2025-02-28"},
		{"date_add", `{"date":"2026-11-20","workdays":1}`, "Monday, 23 November 2026"},
		{"date_add", `{"date":"2026-11-20","workdays":-260}`, "Friday, 21 November 2025"},
		{"date_add", `{"date":"2026-11-20","weeks":-2}`, "Friday, 6 November 2026"},
		{"date_add", `{"hours":36}`, "00:00:00 on Sunday, 22 November 2026"},
		{"date_add", `{"date":"2026-03-28 12:00","days":1,"place":"Paris"}`, "12:00:00 on Sunday, 29 March 2026 (Europe/Paris, CEST"},
		{"date_add", `{"date":"tomorrow"}`, "2026-11-21"},
		{"date_diff", `{"to":"2026-12-25"}`, "35 days (5 weeks and 0 days)"},
		{"date_diff", `{"from":"2000-01-31","to":"2026-11-20"}`, "26 years, 9 months and 20 days"},
		{"date_diff", `{"from":"2026-11-20","to":"2026-11-27"}`, "5 working days"},
		{"date_diff", `{"from":"2026-12-25","to":"2026-11-20"}`, "-35 days"},
		{"date_diff", `{"from":"2026-11-20 10:00","to":"2026-11-20 12:30"}`, "exactly 2h30m0s"},
		{"calendar", `{}`, "2026-11-20: Friday, day 324 of the year, week 47 of 2026 (ISO), quarter 4; 2026 is not a leap year; November 2026 has 30 days; it is today."},
		{"calendar", `{"date":"1969年7月20日"}`, "Sunday"},
		{"calendar", `{"date":"February 29, 2024"}`, "a leap year; February 2024 has 29 days"},
	} {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		got, failed := clock(c.tool, args)
		if failed || !strings.Contains(got, c.want) {
			t.Errorf("%s(%s): got %q, failed %v; want %q", c.tool, c.args, got, failed, c.want)
		}
	}
	for date, want := range map[string]string{"2026-02-30": "cannot be read", "soon": "cannot be read", "0000-01-01": "year must be", strings.Repeat("1", 200): "too long"} {
		if got, failed := clock("calendar", map[string]any{"date": date}); !failed || !strings.Contains(got, want) {
			t.Errorf("calendar(%.20q): got %q, failed %v; want a failure with %q", date, got, failed, want)
		}
	}
	if got, failed := clock("date_add", map[string]any{"date": "9999-12-31", "days": 1}); !failed || !strings.Contains(got, "between 1 and 9999") {
		t.Errorf("date_add beyond 9999: got %q, failed %v", got, failed)
	}
	if got, failed := clock("date_diff", map[string]any{"to": "today", "place": "USA"}); !failed || !strings.Contains(got, "name a city") {
		t.Errorf("date_diff in a country of several zones: got %q, failed %v", got, failed)
	}
}

func FuzzClock(f *testing.F) {
	f.Add("Tokyo", "2026-11-20")
	f.Add("Paris, France", "15:30")
	f.Add("UTC+3", "20 November 2026 3 PM")
	clock := caller(f, "clock", noon)
	f.Fuzz(func(t *testing.T, place, date string) {
		if got, _ := clock("time_in", map[string]any{"place": place}); got == "" {
			t.Errorf("time_in(%q): got nothing", place)
		}
		if got, _ := clock("date_diff", map[string]any{"to": date, "place": place}); got == "" {
			t.Errorf("date_diff(%q, %q): got nothing", date, place)
		}
	})
}

// TestServeStdio speaks to a built-in server over pipes, as another client would.
func TestServeStdio(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- builtin.ServeStdio(t.Context(), "math", nil, builtin.Env{}, inR, outW) }()
	c := client.NewClient(transport.NewIO(outR, inW, nil))
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "calculate" || !*list.Tools[0].Annotations.ReadOnlyHint {
		t.Errorf("ListTools: got %+v, %v; want calculate, read-only", list, err)
	}
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = "calculate", map[string]any{"expression": "17*23"}
	res, err := c.CallTool(ctx, r)
	if err != nil || res.Content[0].(mcp.TextContent).Text != "391" {
		t.Errorf("CallTool: got %+v, %v; want 391", res, err)
	}
	_ = c.Close()
	if err := <-done; err != nil {
		t.Errorf("ServeStdio: got %v, want nil after its input ended", err)
	}
	_ = outR.Close()
}
