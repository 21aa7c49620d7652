package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	idleCalls         = 200
	maxServeResident  = 25 << 10 // KiB
	maxServeAnonymous = 10 << 10 // KiB, of a daemon that nobody has called yet
	maxUsedAnonymous  = 12 << 10 // KiB
)

// measureIdle looks at a daemon with all that serves: when it was never asked
// anything, and again after programs used it and one of them still listens.
func measureIdle(ctx context.Context, dir string) ([]figure, error) {
	return withProgram(ctx, dir, func(p *program, pid int) ([]figure, error) {
		before, err := settled(ctx, pid)
		if err != nil {
			return nil, err
		}
		after, err := p.usedAndLeft(ctx, pid)
		if err != nil {
			return nil, err
		}
		return []figure{
			memory("resident memory, idle with both platforms", before.resident, maxServeResident, ""),
			memory("of it anonymous", before.anonymous, maxServeAnonymous, ""),
			memory(fmt.Sprintf("the same after %d calls of the API, with a follower", idleCalls), after.resident, maxServeResident, ""),
			memory("of it anonymous", after.anonymous, maxUsedAnonymous, ""),
		}, nil
	})
}

// usedAndLeft uses the API and is the memory when all but a follower are gone.
func (p *program) usedAndLeft(ctx context.Context, pid int) (u usage, err error) {
	id, err := p.start(ctx, "idle", true)
	if err != nil {
		return u, err
	}
	follow, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	r, err := p.request(follow, http.MethodGet, "/v1/events", nil)
	if err != nil {
		return u, err
	}
	stream, err := p.client.Do(r)
	if err != nil {
		return u, err
	}
	defer stream.Body.Close()
	go io.Copy(io.Discard, stream.Body) //nolint:errcheck // it ends with its context
	paths := []string{
		"/v1/tasks", "/v1/tasks/" + id, "/v1/tasks/" + id + "/context", "/v1/tasks/" + id + "/state",
		"/v1/approvals", "/v1/usage", "/v1/groups", "/v1/audit", "/metrics", "/openapi.json", "/docs",
	}
	for n := range idleCalls {
		if n%10 == 0 {
			_, err = p.start(ctx, fmt.Sprint("idle ", n), true)
		} else {
			_, err = p.get(ctx, paths[n%len(paths)])
		}
		if err != nil {
			return u, err
		}
	}
	return settled(ctx, pid)
}
