package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"legwork/tasks"
)

// Flush returns when everything that was to be said has gone out. When ctx ends
// before, the rest is dropped. No message may be handled meanwhile.
func (in *Inbox) Flush(ctx context.Context) { in.outbox.flush(ctx) }

// outbox runs the jobs that may have to wait for their turn, in order within
// each queue, so that one chat holds up no other chat and no delivery.
type outbox struct {
	log    *slog.Logger
	work   sync.WaitGroup
	mu     sync.Mutex
	queues map[string]*queue
}

type queue struct {
	jobs   []func(context.Context)
	cancel context.CancelFunc
}

// How much an outbox holds: queues at once and jobs in one of them; and how long
// a job may take.
const (
	outboxQueues = 1024
	outboxJobs   = 64
	outboxTime   = 5 * time.Minute
)

func newOutbox(log *slog.Logger) *outbox { return &outbox{log: log, queues: map[string]*queue{}} }

// add puts a job at the end of a queue. ctx gives it values only. When the
// outbox is full, the job is dropped: a notice is of no use that late.
func (o *outbox) add(ctx context.Context, name string, job func(context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q := o.queues[name]; q != nil {
		if len(q.jobs) >= outboxJobs {
			o.log.WarnContext(ctx, "too many notices waiting in a chat", "chat", name)
			return
		}
		q.jobs = append(q.jobs, job)
		return
	}
	if len(o.queues) >= outboxQueues {
		o.log.WarnContext(ctx, "too many notices wait", "chat", name)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	q := &queue{jobs: []func(context.Context){job}, cancel: cancel}
	o.queues[name] = q
	o.work.Go(func() {
		defer cancel()
		for job := o.next(name, q); job != nil; job = o.next(name, q) {
			if err := within(ctx, outboxTime, job); err != nil {
				o.log.ErrorContext(ctx, "a notice could not be shown", "chat", name, "cause", err)
			}
		}
	})
}

// within does a job; its error is a panic.
func within(ctx context.Context, limit time.Duration, job func(context.Context)) (err error) {
	defer tasks.Catch(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	job(ctx)
	return nil
}

// next takes the first job of a queue, which ends with its last.
func (o *outbox) next(name string, q *queue) func(context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(q.jobs) == 0 {
		delete(o.queues, name)
		return nil
	}
	job := q.jobs[0]
	q.jobs = q.jobs[1:]
	return job
}

func (o *outbox) flush(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, q := range o.queues {
			q.jobs = nil
			q.cancel()
		}
	})
	defer stop()
	o.work.Wait()
}
