package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
)

// workPostgres has Postgres alone do what the relayer's store has it do: what the store sends is recorded while it works, the
// database is made again as it was, and the recording is sent byte by byte.
func workPostgres(ctx context.Context, t task) (f figure, err error) {
	s, all, err := seeded(ctx, t)
	if err != nil {
		return f, err
	}
	s.Close()
	c, err := openCopies(t.dsn)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.close(context.WithoutCancel(ctx))) }()
	if err := c.fresh(ctx); err != nil {
		return f, err
	}
	tape, err := c.recorded(ctx, all)
	if err != nil {
		return f, err
	}
	if err := c.fresh(ctx); err != nil {
		return f, err
	}
	return c.played(ctx, tape, t.intents)
}

// What tells the connections apart on which the store claims and settles: a result follows the claim it is of.
const (
	claiming = "insert into attempts"
	settling = "insert into entries"
)

// played sends a tape and wants all intents settled by it.
func (c *copies) played(ctx context.Context, t *tape, count int) (figure, error) {
	leader, missing := t.with(claiming)
	follower, too := t.with(settling)
	if err := errors.Join(missing, too); err != nil {
		return figure{}, err
	}
	p := player{tape: t, server: c.socket, leader: leader, follower: follower}
	w := startWatch()
	if err := p.play(ctx); err != nil {
		return figure{}, err
	}
	f := w.figure(count)
	return f, c.allSettled(ctx, count)
}

// recorded has the store work on the copy, and takes down what it sends.
func (c *copies) recorded(ctx context.Context, all []intents.Intent) (*tape, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, filepath.Base(c.socket)))
	if err != nil {
		return nil, err
	}
	t, ended := &tape{}, make(chan error, 1)
	go func() { ended <- t.record(l, c.socket) }()
	err = settleAll(ctx, c.dsn(dir), all)
	l.Close()
	return t, errors.Join(err, <-ended)
}

func settleAll(ctx context.Context, dsn string, all []intents.Intent) error {
	s, err := pgstore.Open(ctx, pgstore.Config{DSN: dsn, Actor: "bench"})
	if err != nil {
		return err
	}
	defer s.Close()
	return each(ctx, callers, len(all), func(ctx context.Context, n int) error { return settle(ctx, s, all[n].ID) })
}

// copies makes copies of a database, one at a time and always under the same name.
type copies struct {
	url    *url.URL // of the database that is copied
	of     string   // its name
	name   string   // of the copy
	socket string   // of the server
	home   *sql.DB
}

func openCopies(dsn string) (*copies, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	of := filepath.Base(u.Path)
	c := &copies{url: u, of: of, name: of + "_copy", socket: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")}
	if u.Host != "" {
		return nil, fmt.Errorf("the server is at %s: what is recorded cannot log in again there; give a shorter TMPDIR, for a unix socket", u.Host)
	}
	home := *u
	home.Path = "/postgres"
	c.home, err = sql.Open("postgres", home.String())
	return c, err
}

// dsn is the copy, on the server or on one that listens in a directory.
func (c *copies) dsn(dir string) string {
	u := *c.url
	q := u.Query()
	q.Set("host", dir)
	u.Path, u.RawQuery = "/"+c.name, q.Encode()
	return u.String()
}

// fresh makes the copy, and has what that wrote on disk.
func (c *copies) fresh(ctx context.Context) error {
	of, name := pq.QuoteIdentifier(c.of), pq.QuoteIdentifier(c.name)
	for _, query := range []string{"drop database if exists " + name + " with (force)", "create database " + name + " template " + of, "checkpoint"} {
		if _, err := c.home.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// allSettled looks at what the recording has done to the copy.
func (c *copies) allSettled(ctx context.Context, want int) error {
	db, err := sql.Open("postgres", c.dsn(filepath.Dir(c.socket)))
	if err != nil {
		return err
	}
	defer db.Close()
	var got int
	if err := db.QueryRowContext(ctx, `select count(*) from intents where state = 5`).Scan(&got); err != nil || got == want {
		return err
	}
	return fmt.Errorf("%d of %d are settled", got, want)
}

func (c *copies) close(ctx context.Context) error {
	_, err := c.home.ExecContext(ctx, "drop database if exists "+pq.QuoteIdentifier(c.name)+" with (force)")
	return errors.Join(err, c.home.Close())
}
