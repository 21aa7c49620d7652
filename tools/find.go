package tools

import "context"

// Find returns the tools of a group, as "server.tool", that words describe best.
func (s *Set) Find(context.Context, string, string) ([]string, error) { return nil, nil }
