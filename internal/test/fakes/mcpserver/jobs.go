package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// pollInterval is how long clients have to wait between two looks at a job.
const pollInterval = 100 * time.Millisecond

// tasksExtension is the extension of 2026-07-28 that build needs.
const tasksExtension = "io.modelcontextprotocol/tasks"

// job is a task of the protocol. Each look at it is a step of its work.
type job struct {
	ID      string
	item    string
	steps   int
	fail    bool
	asks    bool // after the first step it needs a colour
	looks   int
	looked  time.Time
	colour  string
	stopped bool
}

// offerJobs offers build {item, steps, fail, ask}, which clients can only call as a
// task: as in 2025-11-25, or by the extension of 2026-07-28.
func (f *fake) offerJobs() {
	no := false
	build := mcp.NewToolWithRawSchema("build", "Builds an item in steps.", json.RawMessage(`{"type":"object","properties":{
		"item":{"type":"string"},"steps":{"type":"integer"},"fail":{"type":"boolean"},"ask":{"type":"boolean"}},"required":["item","steps"]}`))
	build.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &no, IdempotentHint: &no}
	build.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}
	f.mcp.AddTool(build, f.text(func(context.Context, mcp.CallToolRequest) string { return "not reached" }))
	f.own["build"] = (*fake).build
}

// build makes a job.
func (f *fake) build(x *exchange) bool {
	var args struct {
		Item      string
		Steps     int
		Fail, Ask bool
	}
	var sent struct {
		Task *struct{ TTL *int64 }
	}
	var can struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	_ = json.Unmarshal(x.params.Arguments, &args)
	_ = json.Unmarshal(x.Params, &sent)
	_ = json.Unmarshal(x.params.Meta[mcp.MetaKeyClientCapabilities], &can)
	_, declared := can.Extensions[tasksExtension]
	switch modern := x.version() != ""; {
	case !modern && sent.Task == nil:
		f.refuse(x, &refusal{code: mcp.METHOD_NOT_FOUND, status: http.StatusOK, text: "build runs only as a task"})
		return false
	case modern && !declared:
		f.refuse(x, &refusal{code: -32021, status: http.StatusBadRequest, text: "Missing required client capability"})
		return false
	case modern && sent.Task != nil:
		f.refuse(x, f.gate.violation(x, http.StatusBadRequest, "params.task in a revision without it"))
		return false
	}
	f.mu.Lock()
	j := &job{ID: fmt.Sprintf("job-%d", len(f.jobs)+1), item: args.Item, steps: args.Steps, fail: args.Fail, asks: args.Ask, looked: time.Now()}
	f.jobs[j.ID] = j
	state := j.state(x.version() != "")
	f.mu.Unlock()
	if x.version() != "" {
		state["resultType"] = "task"
		f.replyResult(x, state)
		return false
	}
	f.replyResult(x, map[string]any{"task": state})
	return false
}

// over tells that a job has ended.
func (j *job) over() bool { return j.stopped || j.looks >= j.steps && (!j.asks || j.colour != "") }

// waits tells that a job waits for a colour.
func (j *job) waits() bool { return j.asks && j.colour == "" && j.looks > 0 && !j.stopped }

