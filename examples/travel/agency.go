package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// agency implements the tools. It keeps all of its state in the file, so that several
// processes can work side by side.
type agency struct {
	file file
	now  func() time.Time
}

func newAgency(path string, now func() time.Time) *agency {
	return &agency{file: file{path}, now: now}
}

// server offers the tools of one domain, or of all.
func (a *agency) server(domain string) (*server.MCPServer, error) {
	domains := map[string][]server.ServerTool{
		"travel":   a.travelTools(),
		"calendar": a.calendarTools(),
		"payment":  a.paymentTools(),
		"alert":    a.alertTools(),
	}
	names := slices.Sorted(maps.Keys(domains))
	s := server.NewMCPServer("travel", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithInstructions("Searches, books, pays and cancels trips, keeps a calendar and sends notifications. All offers are invented."),
		server.WithStrictInputSchemaDefault(),
		server.WithInputSchemaValidation(),
		server.WithOutputSchemaValidation(),
		server.WithRecovery(),
	)
	for _, name := range names {
		if domain == name || domain == "all" {
			s.AddTools(domains[name]...)
		}
	}
	if len(s.ListTools()) == 0 {
		return nil, fmt.Errorf("there is no domain %q; domains are %s and all", domain, strings.Join(names, ", "))
	}
	return s, nil
}

// handle turns a function into a tool. Its result is sent as structured content and as
// text. An error becomes a result too, which the model reads.
func handle[In, Out any](do func(context.Context, In) (Out, error), tool mcp.Tool) server.ServerTool {
	mcp.WithOutputSchema[Out]()(&tool)
	return server.ServerTool{Tool: tool, Handler: func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in In
		if err := r.BindArguments(&in); err != nil {
			return mcp.NewToolResultError("reading the arguments: " + err.Error()), nil //nolint:nilerr // it is the result
		}
		out, err := do(ctx, in)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultStructuredOnly(out), nil
	}}
}

// Hints describe the effects of a call. Clients that trust this server decide by them
// whether to ask a person. No tool has an effect outside of the file.
var (
	reads    = hints(true, false, true)
	adds     = hints(false, false, false) // a second call adds again
	addsOnce = hints(false, false, true)  // a second call changes nothing
	destroys = hints(false, true, false)  // deletes what cannot simply be restored
)

func hints(readOnly, destructive, idempotent bool) mcp.ToolOption {
	beyond := false
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		ReadOnlyHint: &readOnly, DestructiveHint: &destructive, IdempotentHint: &idempotent, OpenWorldHint: &beyond,
	})
}

// format names a format of JSON Schema, such as date.
func format(name string) mcp.PropertyOption {
	return func(schema map[string]any) { schema["format"] = name }
}

const (
	letters      = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ" // without letters that look alike
	orderPattern = "^[Tt][Rr][Vv]-[2-9A-HJ-NP-Za-hj-np-z]{6}$"
)

// newNumber returns a number such as TRV-7F3K2A that is not taken yet.
func newNumber(prefix string, taken func(string) bool) string {
	for {
		number := make([]byte, 6)
		_, _ = rand.Read(number) // never fails
		for i, b := range number {
			number[i] = letters[int(b)%len(letters)]
		}
		if n := prefix + "-" + string(number); !taken(n) {
			return n
		}
	}
}

// day reads a date of the form 2026-11-21 and refuses one that is in the past at where.
func (a *agency) day(field, text string, where *time.Location) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %q: write a date that exists, as YYYY-MM-DD", field, text)
	}
	today := a.now().In(where).Format(time.DateOnly)
	switch {
	case text < today:
		return time.Time{}, fmt.Errorf("%s is %s, which is in the past: there it is %s today", field, text, today)
	case day.After(a.now().AddDate(0, 0, onSale)):
		return time.Time{}, fmt.Errorf("%s is %s: there are offers for the next %d days only", field, text, onSale)
	}
	return day, nil
}
