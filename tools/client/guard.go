package client

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
)

// guardScript reads "+ LEADER" and "- LEADER" lines and, when its input ends,
// kills the groups that are left. It ignores the signals of a terminal.
const guardScript = `trap '' INT TERM HUP QUIT
all=" "
while read -r op id; do
  case $op in
    +) all="$all$id " ;;
    -) case $all in *" $id "*) all="${all%% $id *} ${all#* $id }" ;; esac ;;
  esac
done
for id in $all; do kill -s KILL -- "-$id"; done 2>/dev/null
exit 0`

// Guard is one small shell beside the daemon. When the daemon is killed, even
// by SIGKILL, the guard's input ends and it kills the process groups of the
// servers, grandchildren included, which the kernel's parent-death signal does
// not reach. It starts with the first child; where there is no shell it does
// nothing.
type Guard struct {
	log   *slog.Logger
	mu    sync.Mutex
	tried bool
	in    io.WriteCloser // nil when it is not running
	cmd   *exec.Cmd
}

func (g *Guard) add(leader int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.tried {
		g.tried = true
		g.start()
	}
	g.tell("+", leader)
}

func (g *Guard) remove(leader int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell("-", leader)
}

func (g *Guard) start() {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", guardScript)
	cmd.Env = []string{}
	cmd.SysProcAttr = guardAttr()
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.log.Debug("no guard for the processes of servers", "err", err)
		return
	}
	g.in, g.cmd = in, cmd
}

// tell ignores errors: without a guard there is still the parent-death signal.
func (g *Guard) tell(op string, leader int) {
	if g.in != nil {
		_, _ = fmt.Fprintf(g.in, "%s %d\n", op, leader)
	}
}

// NewGuard makes a guard for the servers that are given it.
func NewGuard(log *slog.Logger) *Guard { return &Guard{log: log} }

// Close ends the guard, which kills the groups it still knows, and waits for it.
func (g *Guard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in != nil {
		_ = g.in.Close()
		_ = g.cmd.Wait()
		g.in = nil
	}
}
