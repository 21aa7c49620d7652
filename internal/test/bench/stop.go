package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

const (
	stopStreams = 24 // answers that are being streamed
	stopCalls   = 8  // calls of a tool that takes minutes
	stopRounds  = 5
	maxStop     = 300 * time.Millisecond
)

// measureStop tells a daemon to end while 32 tasks are in the midst of a model's
// reply or of a tool call, and looks when the last of them ended.
func measureStop(ctx context.Context, dir string) ([]figure, error) {
	server, calls := filepath.Join(dir, "mcpserver"), filepath.Join(dir, "calls")
	if err := build(ctx, server, "./internal/test/fakes/mcpserver"); err != nil {
		return nil, err
	}
	h, err := newDaemonEnvOf(ctx, dir, fmt.Sprintf("  desk: {command: %q, args: [-log, %q]}\ngroups:\n  desk: {servers: [desk], read_only: [\"*\"], tool_timeout: 20m, description: Does slow things.}\n", server, calls), busy)
	if err != nil {
		return nil, err
	}
	var ends, exits []time.Duration
	for range stopRounds {
		end, exit, err := h.interrupt(ctx, dir, calls)
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		ends, exits = append(ends, end), append(exits, exit)
		for _, name := range []string{"data", "calls"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	name := fmt.Sprintf("stop to the end of %d model and %d tool calls, the slowest of %d", stopStreams, stopCalls, stopRounds)
	return []figure{
		within(name, percentile(ends, 1), maxStop, short(percentile(exits, 1))+" until the process ended"),
	}, h.close()
}

// busy is a model that takes its time, and one that calls a tool that does.
func busy(r llmfake.Request) llmfake.Response {
	goal, _ := r.Tagged("goal")
	if _, work := r.Tagged("task"); work {
		for _, t := range r.Tools {
			if strings.HasSuffix(t.Name, "slow") {
				return llmfake.Call(t.Name, `{"ms": 600000}`)
			}
		}
	}
	if strings.HasPrefix(goal, "call") {
		return llmfake.Say(`{"plan": [{"name": "desk", "description": "` + goal + `"}]}`)
	}
	return llmfake.Response{Text: strings.Repeat("word ", 6000), PerToken: 10 * time.Millisecond}
}

// interrupt makes a daemon busy and ends it. It returns how long the last call
// and the process lasted.
func (h *daemonEnv) interrupt(ctx context.Context, dir, calls string) (end, exit time.Duration, err error) {
	d, err := h.start(ctx)
	if err != nil {
		return 0, 0, err
	}
	before := len(h.model.Requests())
	for n := range int64(stopStreams + stopCalls) {
		who := h.telegram.User(firstPerson+n, fmt.Sprint("P", n), "en")
		text := fmt.Sprint("stream ", n)
		if n < stopCalls {
			text = fmt.Sprint("call ", n)
		}
		h.telegram.Say(who.ID, who, text)
	}
	err = eventually(ctx, "all calls to be under way", func() bool {
		return callEvents(calls, "call") == stopCalls && len(h.model.Requests())-before == stopStreams+2*stopCalls
	})
	if err != nil {
		return 0, 0, errors.Join(err, d.stop())
	}
	<-time.After(100 * time.Millisecond) // words are on their way
	from := time.Now()
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	err = d.Wait()
	exit = time.Since(from)
	end, seen := lastEnd(filepath.Join(dir, "model.jsonl"), calls, from, exit)
	if err == nil && seen < stopStreams {
		err = fmt.Errorf("only %d of %d streams were seen to end", seen, stopStreams)
	}
	return end, exit, err
}

// lastEnd reads when the last call ended after from: streams whose client went
// away, and tool calls that were cancelled. Actions without a logged end ended
// with the process.
func lastEnd(model, calls string, from time.Time, exit time.Duration) (last time.Duration, streams int) {
	log, err := llmfake.ReadLog(model)
	if err != nil {
		return exit, 0
	}
	for _, e := range log {
		if e.Event == llmfake.EventGone && e.At.After(from) {
			streams++
			last = max(last, e.At.Sub(from))
		}
	}
	cancelled := 0
	eachEvent(calls, func(event string, at time.Time) {
		if event == "cancelled" {
			cancelled++
			last = max(last, at.Sub(from))
		}
	})
	if cancelled < stopCalls {
		last = max(last, exit)
	}
	return last, streams
}

// callEvents counts the events of a kind in the log of the tool server.
func callEvents(path, kind string) int {
	n := 0
	eachEvent(path, func(event string, _ time.Time) {
		if event == kind {
			n++
		}
	})
	return n
}

// eachEvent reads the log of the tool server, as far as it is written.
func eachEvent(path string, see func(event string, at time.Time)) {
	file, err := os.Open(path)
	if err != nil {
		return // nothing was called yet
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Time  time.Time
			Event string
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			see(line.Event, line.Time)
		}
	}
}

// eventually asks again and again until something is so.
func eventually(ctx context.Context, what string, so func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}