// state is a job as a client sees it.
func (j *job) state(modern bool) map[string]any {
	at := time.Now().UTC().Format(time.RFC3339)
	s := map[string]any{"taskId": j.ID, "status": "working", "statusMessage": fmt.Sprintf("step %d of %d", j.looks, j.steps), "createdAt": at, "lastUpdatedAt": at}
	ttl, poll := "ttl", "pollInterval"
	if modern {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	s[ttl], s[poll] = 60000, pollInterval.Milliseconds()
	switch {
	case j.stopped:
		s["status"] = "cancelled"
	case j.waits():
		s["status"] = "input_required"
		if modern {
			s["inputRequests"] = map[string]any{"colour": map[string]any{"method": "elicitation/create", "params": j.question()}}
		}
	case j.over() && j.fail:
		s["status"] = "failed"
		if modern {
			s["error"] = map[string]any{"code": mcp.INTERNAL_ERROR, "message": "out of bricks"}
		}
	case j.over():
		s["status"] = "completed"
		if modern {
			s["result"] = map[string]any{"content": []map[string]string{{"type": "text", "text": j.text()}}}
		}
	}
	return s
}

func (j *job) question() mcp.ElicitationParams {
	return question{message: "Which colour for " + j.item + "?", form: fmt.Sprintf(colours, "Colour of "+j.item)}.params()
}

func (j *job) text() string { return strings.TrimSpace("built " + j.item + " " + j.colour) }

// jobRequest answers tasks/get, tasks/result, tasks/update and tasks/cancel.
func (f *fake) jobRequest(x *exchange) {
	var p struct {
		ID      string                     `json:"taskId"`
		Answers map[string]json.RawMessage `json:"inputResponses"`
	}
	_ = json.Unmarshal(x.Params, &p)
	f.mu.Lock()
	j := f.jobs[p.ID]
	if j != nil && x.Method == "tasks/result" {
		f.mu.Unlock()
		f.converse(x, f.jobResult(j))
		return
	}
	defer f.mu.Unlock()
	modern := x.version() != ""
	switch {
	case j == nil:
		f.refuse(x, &refusal{code: mcp.INVALID_PARAMS, status: http.StatusOK, text: "Task not found"})
		return
	case modern && x.http != nil && x.http.r.Header.Get(mcp.HeaderName) != p.ID:
		f.refuse(x, f.gate.violation(x, http.StatusBadRequest, "header "+mcp.HeaderName+" does not name the task"))
		return
	}
	switch x.Method {
	case "tasks/get":
		if time.Since(j.looked) < pollInterval {
			f.refuse(x, f.gate.violation(x, http.StatusBadRequest, "a look after less than pollInterval"))
			return
		}
		if !j.over() && !j.waits() {
			j.looks++
		}
		j.looked = time.Now()
		f.log.write(entry{Event: "looked", ID: x.ID, Note: j.ID})
		f.replyResult(x, j.state(modern))
	case "tasks/cancel":
		if j.over() {
			f.refuse(x, &refusal{code: mcp.INVALID_PARAMS, status: http.StatusOK, text: "Task is over"})
			return
		}
		j.stopped = true
		f.log.write(entry{Event: "stopped", ID: x.ID, Note: j.ID})
		f.replyResult(x, j.state(modern))
	case "tasks/update":
		j.answered(p.Answers["colour"])
		f.replyResult(x, map[string]any{})
	default:
		f.refuse(x, &refusal{code: mcp.METHOD_NOT_FOUND, status: http.StatusNotFound, text: "no such method"})
	}
}

// answered takes the answer of a person.
func (j *job) answered(answer json.RawMessage) {
	var a struct {
		Action  string
		Content struct{ Colour string }
	}
	if json.Unmarshal(answer, &a) == nil && j.waits() {
		j.colour = a.Content.Colour
		if a.Action != "accept" {
			j.colour = "plain"
		}
	}
}

// jobResult is the result of a job, for tasks/result. Until the job is over, it asks the
// client what the job needs.
func (f *fake) jobResult(j *job) server.ToolHandlerFunc {
	return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if a, ok := r.Params.InputResponses["colour"]; ok {
			b, err := json.Marshal(a)
			if err != nil {
				return nil, err
			}
			j.answered(b)
		}
		switch {
		case j.waits():
			params := j.question()
			result := &mcp.CallToolResult{}
			result.ResultType = mcp.ResultTypeInputRequired
			result.InputRequests = mcp.InputRequests{"colour": {Method: mcp.MethodElicitationCreate, Elicitation: &params}}
			return result, nil
		case j.fail:
			return nil, errors.New("out of bricks")
		}
		j.looks = j.steps
		return mcp.NewToolResultText(j.text()), nil
	}
}

func (f *fake) replyResult(x *exchange, result map[string]any) {
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": x.ID, "result": result})
	x.reply(string(b))
}
