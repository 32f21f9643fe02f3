package pgstore

import (
	"cmp"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/lib/pq"
)

// Config says how a [Store] reaches its database. Only DSN is needed.
type Config struct {
	// DSN is a URL or key=value string as libpq reads it; the PG… variables fill what it leaves out. Without sslmode it
	// is "prefer", without target_session_attrs "read-write".
	DSN string

	// Actor is who stands in the timeline for what this process does by itself. Default "relayer".
	Actor string

	// Logger hears of lost connections, repeated and split batches. Default: none.
	Logger *slog.Logger

	// MaxConns bounds the connections beside those of the four committers. Default 4.
	MaxConns int

	// BatchRows is the most operations in one commit. Default 512.
	BatchRows int

	// RowMode commits each operation alone. It is there to be compared with.
	RowMode bool

	// CommitTimeout bounds one commit, repeats included, and the finding out after a lost answer. Default 5 s.
	CommitTimeout time.Duration

	// Observe, if set, is told of every batch: its queue (reads, claims, attaches, results), its rows, how long it took.
	Observe func(queue string, rows int, took time.Duration)
}

func (c Config) withDefaults() Config {
	c.Actor = cmp.Or(c.Actor, "relayer")
	c.MaxConns = cmp.Or(max(c.MaxConns, 0), 4)
	c.BatchRows = cmp.Or(max(c.BatchRows, 0), 512)
	c.CommitTimeout = cmp.Or(max(c.CommitTimeout, 0), 5*time.Second)
	if c.RowMode {
		c.BatchRows = 1
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observe == nil {
		c.Observe = func(string, int, time.Duration) {}
	}
	return c
}

// errDSN says that a DSN cannot be read.
var errDSN = errors.New("database url: not a postgres:// URL and no key=value string, or a setting in it has no such value")

// parse reads a DSN and fills in what we rely on.
func parse(dsn string) (pq.Config, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return pq.Config{}, errDSN // not err: it may quote the password
	}
	cfg.SSLMode = cmp.Or(cfg.SSLMode, pq.SSLModePrefer)
	cfg.TargetSessionAttrs = cmp.Or(cfg.TargetSessionAttrs, pq.TargetSessionAttrsReadWrite)
	cfg.ApplicationName = cmp.Or(cfg.ApplicationName, "relayer")
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 5*time.Second)
	return cfg, nil
}

// writing is every session that writes: a lock is waited for 1 s, and a transaction whose client has gone without a word
// gives its locks back after 5 s.
func writing(cfg pq.Config) session {
	cfg = cfg.Clone()
	cfg.BinaryParameters = true // []byte goes out in binary format: see wire.go
	s := ordinary(cfg)
	s.set("lock_timeout", "1s")
	s.set("idle_in_transaction_session_timeout", "5s")
	return s
}

// committing adds what the committers need. Their statements are prepared and planned once, so that no plan depends on
// the length of an array. A plan made while a table is small must still be right when it is large: every statement of
// theirs reaches its rows by index, one by one.
//
// No statement takes longer than a commit may: the server ends it then.
func committing(cfg pq.Config, timeout time.Duration) session {
	s := writing(cfg)
	s.set("statement_timeout", strconv.FormatInt(max(timeout.Milliseconds(), 1), 10))
	s.set("plan_cache_mode", "force_generic_plan")
	s.set("enable_seqscan", "off")
	s.set("enable_hashjoin", "off")
	s.set("enable_mergejoin", "off")
	return s
}
