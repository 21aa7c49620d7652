package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// StallTimeout is how long the download of a file may bring nothing before it is cut.
const StallTimeout = 30 * time.Second

var errStalled = errors.New("the download stalled")

// Download copies a file from a platform to w, and cuts it when nothing comes for the
// time stall. size is its length as the platform says; 0: unknown. A file of another
// length is an error that another try may not meet. The error of w comes as it is.
func Download(ctx context.Context, stall time.Duration, size int64, w io.Writer, open func(context.Context) (io.ReadCloser, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer timer.Stop()
	body, err := open(ctx)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer body.Close()
	var got int64
	for buffer := make([]byte, 32<<10); ; {
		timer.Reset(stall)
		n, err := body.Read(buffer)
		timer.Stop()
		if got += int64(n); size > 0 && got > size {
			return fmt.Errorf("downloading a file: more than %d bytes came, the platform said %[1]d", size)
		}
		if _, failed := w.Write(buffer[:n]); failed != nil {
			return failed
		}
		switch {
		case errors.Is(err, io.EOF) && got < size:
			return fmt.Errorf("downloading a file: %d bytes came, the platform said %d", got, size)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("downloading a file: %w", causeOf(ctx, err))
		}
	}
}

// causeOf says that a download stalled, where the error says only that its context ended.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}
