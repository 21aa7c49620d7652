package tasks

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// PanicError is a panic as an error. A panic in the work for one chat must not end
// the process for all chats.
type PanicError struct {
	cause any
	stack string
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.cause) }

// LogValue implements slog.LogValuer. It adds the stack for operators.
func (p *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("panic", p.cause), slog.String("stack", p.stack))
}

// Catch turns a panic into the error of the function that defers it.
func Catch(err *error) {
	if cause := recover(); cause != nil {
		*err = &PanicError{cause, string(debug.Stack())}
	}
}
