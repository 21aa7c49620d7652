package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
)

// A server can do a call as a task, which it keeps when the connection is lost: its
// answer to the call names the task, and legwork asks for its status until it is over.
// Sources: "Tasks" of MCP 2025-11-25, where the client asks for a task, and the
// extension io.modelcontextprotocol/tasks of 2026-07-28, where the server decides.

// tasksExtension is the name of the extension, and resultTask the type of a result that
// names a task.
const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	resultTask     = mcp.ResultType("task")
	tasksUpdate    = "tasks/update"
)

const (
	taskTTL     = 24 * time.Hour // for which a server is asked to keep a task: people may take long to answer
	defaultPoll = time.Second    // between two looks at a task, where its server does not say
	minPoll     = 100 * time.Millisecond
	maxPoll     = 24 * time.Hour
)

var (
	errTaskGone      = errors.New("the server does not know its task any more")
	errTaskCancelled = errors.New("the server cancelled its task")
	errNotKept       = errors.New("keeping the id of the server's task")
)

// endsTask tells that a failure is no reason to ask for the task once more.
func endsTask(err error) bool {
	var refused *rpcError
	var signIn *SignInError
	return errors.As(err, &refused) || errors.As(err, &signIn) || errors.Is(err, errTaskGone) || errors.Is(err, errTaskCancelled) || errors.Is(err, errNotKept) || errors.Is(err, errAsk) ||
		errors.Is(err, errAskedAgain) || errors.Is(err, ErrNoTool) || errors.Is(err, ErrChanged) || errors.Is(err, ErrArguments)
}

// taskSupport tells whether the tool can be called as a task, in revision 2025-11-25.
func (d *Definition) taskSupport() mcp.TaskSupport {
	var t struct {
		Execution struct {
			TaskSupport mcp.TaskSupport `json:"taskSupport"`
		} `json:"execution"`
	}
	_ = json.Unmarshal(d.Raw, &t) // members of other types count as absent
	return t.Execution.TaskSupport
}

// makesTasks tells that the server makes a task of a call when it is asked to.
func (c *connection) makesTasks() bool {
	can := c.capabilities.Tasks
	return !c.modern() && can != nil && can.Requests != nil && can.Requests.Tools != nil && can.Requests.Tools.Call != nil
}

// runsTasks tells that the server may do a call as a task.
func (c *connection) runsTasks() bool {
	_, declared := c.capabilities.Extensions[tasksExtension]
	return c.makesTasks() || c.modern() && declared
}

// serverTask is what a server says of a task.
type serverTask struct {
	ID       string          `json:"taskId"`
	Status   mcp.TaskStatus  `json:"status"`
	Message  string          `json:"statusMessage"`
	Interval float64         `json:"pollInterval"`   // 2025-11-25
	Millis   float64         `json:"pollIntervalMs"` // 2026-07-28, as what follows
	Result   json.RawMessage `json:"result"`
	Error    *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Requests json.RawMessage `json:"inputRequests"`
}

// readTask reads the task that a result of a call names; ok is false for other results.
func readTask(result []byte) (t serverTask, ok bool) {
	var r struct {
		Type mcp.ResultType `json:"resultType"`
		Task serverTask     `json:"task"`
		serverTask
	}
	if json.Unmarshal(result, &r) != nil {
		return t, false
	}
	if r.Type == resultTask {
		return r.serverTask, r.ID != ""
	}
	return r.Task, r.Type == "" && r.Task.ID != "" && r.Task.Status != ""
}

// pause is how long to wait before the next look at the task.
func (t serverTask) pause() time.Duration {
	ms := max(t.Interval, t.Millis)
	switch {
	case ms <= 0:
		return defaultPoll
	case ms >= float64(maxPoll.Milliseconds()):
		return maxPoll
	}
	return max(minPoll, time.Duration(ms)*time.Millisecond)
}

// beginTask notes that the server made a task of a call, and follows it.
func (c *connection) beginTask(ctx context.Context, f *inFlightCall, t serverTask) (outcome, error) {
	in := inputRequests{Task: t.ID, Pause: t.pause(), Answers: map[string]json.RawMessage{}}
	state, err := json.Marshal(in)
	if err != nil {
		return outcome{}, err
	}
	f.call.Resume = &Resume{State: state}
	f.begun.Store(true)
	if f.call.Began != nil {
		if err := f.call.Began(ctx, state); err != nil {
			c.cancelTask(t.ID)
			return outcome{}, fmt.Errorf("%w: %w", errNotKept, err)
		}
	}
	return c.followTask(ctx, f, in, t)
}

// continueTask goes on with a task, with the answers to its questions.
func (c *connection) continueTask(ctx context.Context, f *inFlightCall, in inputRequests) (outcome, error) {
	f.begun.Store(true)
	if err := c.answerTask(ctx, f, in); err != nil {
		return outcome{}, err
	}
	return c.followTask(ctx, f, in, serverTask{Status: mcp.TaskStatusWorking, Millis: float64(in.Pause.Milliseconds())})
}

