package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/files"
	"legwork/internal/test/need"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// The test binary is its own child: this variable says what it is to do.
const childTask = "LEGWORK_STORE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childTask) {
	case "", "test":
		need.Checks(15)
		goleak.VerifyTestMain(m)
	case "write":
		childWrites(context.Background(), os.Args[1])
	case "hold":
		childHolds(context.Background(), os.Args[1])
	case "forget":
		childForgets(context.Background(), os.Args[1])
	case "keep":
		childKeeps(context.Background(), os.Args[1])
	case "compact":
		childCompacts(context.Background(), os.Args[1])
	case "restore":
		_, err := bolt.Restore(context.Background(), os.Args[1], []string{os.Args[2]}, bolt.Options{})
		leave(err)
	case "verify":
		leave(bolt.Verify(os.Args[1]))
	case "verify quick":
		leave(bolt.VerifyQuick(os.Args[1]))
	case "read":
		childReads(context.Background(), os.Args[1])
	}
}

// leave ends a child with what it found.
func leave(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is a command that runs the test binary as a child.
func child(t *testing.T, task string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("finding the test binary: %v", err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), childTask+"="+task, "GORACE=atexit_sleep_ms=0")
	return c
}

// childKeeps keeps contents, says which, and deletes them.
func childKeeps(ctx context.Context, dir string) {
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	for i := 0; err == nil && i < 3; i++ {
		var f files.File
		f, err = s.KeepFile(ctx, strings.NewReader(fmt.Sprintf("content %d", i)), tasks.Keep{Owner: "test:c", Until: time.Now().Add(time.Hour)})
		fmt.Println(f.ID)
	}
	if err == nil {
		_, err = s.Erase(ctx, "test:c")
	}
	leave(errors.Join(err, s.Close()))
}

// childHolds opens a store, says so and waits to be killed.
func childHolds(ctx context.Context, dir string) {
	s, err := bolt.Open(ctx, dir, bolt.Options{Command: "legwork chat"})
	if err != nil {
		leave(err)
	}
	fmt.Println("open")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	leave(s.Close())
}

// childWrites opens tasks and appends to them from many senders, printing what
// was acknowledged, until it is killed.
func childWrites(ctx context.Context, dir string) {
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		leave(err)
	}
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	var wg sync.WaitGroup
	run := time.Now().UnixNano()
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := tasks.ID(fmt.Sprintf("%d.%d.%d", run, w, n))
				c := bot.Chat{Platform: "test", ID: fmt.Sprint(w)}
				if _, err := s.Open(ctx, []tasks.Inbound{storetest.Question(c, id, "goal of "+string(id))}); err != nil {
					leave(err)
				}
				say("%s 1", id)
				if err := s.Reserve(ctx, id, reserved("plan 1.0", 0)); err != nil {
					leave(err)
				}
				if err := s.Append(ctx, id, 1, 0, planner.Event{
					Type: planner.Malformed, Action: planner.DecisionID("plan", 1, 0), Problem: &planner.Problem{Code: "x", Usage: llm.Usage{Input: 30, Output: 7}},
				}); err != nil {
					leave(err)
				}
				say("%s 2", id)
				for seq := 3; seq < 6; seq++ {
					if err := s.Append(ctx, id, seq-1, 0, planner.Event{Type: planner.GuidanceAdded, Text: fmt.Sprint(seq)}); err != nil {
						leave(err)
					}
					say("%s %d", id, seq)
				}
				if err := s.Append(ctx, id, -1, 0, storetest.Ending()...); err != nil {
					leave(err)
				}
				say("%s 8", id)
			}
		})
	}
	wg.Wait()
}

// childReads opens a store and uses everything in it. What it reads must be
// what was written, or an error.
func childReads(ctx context.Context, dir string) {
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		leave(err)
	}
	var findings []error
	for n := range damageTasks {
		id := damageTask(n)
		events, err := s.Load(ctx, id, 0)
		if err != nil {
			findings = append(findings, err)
			continue
		}
		if got := events[0].Opening.Goal; got != damageGoal(n) || len(events) != 2 {
			fmt.Printf("silently wrong: task %s has the goal %.40q and %d events\n", id, got, len(events))
		}
	}
	for n := range damageChats {
		if _, err := s.History(ctx, damageChat(n).Key(), "", 1<<30); err != nil {
			findings = append(findings, err)
		}
	}
	if _, err := s.Live(ctx, ""); err != nil {
		findings = append(findings, err)
	}
	_, err = s.Open(ctx, []tasks.Inbound{storetest.Question(damageChat(0), "new", "goal")})
	findings = append(findings, err, s.Close())
	for _, err := range findings {
		if err != nil && !errors.Is(err, tasks.ErrDamaged) && !errors.Is(err, tasks.ErrNoTask) {
			fmt.Printf("another error than damage: %v\n", err)
		}
	}
	leave(errors.Join(findings...))
}

// childCompacts compacts again and again while others write and say what was
// acknowledged.
func childCompacts(ctx context.Context, dir string) {
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		leave(err)
	}
	var out sync.Mutex
	started := make(chan struct{}, 3)
	for w := range 3 {
		go func() {
			for n := 0; ; n++ {
				id := tasks.ID(fmt.Sprintf("%d.%d", w, n))
				c := bot.Chat{Platform: "test", ID: fmt.Sprint(w)}
				if _, err := s.Open(ctx, []tasks.Inbound{storetest.Question(c, id, "goal")}); err != nil {
					leave(err)
				}
				if err := s.Append(ctx, id, 1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "more"}); err != nil {
					leave(err)
				}
				out.Lock()
				fmt.Printf("%s 2\n", id)
				out.Unlock()
				if n == 5 {
					started <- struct{}{}
				}
			}
		}()
	}
	for range 3 {
		<-started
	}
	for {
		if _, err := s.Compact(ctx); err != nil {
			leave(err)
		}
	}
}
