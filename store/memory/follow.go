package memory

import "legwork/tasks"

// Follow implements tasks.Store.
func (s *Store) Follow(heard func(tasks.ID)) (stop func()) { return s.watch.Follow(heard) }

// Watched is how many tasks somebody waits for, and how many follow all of them.
func (s *Store) Watched() int { return s.watch.Len() }
