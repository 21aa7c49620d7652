package executor

import (
	"context"
	"testing"
	"testing/synctest"

	"legwork/llm"
)

// newModel is a model that has replied once measured is set.
type newModel struct {
	lengthPricer
	measured bool
}

func (m *newModel) Measured(llm.Request) bool { return m.measured }

// TestUnmeasuredModel: two calls of a model run at once until it has replied; then
// all that wait go on. Calls of another model do not wait for it.
func TestUnmeasuredModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u unmeasured
		price, request := &newModel{}, llm.Request{Model: "main"}
		leave := make(chan func(), 5)
		for range cap(leave) {
			go func() {
				end, err := u.enter(t.Context(), price, request)
				if err != nil {
					t.Error(err)
					return
				}
				leave <- end
			}()
		}
		began := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := len(leave); got != want {
				t.Fatalf("%d calls run, want %d", got, want)
			}
		}
		began(2)
		if end, err := u.enter(t.Context(), price, llm.Request{Model: "spare"}); err != nil {
			t.Errorf("calling another model: %v", err)
		} else {
			end()
		}
		(<-leave)() // a call that failed
		began(2)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := u.enter(stopped, price, request); err == nil {
			t.Error("a call of a stopped task began")
		}
		price.measured = true
		(<-leave)()
		began(3)
		for range 3 {
			(<-leave)()
		}
		if n := u.running["main"]; n != 0 {
			t.Errorf("%d calls are left", n)
		}
	})
}
