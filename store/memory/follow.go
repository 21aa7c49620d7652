package memory

import "legwork/tasks"

// Follow implements tasks.Store.
func (s *Store) Follow(heard func(tasks.ID)) (stop func()) { return s.watch.Follow(heard) }
