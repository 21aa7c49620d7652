package engine

// sleepers are the tasks that rest until a time, the first one first: a heap.
type sleepers []*file

// Len implements heap.Interface.
func (s *sleepers) Len() int { return len(*s) }

// Less implements heap.Interface.
func (s *sleepers) Less(i, j int) bool { return (*s)[i].until.Before((*s)[j].until) }

// Swap implements heap.Interface.
func (s *sleepers) Swap(i, j int) {
	list := *s
	list[i], list[j] = list[j], list[i]
	list[i].place, list[j].place = i, j
}

// Push implements heap.Interface.
func (s *sleepers) Push(f any) {
	last := f.(*file) //nolint:forcetypeassert // nothing else is pushed
	last.place = len(*s)
	*s = append(*s, last)
}

// Pop implements heap.Interface.
func (s *sleepers) Pop() any {
	last := (*s)[len(*s)-1]
	last.place = -1
	(*s)[len(*s)-1] = nil
	*s = (*s)[:len(*s)-1]
	return last
}
