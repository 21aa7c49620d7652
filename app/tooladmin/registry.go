package tooladmin

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"legwork/app/cli"
	"legwork/tools/registry"
)

// foundEntry is a server of a registry, as "legwork tools search --json" prints it.
type foundEntry struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Version     string     `json:"version"`
	Publisher   string     `json:"publisher"`
	Description string     `json:"description"`
	Repository  string     `json:"repository,omitempty"`
	Website     string     `json:"website,omitempty"`
	Status      string     `json:"status,omitempty"`
	Published   string     `json:"published_at,omitempty"`
	Ways        []wayEntry `json:"ways"`
}

type wayEntry struct {
	Transport string   `json:"transport"`
	What      string   `json:"what"`
	Asks      []string `json:"asks"`              // values that it needs, and secrets that it takes
	Problem   string   `json:"problem,omitempty"` // why legwork cannot use it
}

// FoundJSON is the result of a search, for programs.
func FoundJSON(found registry.Found) string {
	list := make([]foundEntry, 0, len(found.Servers))
	for _, s := range found.Servers {
		e := foundEntry{
			Name: s.Name, Title: s.Title, Version: s.Version, Publisher: s.Publisher(), Description: s.Description,
			Repository: s.Source(), Website: s.WebsiteURL, Status: s.Status, Ways: []wayEntry{},
		}
		if !s.Published.IsZero() {
			e.Published = s.Published.UTC().Format(time.RFC3339)
		}
		for _, w := range s.Ways() {
			e.Ways = append(e.Ways, wayEntry{w.Transport(), w.What, append([]string{}, w.Asks()...), w.Problem})
		}
		list = append(list, e)
	}
	return cli.JSON(map[string]any{"servers": list, "more": found.More})
}

// PrintFound writes the result of a search: two lines for each server.
func PrintFound(out io.Writer, found registry.Found) error {
	out = cli.Wrapping(out)
	var rows bytes.Buffer
	table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tTRANSPORT\tASKS FOR")
	for _, s := range found.Servers {
		var transports, asks []string
		for _, w := range s.Ways() {
			if w.Problem == "" {
				transports, asks = append(transports, w.Transport()), append(asks, w.Asks()...)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", line(s.Name), line(s.Version), listed(transports, "none that legwork uses"), listed(asks, "-"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, row := range strings.SplitAfter(rows.String(), "\n") {
		fmt.Fprint(out, row)
		if i == 0 || i > len(found.Servers) {
			continue
		}
		s := found.Servers[i-1]
		mark := ""
		if s.Status == registry.Deprecated {
			mark = "DEPRECATED. "
		}
		if _, err := fmt.Fprintf(out, "  %sby %s: %s\n", mark, line(s.Publisher()), line(s.Description)); err != nil {
			return err
		}
	}
	return nil
}

// listed are the different texts of a list in one line.
func listed(list []string, none string) string {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return none
	}
	return line(strings.Join(list, ", "))
}
