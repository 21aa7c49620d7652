package memory

import (
	"context"
	"time"

	"legwork/llm"
	"legwork/tasks"
)

// Reserve implements tasks.Ledger.
func (s *Store) Reserve(context.Context, tasks.ID, tasks.Reservation) error { return nil }

// Settle implements tasks.Ledger.
func (s *Store) Settle(context.Context, tasks.ID, string, llm.Usage) error { return nil }

// Spent implements tasks.Ledger.
func (s *Store) Spent(context.Context, tasks.SpentQuery) ([]tasks.Spent, error) { return nil, nil }

// Room implements tasks.Ledger.
func (s *Store) Room(context.Context, tasks.ID, tasks.Reservation) error { return nil }

// Schedules implements tasks.Schedules.
func (s *Store) Schedules(context.Context, string) ([]tasks.Schedule, error) { return nil, nil }

// PutSchedule implements tasks.Schedules.
func (s *Store) PutSchedule(context.Context, tasks.Schedule) error { return nil }

// DropSchedule implements tasks.Schedules.
func (s *Store) DropSchedule(context.Context, string) error { return nil }

// Due implements tasks.Schedules.
func (s *Store) Due(context.Context, time.Time, int) ([]tasks.Schedule, time.Time, error) {
	return nil, time.Time{}, nil
}

// Summary implements tasks.Summaries.
func (s *Store) Summary(context.Context, string) (tasks.Summary, error) { return tasks.Summary{}, nil }

// PutSummary implements tasks.Summaries.
func (s *Store) PutSummary(context.Context, string, uint64, tasks.Summary) error { return nil }

// Turns implements tasks.Summaries.
func (s *Store) Turns(context.Context, string, uint64, int) ([]tasks.Turn, error) { return nil, nil }
