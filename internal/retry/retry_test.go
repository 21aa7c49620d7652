package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"legwork/internal/retry"
)

func TestPauses(t *testing.T) {
	p := retry.New(time.Second, 5*time.Second, 0)
	var got []time.Duration
	for range 5 {
		got = append(got, p.Next())
	}
	p.Reset()
	got = append(got, p.Next())
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second, time.Second}; !slices.Equal(got, want) {
		t.Errorf("pauses are %v, want %v", got, want)
	}
	for range 100 {
		if d := retry.New(time.Second, time.Minute, 0.5).Next(); d < time.Second/2 || d > 3*time.Second/2 {
			t.Errorf("a pause of 1s spread by half took %v", d)
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began, p := time.Now(), retry.New(time.Second, time.Minute, 0)
		if err := p.Sleep(ctx); err != nil || time.Since(began) != time.Second {
			t.Errorf("sleeping 1s took %v and gave %v", time.Since(began), err)
		}
		p.Next()
		if err := p.Sleep(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("sleeping with a context of 3s ended after %v with %v", time.Since(began), err)
		}
		if err := retry.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sleeping 0s in an ended context gave %v", err)
		}
	})
}
