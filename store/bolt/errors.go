package bolt

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"

	"legwork/store"
	"legwork/tasks"
)

// errPage marks damage of the file itself, which affects more than one record.
var errPage = errors.New("reading the data file")

// restoreAdvice says what a person can do about damage of the file itself.
const restoreAdvice = `stop legwork and go back to a backup with "legwork data restore"`

// guard runs do, which calls bbolt. It turns panics that a damaged page causes into
// tasks.ErrDamaged. do must not run code that can panic for another reason.
func guard(do func() error) error { return catch(do, true) }

// guardReads runs do, which reads records of the mapped file. It turns memory faults
// that a damaged page causes into tasks.ErrDamaged; other panics go on.
func guardReads(do func() error) error { return catch(do, false) }

func catch(do func() error, all bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, fault := p.(interface{ Addr() uintptr }); !fault && !all {
			panic(p)
		}
		if _, memory := p.(runtime.Error); memory {
			p = "a part of it is missing or overwritten" // and not a sentence about Go
		}
		err = fmt.Errorf("%w: %w: %v; %s", tasks.ErrDamaged, errPage, p, restoreAdvice)
	}()
	return do()
}

// classify adds the sentinel that callers need to an error of bbolt.
func classify(err error) error {
	for _, bad := range []error{bolterrors.ErrInvalid, bolterrors.ErrInvalidMapping, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		if errors.Is(err, bad) {
			return fmt.Errorf("%w: %w", tasks.ErrDamaged, err)
		}
	}
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return store.ErrClosed
	}
	return markFull(err)
}

// markFull adds tasks.ErrFull to the error of a full disk. It looks at the text as
// well, because bbolt passes on some errors of the system only as text.
func markFull(err error) error {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, bolterrors.ErrMaxSizeReached} {
		if err != nil && (errors.Is(err, cause) || strings.HasSuffix(err.Error(), cause.Error())) {
			return fmt.Errorf("%w: %w", tasks.ErrFull, err)
		}
	}
	return err
}
