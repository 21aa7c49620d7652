package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"legwork/app/data"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/pg"
	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/postgres"
	"legwork/tasks"
)

const (
	serverRounds = 3
	wantOfBare   = 0.5 // of what bare inserts reach

	// Sizes of an update; it looks for its new records first.
	updateRecords = 12
	updateNew     = 8
	recordBytes   = 300

	maxTrips   = 4
	copyTurns  = 10_000 // answered questions in the store that is copied
	wantCopied = 20_000 // records/s
)

// measurePostgres measures the store on a Postgres server of its own.
func measurePostgres(ctx context.Context, dir string) (figures []figure, err error) {
	server, err := pg.Open()
	if err != nil {
		return nil, fmt.Errorf("%w; to install it: apt-get install postgresql", err)
	}
	defer server.Remove()
	for _, measure := range []func(context.Context, string, *pg.Server) ([]figure, error){
		measureServerIntake, measureTrips, measureCopy, measureTakeOver,
	} {
		more, err := measure(ctx, dir, server)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

// openPostgres opens the store in a database.
func openPostgres(ctx context.Context, url string) (*store.Store, error) {
	db, err := postgres.Open(ctx, postgres.Options{URL: url})
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, db, store.Options{})
}

// measureServerIntake measures how fast 64 senders store records and messages, and how
// fast they insert the same records without legwork. It does so in turns.
func measureServerIntake(ctx context.Context, _ string, server *pg.Server) ([]figure, error) {
	updates := intakeOf{name: fmt.Sprintf("Postgres: updates of %d records, %d of them new, 64 senders", updateRecords, updateNew), send: sendUpdates, written: madeUp}
	messages := intakeOf{name: "Postgres: durable intake, 64 senders", send: sendMessages, written: storedRecords}
	for range serverRounds {
		for _, i := range []*intakeOf{&updates, &messages} {
			if err := i.round(ctx, server); err != nil {
				return nil, err
			}
		}
	}
	return append(updates.figures(), messages.figures()...), nil
}

// intakeOf is one kind of intake, and what its rounds measured.
type intakeOf struct {
	name    string
	send    func(ctx context.Context, url string) (throughput, error)
	written func(ctx context.Context, url string) ([]record, error) // what send wrote to the database

	got, bare []throughput
	records   float64 // of a message
}

// round measures once, in a database of its own.
func (i *intakeOf) round(ctx context.Context, server *pg.Server) error {
	url, err := server.Create()
	if err != nil {
		return err
	}
	got, err := i.send(ctx, url)
	if err != nil {
		return err
	}
	written, err := i.written(ctx, url)
	if err != nil {
		return err
	}
	bare, err := insertBare(ctx, url, written)
	i.got, i.bare, i.records = append(i.got, got), append(i.bare, bare), float64(len(written))/intake
	return err
}

func (i *intakeOf) figures() []figure {
	rate, p99 := middle(i.got)
	bareRate, bareP99 := middle(i.bare)
	return []figure{
		{
			name: i.name, measured: fmt.Sprintf("%.0f/s", rate), limit: fmt.Sprintf("%.0f/s (%g of bare)", bareRate*wantOfBare, wantOfBare),
			machine: fmt.Sprintf("%.0f/s bare grouped inserts of %.1f records", bareRate, i.records), ok: rate >= bareRate*wantOfBare,
		},
		{name: "the same, 99th percentile", measured: short(p99), machine: short(bareP99)},
	}
}

// middle returns the medians of rounds.
func middle(rounds []throughput) (rate float64, p99 time.Duration) {
	var rates []float64
	var slow []time.Duration
	for _, r := range rounds {
		rates, slow = append(rates, r.rate), append(slow, r.p99)
	}
	slices.Sort(rates)
	return rates[len(rates)/2], median(slow)
}

// sendUpdates lets the senders update records that are not those of legwork's rules.
func sendUpdates(ctx context.Context, url string) (throughput, error) {
	db, err := postgres.Open(ctx, postgres.Options{URL: url})
	if err != nil {
		return throughput{}, err
	}
	got, err := send(func(sender, n int) error {
		return db.Update(ctx, func(x store.Tx) (func(), error) {
			for i := range updateRecords {
				key := fmt.Appendf(nil, "sender%d/%d", sender, i)
				if i < updateNew {
					key = fmt.Appendf(nil, "message%012d/%d", n*senders+sender, i)
				}
				if _, err := x.Get(store.TableJournal, key); err != nil {
					return nil, err
				}
				if err := x.Put(store.TableJournal, key, make([]byte, recordBytes)); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
	})
	return got, errors.Join(err, db.Close())
}

// sendMessages lets the senders store messages, each in its own chat.
func sendMessages(ctx context.Context, url string) (throughput, error) {
	s, err := openPostgres(ctx, url)
	if err != nil {
		return throughput{}, err
	}
	goal := strings.Repeat("What is it? ", 12)
	got, err := send(func(sender, n int) error {
		n = n*senders + sender
		_, err := s.Open(ctx, []tasks.Inbound{opening(chat(n), tasks.ID(fmt.Sprintf("%026d", n)), goal)})
		return err
	})
	return got, errors.Join(err, s.Close())
}

// record is a record of a store as a row.
type record struct {
	Table      int16
	Key, Value []byte
}

// madeUp returns as many records as sendUpdates writes, old and new.
func madeUp(context.Context, string) ([]record, error) {
	all := make([]record, intake*updateRecords)
	for n := range all {
		all[n] = record{int16(store.TableJournal), fmt.Appendf(nil, "message%012d", n), make([]byte, recordBytes)}
	}
	return all, nil
}

// storedRecords returns the records of a store, in their order on the server.
func storedRecords(ctx context.Context, url string) ([]record, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	rows, _ := conn.Query(ctx, "select t, k, v from legwork_kv") // CollectRows returns its error
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[record])
	return all, errors.Join(err, conn.Close(ctx))
}

// insertBare lets the senders insert the records of all messages into a table, over
// one connection and in groups.
func insertBare(ctx context.Context, url string, all []record) (throughput, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return throughput{}, err
	}
	var got throughput
	if _, err = conn.Exec(ctx, "create table bare (t smallint, k bytea, v bytea, primary key (t, k))"); err == nil {
		got, err = sendGrouped(func(group []int) error {
			var tables []int16
			var keys, values [][]byte
			for _, n := range group {
				for _, r := range all[n*len(all)/intake : (n+1)*len(all)/intake] {
					tables, keys, values = append(tables, r.Table), append(keys, r.Key), append(values, r.Value)
				}
			}
			_, err := conn.Exec(ctx, "insert into bare select * from unnest($1::smallint[], $2::bytea[], $3::bytea[])", tables, keys, values)
			return err
		})
	}
	return got, errors.Join(err, conn.Close(ctx))
}

// measureTrips appends events one after the other. A proxy counts the round trips.
func measureTrips(ctx context.Context, _ string, server *pg.Server) ([]figure, error) {
	proxy, err := pg.Listen(server, 0)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	url, err := server.Create()
	if err == nil {
		url, err = proxy.Through(url)
	}
	if err != nil {
		return nil, err
	}
	s, err := openPostgres(ctx, url)
	if err != nil {
		return nil, err
	}
	before := proxy.Trips()
	took, err := appendEvents(ctx, s)
	trips := float64(proxy.Trips()-before) / appends
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	return []figure{{
		name: "Postgres: round trips of an append", measured: fmt.Sprintf("%.1f", trips), limit: fmt.Sprint(maxTrips),
		machine: short(median(took)) + " each append", ok: trips <= maxTrips,
	}}, nil
}

// measureCopy copies a store from bolt to Postgres and back.
func measureCopy(ctx context.Context, dir string, server *pg.Server) (figures []figure, err error) {
	url, err := server.Create()
	if err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "source")
	s, err := bolt.Open(ctx, source, bolt.Options{})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fill(ctx, s, copyTurns), s.Close()); err != nil {
		return nil, err
	}
	for _, copied := range []struct{ name, from, to string }{
		{"data copy: a file to Postgres", source, url},
		{"data copy: Postgres to a file", url, filepath.Join(dir, "back")},
	} {
		r, err := data.Copy(ctx, data.CopyRequest{From: copied.from, To: copied.to}, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", copied.name, err)
		}
		rate := float64(r.Records) / r.Took.Seconds()
		figures = append(figures, figure{
			name: copied.name, measured: fmt.Sprintf("%.0f records/s", rate), limit: fmt.Sprintf("%d records/s", wantCopied),
			machine: fmt.Sprintf("%d records, compared at the end", r.Records), ok: rate >= wantCopied,
		})
	}
	return figures, nil
}

