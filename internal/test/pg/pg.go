// Package pg runs Postgres for tests: servers of their own folder and port, and a
// proxy that cuts connections.
package pg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"legwork/internal/test/leaks"
	"legwork/internal/test/need"
)

// Server is a Postgres server. Its roles are postgres, a superuser without password,
// and "locked" with the password "right". Connections come by TCP.
type Server struct {
	bin, dir, address string
	settings          []string
	databases         atomic.Int64

	mu    sync.Mutex
	pid   int             // 0: it does not run
	ended <-chan struct{} // closed when the process has ended
}

// Shared is one server for the tests of a package. Run, called by TestMain, stops
// it. The zero value is ready for use.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Run runs the tests and returns the code to exit with.
func (s *Shared) Run(m *testing.M) int {
	return leaks.Runner{Tests: thenRemove{m, s}, Patience: time.Minute}.Run()
}

// thenRemove runs tests and removes their server, before leaks are looked for.
type thenRemove struct {
	tests  *testing.M
	shared *Shared
}

func (r thenRemove) Run() int {
	code := r.tests.Run()
	if r.shared.server != nil {
		r.shared.server.Remove()
	}
	return code
}

// Server returns the shared server. The first call starts it.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	bin := programs(t)
	s.once.Do(func() { s.server, s.err = start(bin) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Start starts a server for one test, which may kill it.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := start(programs(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// Open starts a server outside of tests, with settings such as "fsync=off". The caller
// removes it.
func Open(settings ...string) (*Server, error) {
	path, err := exec.LookPath(program())
	if err != nil {
		return nil, fmt.Errorf("looking for Postgres: %w", err)
	}
	return start(filepath.Dir(path), settings...)
}

// Need skips a test, or lets it fail, where there is no Postgres.
func Need(t testing.TB) {
	t.Helper()
	programs(t)
}

// programs returns the folder of the programs of Postgres.
func programs(t testing.TB) string {
	t.Helper()
	need.Check(t)
	return filepath.Dir(need.Command(t, program(), "apt-get install postgresql"))
}

// program is the path of the newest server program. Debian keeps it out of PATH.
func program() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return "postgres"
	}
	return slices.MaxFunc(found, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
}

// start makes a data folder and starts a server on it.
func start(bin string, settings ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "legwork-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, settings: settings}
	if err := s.create(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// create makes the data folder and starts the server for the first time.
func (s *Server) create() error {
	as, err := account()
	if err != nil {
		return err
	}
	if as.Credential != nil {
		if err := os.Chown(s.dir, int(as.Credential.Uid), int(as.Credential.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions") //nolint:gosec // the path of a test
	initdb.SysProcAttr, initdb.Dir = as, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	rules := "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(rules), 0o644); err != nil { //nolint:gosec // the server runs as another user
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	if err := s.launch(); err != nil {
		return err
	}
	return s.execute("create role locked login password 'right'")
}

// account is the user that runs the server: postgres refuses to run as root.
func account() (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return as, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("looking for a user to run Postgres: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return as, errors.Join(err, err2)
}

// launch starts the server and waits until it answers. It starts it again when it
// ends at once, because processes of a killed one are still there.
func (s *Server) launch() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		if err := s.run(); err != nil {
			return err
		}
		for running := true; running; {
			conn, err := pgx.Connect(ctx, s.urlOf("postgres"))
			if err == nil {
				return conn.Close(ctx)
			}
			select {
			case <-s.ended:
				running = false
			case <-ctx.Done():
				s.end(syscall.SIGQUIT)
				text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
				return fmt.Errorf("starting Postgres: %w\n%s", err, text)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// run starts the server.
func (s *Server) run() error {
	as, err := account()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log")) // its children may outlive the server
	if err != nil {
		return err
	}
	defer log.Close()
	_, port, _ := net.SplitHostPort(s.address)
	server := exec.Command(filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-p", port, "-k", s.dir, //nolint:gosec // the path of a test
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=on", "-c", "max_connections=200", "-c", "shared_buffers=64MB")
	for _, setting := range s.settings {
		server.Args = append(server.Args, "-c", setting)
	}
	server.SysProcAttr, server.Dir, server.Stderr, server.Stdout = as, s.dir, log, log
	if err := server.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	s.pid, s.ended = server.Process.Pid, done
	go func() {
		defer close(done)
		_ = server.Wait()
	}()
	return nil
}

// end sends a signal to the server and waits until it has ended.
func (s *Server) end(signal syscall.Signal) {
	if s.pid == 0 {
		return
	}
	if signal == syscall.SIGKILL {
		s.signal(signal)
	} else {
		_ = syscall.Kill(s.pid, signal)
	}
	<-s.ended
	s.pid = 0
}

// signal sends a signal to the server and to its children, which are in no process
// group with it.
func (s *Server) signal(signal syscall.Signal) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
	_ = syscall.Kill(s.pid, signal)
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, signal)
		}
	}
}

// Remove ends the server and deletes its folder.
func (s *Server) Remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(syscall.SIGQUIT)
	_ = os.RemoveAll(s.dir)
}

// Address is the host and port of the server.
func (s *Server) Address() string { return s.address }

// URL creates an empty database and returns its URL.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	database, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// Create is URL outside of tests.
func (s *Server) Create() (database string, err error) {
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	return s.urlOf(name), s.execute("create database " + name)
}

// Drop deletes a database, and ends its sessions.
func (s *Server) Drop(database string) error {
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	return s.execute("drop database " + strings.Trim(u.Path, "/") + " with (force)")
}

func (s *Server) urlOf(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: s.address, Path: database, RawQuery: "sslmode=disable"}
	return u.String()
}

func (s *Server) execute(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.urlOf("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Kill kills the server with all its sessions, as a power cut would.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(syscall.SIGKILL)
}

// Crash kills the server with all its sessions and starts it again at once.
func (s *Server) Crash() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(syscall.SIGKILL)
	return s.launch()
}

// Freeze stops all processes of the server. The function lets them go on.
func (s *Server) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signal(syscall.SIGSTOP)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.signal(syscall.SIGCONT)
	}
}

// Restart starts the server again. It ends it first, if it runs: its sessions are
// ended, and transactions taken back.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(syscall.SIGINT)
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Query runs a statement in a database.
func Query(t testing.TB, database, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the session of one statement
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Session is a connection to a database.
type Session struct {
	t    testing.TB
	conn *pgx.Conn
}

// Connect connects to a database until the test ends.
func Connect(t testing.TB, database string) *Session {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &Session{t, conn}
}

// Exec runs a statement.
func (s *Session) Exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.conn.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// Number runs a query that returns a number.
func (s *Session) Number(sql string, args ...any) (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}
