// Package benchdb makes a database for one bench, fills it, counts what is committed in it, and drops it.
package benchdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/lib/pq"
)

// DB is a database made for one bench, on a server that may have others.
type DB struct {
	DSN  string // of the database
	name string
	home *sql.DB // to the database the server was named by; what is done there counts nowhere
}

// Create makes a database beside the one a DSN names. Drop it.
func Create(ctx context.Context, dsn string) (*DB, error) {
	d := &DB{name: "relayer_bench_" + strings.ToLower(rand.Text()[:12])}
	var err error
	if d.DSN, err = withDatabase(dsn, d.name); err != nil {
		return nil, err
	}
	if d.home, err = open(dsn); err != nil {
		return nil, err
	}
	if _, err := d.home.ExecContext(ctx, "create database "+d.name); err != nil {
		_ = d.home.Close()
		return nil, fmt.Errorf("make a database for the bench: %w", err)
	}
	return d, nil
}

// Drop drops the database, whoever is still connected to it.
func (d *DB) Drop(ctx context.Context) error {
	defer d.home.Close()
	if _, err := d.home.ExecContext(ctx, "drop database if exists "+d.name+" with (force)"); err != nil {
		return fmt.Errorf("drop database %s: %w", d.name, err)
	}
	return nil
}

// open opens a connection that no DSN's password is shown by.
func open(dsn string) (*sql.DB, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	c, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, errDSN
	}
	return sql.OpenDB(c), nil
}

var errDSN = errors.New("database url: neither a postgres:// URL nor a key=value string")

// withDatabase gives a DSN with another database in it.
func withDatabase(dsn, name string) (string, error) {
	if !regexp.MustCompile(`^postgres(ql)?://`).MatchString(dsn) {
		return dsn + " dbname=" + name, nil // the later of two counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errDSN // not err: it may quote the password
	}
	q := u.Query()
	q.Del("dbname")
	u.Path, u.RawQuery = "/"+name, q.Encode()
	return u.String(), nil
}

// Usage is what was written so far.
type Usage struct {
	Commits int64 // in the database
	WAL     int64 // bytes, of the whole server
}

// Sub is what was written since an earlier Usage.
func (u Usage) Sub(before Usage) Usage { return Usage{u.Commits - before.Commits, u.WAL - before.WAL} }

// WAL tells how many bytes of log the server has written.
func (d *DB) WAL(ctx context.Context) (bytes int64, err error) {
	err = d.home.QueryRowContext(ctx, "select (pg_current_wal_lsn() - '0/0')::bigint").Scan(&bytes)
	return bytes, err
}

// Usage tells what was written once nobody is connected to the database any more: a session tells its commits at the
// latest when it ends.
func (d *DB) Usage(ctx context.Context) (u Usage, err error) {
	if err := d.alone(ctx); err != nil {
		return u, err
	}
	if u.WAL, err = d.WAL(ctx); err != nil {
		return u, err
	}
	err = d.home.QueryRowContext(ctx, "select xact_commit from pg_stat_database where datname = $1", d.name).Scan(&u.Commits)
	return u, err
}

const sessions = "select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend'"

// alone waits until nobody is connected.
func (d *DB) alone(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		n := 0
		if err := d.home.QueryRowContext(ctx, sessions, d.name).Scan(&n); err != nil || n == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
