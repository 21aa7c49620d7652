package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/server"
)

// fake is the server and what spoils it. Messages come in by its transports,
// pass the gate, which refuses what breaks the protocol, then the faults, and
// only then reach the library.
type fake struct {
	options
	log     *journal
	mcp     *server.MCPServer
	gate    *gate
	trigger *trigger
	known   map[string]fault // the table by name, made once
	streams *streams
	mutated atomic.Bool // lookup has another description now
	pages   atomic.Int64

	own       map[string]func(*fake, *exchange) bool // tools that write by themselves
	askers    map[string]server.ToolHandlerFunc      // the tools that ask the client
	questions atomic.Int64
	signedIn  atomic.Bool // ask_first was called

	mu        sync.Mutex
	kept      map[string]string        // answers for who comes back, by session
	jobs      map[string]*job          // by their ids
	waiting   map[string]chan exchange // for the answer of a client, by id of the question
	cancelled map[string]chan struct{} // by session and id of a request; closed when its cancel comes
}

func newFake(o options, j *journal) *fake {
	f := &fake{
		options: o, log: j, gate: newGate(o, j), trigger: newTrigger(o), streams: newStreams(), known: map[string]fault{},
		own: map[string]func(*fake, *exchange) bool{}, askers: map[string]server.ToolHandlerFunc{},
		kept: map[string]string{}, jobs: map[string]*job{}, waiting: map[string]chan exchange{}, cancelled: map[string]chan struct{}{},
	}
	for _, one := range table() {
		f.known[one.name] = one
	}
	f.mcp = f.newServer()
	return f
}

// exchange is one message of a client, or one HTTP request without a message,
// and the way back to it.
type exchange struct {
	message
	raw     []byte
	session string // "" on stdio
	back    back
	http    *httpExchange // nil on stdio
}

// back is the way of an answer to one message.
type back interface {
	// write brings one message, made of begin, n times piece and end, without
	// holding all of it.
	write(begin, piece string, n int, end string)
	// part brings a part of a message, without an end.
	part(text string)
	// later does what takes its time, beside other messages where the
	// transport lets them pass.
	later(work func())
	// accept tells that the message arrived and gets no answer.
	accept()
}

// take does what has to be done with a message before the library sees it. It
// reports whether the library shall see it.
func (f *fake) take(x *exchange) bool {
	if x.Method == "notifications/cancelled" {
		f.cancel(x.session, x.params.RequestID)
	}
	refusal := f.gate.admit(x)
	if refusal != nil && refusal.final {
		f.refuse(x, refusal)
		return false
	}
	if refusal == nil && f.answered(x) {
		return false
	}
	if refusal == nil && x.Method == "tools/call" {
		f.log.write(entry{Event: "call", ID: x.ID, Tool: x.params.Name, Args: x.params.Arguments})
	}
	if fault, ok := f.due(x); ok {
		f.log.write(entry{Event: "fault", ID: x.ID, Note: fault.name})
		return fault.message(f, x)
	}
	if refusal != nil {
		f.refuse(x, refusal)
		return false
	}
	if f.options.jobs && strings.HasPrefix(x.Method, "tasks/") {
		f.jobRequest(x)
		return false
	}
	if own := f.own[x.params.Name]; own != nil && x.Method == "tools/call" {
		return own(f, x)
	}
	if ask := f.askers[x.params.Name]; ask != nil && x.Method == "tools/call" && x.version() == "" {
		f.converse(x, ask)
		return false
	}
	return f.patch(x)
}

// due returns the fault that is to happen to a message: the chosen one, or the
// one that the called tool stands for.
func (f *fake) due(x *exchange) (fault, bool) {
	if f.faults && x.Method == "tools/call" {
		if fault := f.known[x.params.Name]; fault.message != nil && (fault.only == "" || x.http != nil) {
			return fault, true
		}
	}
	if fault := f.known[f.fault]; fault.message != nil && f.trigger.pull(x.Method) {
		return fault, true
	}
	return fault{}, false
}

// cancel notes that a client wants no answer any more.
func (f *fake) cancel(session string, id json.RawMessage) {
	f.log.write(entry{Event: "cancelled", ID: validID(id)})
	f.mu.Lock()
	defer f.mu.Unlock()
	key := session + " " + string(id)
	if c, ok := f.cancelled[key]; ok {
		close(c)
		delete(f.cancelled, key)
	}
}

// cancels returns the channel that is closed when the cancel of a request
// comes. One goroutine may ask for it per request.
func (f *fake) cancels(x *exchange) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan struct{})
	f.cancelled[x.session+" "+string(x.ID)] = c
	return c
}

// answer is the true answer to a message, as JSON.
func (f *fake) answer(x *exchange) string {
	ctx := server.WithSupportedProtocolVersions(x.ctx(), f.versions())
	b, err := json.Marshal(f.mcp.HandleMessage(ctx, x.raw))
	if err != nil {
		return `{"jsonrpc":"2.0","id":` + string(x.ID) + `,"error":{"code":-32603,"message":"` + err.Error() + `"}}`
	}
	return string(b)
}

// reply brings one message.
func (x *exchange) reply(message string) { x.back.write(message, "", 0, "") }

// refuse answers a message that the gate did not let through.
func (f *fake) refuse(x *exchange, r *refusal) {
	if x.http != nil && f.http != "" {
		x.http.refuse(x.ID, r)
		return
	}
	switch answered := len(x.ID) > 0 || x.wrong != ""; {
	case answered && x.http == nil:
		x.reply(r.message(validID(x.ID)))
	case answered:
		x.back.later(func() { x.reply(r.message(validID(x.ID))) })
	default:
		x.back.accept()
	}
}

// ctx ends with the HTTP request.
func (x *exchange) ctx() context.Context {
	if x.http == nil {
		return context.Background()
	}
	return x.http.r.Context()
}
