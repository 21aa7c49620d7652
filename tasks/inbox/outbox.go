package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"legwork/tasks"
)

// Flush waits until all notices are sent. When ctx ends first, the remaining
// notices are dropped. No message may be handled during Flush.
func (in *Inbox) Flush(ctx context.Context) { in.outbox.flush(ctx) }

// outbox sends notices in the background. It runs the jobs of each queue in order,
// so a slow chat delays no other chat and no delivery.
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

// Limits of an outbox: the number of queues, the number of jobs in one queue, and
// the time of one job.
const (
	outboxQueues = 1024
	outboxJobs   = 64
	outboxTime   = 5 * time.Minute
)

func newOutbox(log *slog.Logger) *outbox { return &outbox{log: log, queues: map[string]*queue{}} }

// add appends a job to a queue. The job gets only the values of ctx, not its end.
// When the outbox is full, the job is dropped: a notice that late has no use.
func (o *outbox) add(ctx context.Context, name string, job func(context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q := o.queues[name]; q != nil {
		if len(q.jobs) >= outboxJobs {
			o.log.WarnContext(ctx, "notice dropped, queue full", "queue", name)
			return
		}
		q.jobs = append(q.jobs, job)
		return
	}
	if len(o.queues) >= outboxQueues {
		o.log.WarnContext(ctx, "notice dropped, too many queues", "queue", name)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	q := &queue{jobs: []func(context.Context){job}, cancel: cancel}
	o.queues[name] = q
	o.work.Go(func() {
		defer cancel()
		for job := o.next(name, q); job != nil; job = o.next(name, q) {
			if err := within(ctx, outboxTime, job); err != nil {
				o.log.ErrorContext(ctx, "notice job panicked", "queue", name, "cause", err)
			}
		}
	})
}

// within runs a job with a time limit. Its error is a panic of the job.
func within(ctx context.Context, limit time.Duration, job func(context.Context)) (err error) {
	defer tasks.Catch(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	job(ctx)
	return nil
}

// next removes the first job of a queue and returns it. It removes the queue and
// returns nil when no job is left.
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
