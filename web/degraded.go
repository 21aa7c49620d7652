package web

import "errors"

// degraded is what is wrong with a part that legwork can do without.
type degraded struct{ error }

func (d degraded) Unwrap() error { return d.error }

// Degraded marks what Config.Health says of a part as nothing that keeps the
// process from being ready: it is told, but does not keep requests away, since
// people may mend it through them.
func Degraded(err error) error { return degraded{err} }

// IsDegraded reports that an error was marked as such.
func IsDegraded(err error) bool { return errors.As(err, new(degraded)) }

// standing is how a part is told to stand, and the whole because of it.
func standing(whole string, err error) (text, now string) {
	switch {
	case err == nil:
		return "ok", whole
	case IsDegraded(err):
		if whole == isReady {
			whole = isDegraded
		}
		return "degraded: " + err.Error(), whole
	}
	return err.Error(), isNot
}

// How the whole process can stand.
const (
	isReady    = "ready"
	isDegraded = "degraded"
	isNot      = "not ready"
)