const (
	takeOvers = 3 // of each kind
	maxKilled = 10 * time.Second
	maxFrozen = 15 * time.Second
)

// measureTakeOver lets one legwork serve work and another one stand by. It kills or
// freezes the first one, and measures until the second one answers a question.
func measureTakeOver(ctx context.Context, dir string, server *pg.Server) (figures []figure, err error) {
	url, err := server.Create()
	if err != nil {
		return nil, err
	}
	h, err := newDaemonEnv(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	person := h.telegram.User(firstPerson, "Ann", "en")
	works, waits := *h, *h
	for n, of := range []*daemonEnv{&works, &waits} {
		if of.line, err = onPostgres(h.line, url, fmt.Sprint("node", n)); err != nil {
			return nil, err
		}
	}
	worker, err := works.launchUntil(ctx, "telegram: messages arrive")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"killed", syscall.SIGKILL, maxKilled},
		{"frozen", syscall.SIGSTOP, maxFrozen},
	} {
		var took []time.Duration
		for n := range takeOvers {
			standby, err := waits.launchUntil(ctx, "standing by")
			if err != nil {
				return nil, err
			}
			from, question := time.Now(), fmt.Sprint(end.name, n)
			if err := worker.Process.Signal(end.signal); err != nil {
				return nil, errors.Join(err, standby.kill())
			}
			h.telegram.Say(firstPerson, person, question)
			err = h.awaitAnswer(ctx, question)
			took = append(took, time.Since(from))
			if err := errors.Join(err, worker.kill()); err != nil {
				return nil, errors.Join(err, standby.kill())
			}
			worker, works, waits = standby, waits, works
		}
		figures = append(figures, within("a standby's first answer after the worker is "+end.name, slices.Max(took), end.limit,
			fmt.Sprintf("the slowest of %d; %s the median", takeOvers, short(median(took)))))
	}
	return figures, nil
}

