package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"legwork/store/bolt"
	"legwork/tasks"
)

// maintain lets an operator back up or compact the data beside the present
// life. A kill meanwhile makes the command fail.
func (s *session) maintain(ctx context.Context) {
	s.maintained++
	args, backup := []string{"compact"}, ""
	if s.rand.IntN(2) == 0 {
		backup = filepath.Join(s.dir, fmt.Sprintf("backup.%d.db", s.maintained))
		args = []string{"backup", backup}
	}
	s.maintaining.Go(func() {
		if _, err := s.data(ctx, s.ofConfig(args...)...); err == nil && backup != "" {
			s.backups <- backup
		}
	})
}

// verifyData reads all stored data at the end, and each backup that was
// reported as made.
func (s *session) verifyData(ctx context.Context) {
	s.maintaining.Wait()
	verify := func() ([]byte, error) { return s.data(ctx, s.ofConfig("verify")...) }
	if s.database != nil {
		verify = func() ([]byte, error) { return s.copyData(ctx) }
	}
	if out, err := verify(); err != nil && ctx.Err() == nil {
		s.record.Damage = append(s.record.Damage, fmt.Sprintf("the data: %v: %s", err, out))
	}
	for len(s.backups) > 0 {
		file := <-s.backups
		if out, err := s.data(ctx, s.ofConfig("verify", file)...); err != nil && ctx.Err() == nil {
			s.record.Damage = append(s.record.Damage, fmt.Sprintf("%s: %v: %s", filepath.Base(file), err, out))
		}
	}
}

// holdsData reports that a life has locked its data. Maintenance before that
// would keep it from starting.
func (l *life) holdsData() bool {
	if l.database != nil {
		return true // the life waits
	}
	var h bolt.Holder
	text, err := os.ReadFile(filepath.Join(l.dir, "data", "lock.json"))
	return err == nil && json.Unmarshal(text, &h) == nil && h.PID == l.p.cmd.Process.Pid
}

// ofConfig adds the config to the arguments of a command.
func (s *session) ofConfig(args ...string) []string {
	return append(args, "--config", filepath.Join(s.dir, "config.yaml"))
}

// data runs legwork data.
func (s *session) data(ctx context.Context, args ...string) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, s.h.Legwork, append([]string{"data"}, args...)...)
	c.Dir, c.Env = s.dir, []string{"HOME=" + s.dir, fmt.Sprintf("LEGWORK_HASTE=%d", haste)}
	return c.CombinedOutput()
}

// ledger reads what was spent from the data of a run that is over.
func (s *session) ledger(ctx context.Context) ([]tasks.Spent, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	store, err := bolt.Open(ctx, s.finalData(), bolt.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	spent, err := store.Spent(ctx, tasks.SpentQuery{})
	if closed := store.Close(); err == nil {
		err = closed
	}
	if spent == nil {
		spent = []tasks.Spent{} // it was read
	}
	return spent, err
}
