// Package issue collects the mistakes in a config.
package issue

import (
	"errors"
	"fmt"
)

// Issue is one mistake. Path leads to the key, such as "models.main.fallback[0]";
// Problem says what is wrong and what is allowed, and never holds a secret.
type Issue struct{ Path, Problem string }

func (i Issue) String() string { return i.Path + ": " + i.Problem }

// List holds mistakes in the order in which they were found.
type List []Issue //nolint:recvcheck // Err is called on results, too

// Add adds a mistake.
func (l *List) Add(path, format string, values ...any) {
	*l = append(*l, Issue{path, fmt.Sprintf(format, values...)})
}

// Unless adds a problem unless it is empty.
func (l *List) Unless(path, problem string) {
	if problem != "" {
		*l = append(*l, Issue{path, problem})
	}
}

// Include adds the mistakes of a part of the config. Their paths begin with prefix.
func (l *List) Include(prefix string, part List) {
	for _, i := range part {
		*l = append(*l, Issue{prefix + i.Path, i.Problem})
	}
}

// Err joins all mistakes to one error, nil for none. Their paths begin with prefix.
func (l List) Err(prefix string) error {
	all := make([]error, len(l))
	for n, i := range l {
		all[n] = errors.New(prefix + i.String())
	}
	return errors.Join(all...)
}