// onPostgres returns the command that runs legwork on a Postgres database, with a
// config and a data folder of that name.
func onPostgres(line []string, url, name string) ([]string, error) {
	text, err := os.ReadFile(line[3])
	if err != nil {
		return nil, err
	}
	config := strings.Replace(string(text), "data_dir: data\nlog: {level: warn}\n",
		fmt.Sprintf("data_dir: %s\nlog: {level: info}\nstore: {type: postgres, url: %q}\n", name, url), 1)
	path := filepath.Join(filepath.Dir(line[3]), name+".yaml")
	return []string{line[0], line[1], line[2], path}, os.WriteFile(path, []byte(config), 0o600)
}

// launchUntil starts legwork serve, and returns when its log holds words.
func (h *daemonEnv) launchUntil(ctx context.Context, words string) (*daemon, error) {
	d := &daemon{Cmd: exec.CommandContext(ctx, h.line[0], h.line[1:]...)}
	log, err := d.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.Start(); err != nil {
		return nil, err
	}
	var last string
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if last = lines.Text(); strings.Contains(last, words) {
			go io.Copy(io.Discard, log) //nolint:errcheck // it ends with the process
			return d, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("legwork serve ended before it logged %q: %s", words, last), d.kill())
}

// awaitAnswer waits for the answer to a question.
func (h *daemonEnv) awaitAnswer(ctx context.Context, question string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return h.telegram.WaitFor(ctx, func(v telegramfake.View) bool {
		said := v.Chat(firstPerson).Bots()
		return len(said) > 0 && strings.Contains(said[len(said)-1].Text, "end of "+question)
	})
}
