package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"legwork/internal/test/harness/record"
	"legwork/internal/test/pg"
)

// Postgres is the store that is a database on a Postgres server.
const Postgres = "postgres"

// Server is a Postgres server for several runs at once. Each has a database of its
// own.
type Server struct {
	pg    *pg.Server
	quiet sync.RWMutex // held for reading by those who need the server now

	mu      sync.Mutex
	outages []record.Outage
}

// OpenStore starts the server of a store; nil for data files. The caller closes it.
func OpenStore(store string) (*Server, error) {
	switch store {
	case "":
		return nil, nil //nolint:nilnil // a data file needs no server
	case Postgres:
	default:
		return nil, fmt.Errorf("there is no store %q; there is %s", store, Postgres)
	}
	server, err := pg.Open("fsync=off") // the server is killed, and the power is not cut
	if err != nil {
		return nil, err
	}
	return &Server{pg: server}, nil
}

// Close ends the server and deletes its data.
func (s *Server) Close() {
	if s != nil {
		s.pg.Remove()
	}
}

// crash kills the server and starts it again.
func (s *Server) crash() error {
	s.quiet.Lock()
	defer s.quiet.Unlock()
	o := record.Outage{From: time.Now()}
	err := s.pg.Crash()
	o.To = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outages = append(s.outages, o)
	return err
}

// since returns the outages that ended after a moment.
func (s *Server) since(from time.Time) []record.Outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.outages), func(o record.Outage) bool { return o.To.Before(from) })
}

// database is the database of a run. legwork reaches it by a proxy. One goroutine
// calls the methods.
type database struct {
	server *Server
	proxy  *pg.Proxy
	url    string // without the proxy
	began  time.Time
	due    map[int][]string // disturbances, by how many things were seen before
	delay  *rand.Rand
	late   sync.WaitGroup // disturbances that are under way
	failed chan error     // of a crash

	armed   string   // how the next commit is to be cut; empty: not at all
	waiting []string // and the ones after it
	wasCut  <-chan struct{}
	counts  map[string]int
	log     *os.File // of the disturbances, for people
}

// openDatabase makes a database on a server. The seed says what disturbs it.
func openDatabase(server *Server, seed int64, log string) (d *database, err error) {
	d = &database{
		server: server, began: time.Now(), due: map[int][]string{}, delay: rand.New(rand.NewPCG(uint64(seed), 3)),
		failed: make(chan error, 1), counts: map[string]int{},
	}
	if d.log, err = os.Create(log); err != nil {
		return nil, err
	}
	server.quiet.RLock()
	defer server.quiet.RUnlock()
	if d.url, err = server.pg.Create(); err != nil {
		return nil, fmt.Errorf("creating a database: %w", err)
	}
	if d.proxy, err = pg.Listen(server.pg, 0); err != nil {
		return nil, err
	}
	kinds := []string{record.CutAll, record.CutBefore, record.CutAfter, record.CutAll, record.CutBefore, record.CutAfter}
	if seed%2 == 0 {
		kinds = append(kinds, record.Crash)
	}
	for _, kind := range kinds {
		at := 3 + d.delay.IntN(80)
		d.due[at] = append(d.due[at], kind)
	}
	return d, nil
}

// config is the part of the config file.
func (d *database) config() (string, error) {
	through, err := d.proxy.Through(d.url)
	return fmt.Sprintf("store: {type: postgres, url: %q}\n", through), err
}

// noticed is called when something was seen, the nth of the run. It disturbs the
// database when that is due.
func (d *database) noticed(n int) {
	d.count()
	for _, kind := range d.due[n] {
		fmt.Fprintf(d.log, "%s due: %s\n", time.Now().Format("05.000000"), kind)
		switch kind {
		case record.CutAll:
			d.counts[kind]++
			time.AfterFunc(time.Duration(d.delay.IntN(30))*time.Millisecond, func() { d.proxy.Cut(false) })
		case record.Crash:
			d.counts[kind]++
			d.late.Go(func() {
				if err := d.server.crash(); err != nil {
					d.failed <- fmt.Errorf("starting Postgres again: %w", err)
				}
			})
		default:
			d.waiting = append(d.waiting, kind)
		}
	}
	if d.armed == "" && len(d.waiting) > 0 {
		d.armed, d.waiting = d.waiting[0], d.waiting[1:]
		d.wasCut = d.proxy.CutCommit(map[string]pg.Cut{record.CutBefore: pg.CutBefore, record.CutAfter: pg.CutAfter}[d.armed])
	}
}

// count counts the commit that was cut.
func (d *database) count() {
	select {
	case <-d.wasCut:
		fmt.Fprintf(d.log, "%s done before: %s\n", time.Now().Format("05.000000"), d.armed)
		d.counts[d.armed]++
		d.armed = ""
	default:
	}
}

// rest is called between two lives. No commit is cut before the next one works, and
// it does not begin while the server is away.
func (d *database) rest() {
	d.count()
	d.proxy.CutCommit(pg.NoCut)
	d.armed = ""
	d.server.quiet.RLock()
	d.server.quiet.RUnlock() //nolint:staticcheck // it only waits
}

// outages are those since it was opened, in order.
func (d *database) outages() []record.Outage { return d.server.since(d.began) }

// close deletes the database. It adds to the record what disturbed it.
func (d *database) close(r *record.Record) error {
	d.late.Wait()
	d.proxy.Close()
	d.count()
	_ = d.log.Close() // only people read it
	r.Disturbed, r.Outages = d.counts, d.outages()
	d.server.quiet.RLock()
	defer d.server.quiet.RUnlock()
	if err := d.server.pg.Drop(d.url); err != nil {
		return fmt.Errorf("deleting the database: %w", err)
	}
	select {
	case err := <-d.failed:
		return err
	default:
		return nil
	}
}

// copyData copies the database to a data folder, where it is read at the end. A
// damaged record is an error.
func (s *session) copyData(ctx context.Context) ([]byte, error) {
	s.database.server.quiet.RLock()
	defer s.database.server.quiet.RUnlock()
	return s.data(ctx, "copy", "--from", s.database.url, "--to", s.finalData())
}

// finalData is the data folder that is read at the end.
func (s *session) finalData() string {
	if s.database == nil {
		return filepath.Join(s.dir, "data")
	}
	return filepath.Join(s.dir, "copy")
}
