package tasks

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// PanicError is a panic as an error. What one chat has brought about must not end
// the process for all of them, nor again each time that it is delivered.
type PanicError struct {
	cause any
	stack string
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.cause) }

// LogValue implements slog.LogValuer: operators need to know where it was.
func (p *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("panic", p.cause), slog.String("stack", p.stack))
}

// Catch turns a panic into the error of a function that defers it.
func Catch(err *error) {
	if cause := recover(); cause != nil {
		*err = &PanicError{cause, string(debug.Stack())}
	}
}
