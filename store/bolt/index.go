package bolt

import (
	"context"
	"errors"
	"time"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

var errNotYet = errors.New("not there yet")

func (*Store) Tasks(context.Context, tasks.TaskQuery) ([]tasks.Row, bool, error) {
	return nil, false, errNotYet
}

func (*Store) Row(context.Context, tasks.ID) (tasks.Row, error) { return tasks.Row{}, errNotYet }

func (*Store) Counts(context.Context) (map[string]int, error) { return nil, errNotYet }

func (*Store) Feed(context.Context, uint64, int) ([]tasks.FeedEntry, uint64, uint64, error) {
	return nil, 0, 0, errNotYet
}

func (*Store) Record(context.Context, tasks.AuditEntry) error { return errNotYet }

func (*Store) AuditLog(context.Context, uint64, int) ([]tasks.AuditEntry, error) {
	return nil, errNotYet
}

func (*Store) Queue(context.Context, ...tasks.Delivery) error { return errNotYet }

func (*Store) Outgoing(context.Context, time.Time, int, ...string) ([]tasks.Delivery, time.Time, error) {
	return nil, time.Time{}, errNotYet
}

func (*Store) Tried(context.Context, string, time.Time) error { return errNotYet }

func (b base) Listing(id tasks.ID) (rules.Listing, bool, error)             { return rules.Listing{}, false, nil }
func (b base) Counts() (map[string]int, error)                              { return nil, nil }
func (b base) Fed() (uint64, error)                                         { return 0, nil }
func (b base) Audited() (uint64, error)                                     { return 0, nil }
func (b base) AuditEntries(after uint64, n int) ([]tasks.AuditEntry, error) { return nil, nil }
func (b base) Delivery(id string) (tasks.Delivery, bool, error)             { return tasks.Delivery{}, false, nil }
func (b base) AllDeliveries() (map[string]tasks.ID, error)                  { return nil, nil }
func (b base) Journal(id tasks.ID) ([]planner.Event, error)                 { return b.events(id, 0) }
func (b base) Event(id tasks.ID, seq int) (planner.Event, error)            { return planner.Event{}, nil }