// followTask looks at a task until it is over, or a person has to be asked.
func (c *connection) followTask(ctx context.Context, f *inFlightCall, in inputRequests, t serverTask) (o outcome, err error) {
	defer func() {
		if err != nil && ctx.Err() != nil && f.abandons(context.Cause(ctx)) {
			c.cancelTask(in.Task)
		}
	}()
	refused, shown := map[string]bool{}, ""
	for {
		if f.reports != nil && t.Message != shown {
			shown = t.Message
			f.reports.put(Progress{Message: clip.Bytes(clean(shown), maxReport)})
		}
		switch {
		case t.Status == mcp.TaskStatusCancelled:
			return outcome{}, errTaskCancelled
		case t.Status.IsTerminal() && c.modern():
			return t.outcome(f)
		case t.Status == mcp.TaskStatusInputRequired && c.modern():
			next, err := c.taskInputs(ctx, f, in, t, refused)
			if err != nil || next.needsPerson() {
				return next.outcomeOr(err)
			}
			in = next
		case t.Status.IsTerminal(), t.Status == mcp.TaskStatusInputRequired:
			// The result comes when the task is over; until then the questions come
			// on its stream.
			got, err := c.askAboutTask(ctx, f, in.Task, string(mcp.MethodTasksResult), nil)
			return outcome{got: got}, err
		}
		select {
		case <-time.After(t.pause()):
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		}
		if t, err = c.lookAtTask(ctx, f, in.Task); err != nil {
			return outcome{}, err
		}
	}
}

// outcome is what a task of 2026-07-28 led to that is over.
func (t serverTask) outcome(f *inFlightCall) (outcome, error) {
	if t.Status == mcp.TaskStatusFailed {
		refused := &rpcError{code: mcp.INTERNAL_ERROR, message: t.Message}
		if t.Error != nil {
			refused = &rpcError{code: t.Error.Code, message: t.Error.Message, data: t.Error.Data}
		}
		return outcome{}, refused
	}
	return outcome{got: captured{pages: [][]byte{t.Result}, call: f}}, nil
}

// taskInputs answers what a task of 2026-07-28 wants to know, as far as no person has to
// be asked. The same questions come until the server has taken the answers.
func (c *connection) taskInputs(ctx context.Context, f *inFlightCall, in inputRequests, t serverTask, refused map[string]bool) (inputRequests, error) {
	wrapped, err := json.Marshal(map[string]any{"resultType": mcp.ResultTypeInputRequired, "inputRequests": t.Requests})
	if err != nil {
		return in, err
	}
	next, _, err := readInputs(wrapped)
	if err != nil {
		return in, err
	}
	next.Task, next.Pause = in.Task, t.pause()
	next.Requests = slices.DeleteFunc(next.Requests, func(r inputRequest) bool {
		_, answered := in.Answers[r.ID]
		return answered
	})
	next.Answers = in.Answers
	if len(next.Requests) == 0 {
		return next, nil
	}
	if err := c.answerAutomatically(ctx, f, &next, refused); err != nil || next.needsPerson() {
		return next, err
	}
	return next, c.answerTask(ctx, f, next)
}

// outcomeOr is the question to a person, unless there was an error.
func (in inputRequests) outcomeOr(err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	return in.outcome()
}

// answerTask sends the answers to the open questions of a task.
func (c *connection) answerTask(ctx context.Context, f *inFlightCall, in inputRequests) error {
	answers := map[string]json.RawMessage{}
	for _, r := range in.Requests {
		if a, ok := in.Answers[r.ID]; ok {
			answers[r.ID] = a
		}
	}
	if len(answers) == 0 {
		return nil
	}
	_, err := c.askAboutTask(ctx, f, in.Task, tasksUpdate, map[string]any{"inputResponses": answers})
	return gone(err)
}

// lookAtTask asks for the status of a task.
func (c *connection) lookAtTask(ctx context.Context, f *inFlightCall, id string) (t serverTask, err error) {
	got, err := c.askAboutTask(ctx, f, id, string(mcp.MethodTasksGet), nil)
	if err != nil {
		return t, gone(err)
	}
	if err := json.Unmarshal(got.result(), &t); err != nil || t.Status == "" {
		return t, errors.New("the server did not tell the status of its task")
	}
	return t, nil
}

// gone is the error of a question about a task: a refusal means that the server does not
// have the task.
func gone(err error) error {
	var refused *rpcError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w (%s)", errTaskGone, refused.Error())
	}
	return err
}

// askAboutTask makes a request about a task.
func (c *connection) askAboutTask(ctx context.Context, f *inFlightCall, id, method string, params map[string]any) (captured, error) {
	got := captured{call: f, task: id, method: method, params: params}
	r := mcp.GetTaskRequest{}
	r.Params.TaskId = id
	_, err := c.client.GetTask(withCapture(ctx, &got), r)
	return got, err
}

// abandons tells that no later call goes on with the task of a call whose context has
// ended.
func (f *inFlightCall) abandons(cause error) bool {
	return f.call.Began == nil || errors.Is(cause, ErrWithdrawn) || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, errAsk)
}

// cancelTask asks the server to end a task.
func (c *connection) cancelTask(id string) {
	if can := c.capabilities.Tasks; !c.modern() && (can == nil || can.Cancel == nil) {
		return
	}
	c.spawn(func() {
		ctx, cancel := context.WithTimeout(c.ctx, cancelTimeout)
		defer cancel()
		_, err := c.askAboutTask(ctx, nil, id, string(mcp.MethodTasksCancel), nil)
		c.log.Debug("task of the server cancelled", "task", id, "cause", err)
	})
}
