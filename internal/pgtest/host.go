package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// shared is the process's one host. A test helper has no other place to keep it: the tests of a package share
// nothing but the process.
var shared = sync.OnceValues(newHost)

const prefix = "relayer_test_"

// host is a server and the templates this process has made on it.
type host struct {
	admin string // DSN of a database to give orders from
	token string // tells this process's databases from those of others on the same server
	last  atomic.Int64
	held  io.Closer // what tells others that we live; unreferenced, the garbage collector would close it

	// server is kept for the same reason: its lock says that its directory is in use.
	server *postgres.Server

	mu        sync.Mutex
	templates map[unsafe.Pointer]*template
}

type template struct {
	migrate migration // kept, so that no later closure gets its address
	once    sync.Once
	name    string
	err     error
}

type migration func(ctx context.Context, dsn string) error

// key is the identity of a function value: of a function its code, of a closure the closure, which Go compares for
// nobody and reflect does not show.
func (m migration) key() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&m)) }

func newHost() (*host, error) {
	var n [4]byte
	_, _ = rand.Read(n[:]) // never fails
	h := &host{token: fmt.Sprintf("%x", n), templates: map[unsafe.Pointer]*template{}}
	if h.admin = os.Getenv(Env); h.admin != "" {
		return h, h.join(context.Background())
	}
	s, err := start(postgres.Config{NoSync: true, MaxConnections: 300})
	if err != nil {
		return nil, err
	}
	h.server, h.admin = s, s.DSN("postgres")
	return h, h.removeAtExit(s)
}

func (h *host) name() string { return prefix + h.token + "_" + strconv.FormatInt(h.last.Add(1), 10) }

// template is the name of the database to copy, migrated by the first caller.
func (h *host) template(ctx context.Context, migrate migration) (string, error) {
	if migrate == nil {
		return "template0", nil
	}
	t := h.entry(migrate)
	t.once.Do(func() {
		t.name = h.name()
		t.err = cmp.Or(h.create(ctx, t.name, "template0"), migrate(ctx, h.dsn(t.name)))
	})
	if t.err != nil {
		return "", fmt.Errorf("make template: %w", t.err)
	}
	return t.name, nil
}

func (h *host) entry(migrate migration) *template {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := migrate.key()
	if h.templates[key] == nil {
		h.templates[key] = &template{migrate: migrate}
	}
	return h.templates[key]
}

// create copies a template through the WAL: for a small one that is faster than copying files, which needs two
// checkpoints. Before 15 there was only the latter.
func (h *host) create(ctx context.Context, name, template string) error {
	err := h.do(ctx, func(db *sql.DB) error {
		var version int
		if err := db.QueryRowContext(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
			return err
		}
		order := "create database " + pq.QuoteIdentifier(name) + " template " + pq.QuoteIdentifier(template)
		if version >= 150000 {
			order += " strategy wal_log"
		}
		_, err := db.ExecContext(ctx, order)
		return err
	})
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return nil
}

func (h *host) drop(ctx context.Context, name string) error {
	err := h.do(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "drop database if exists "+pq.QuoteIdentifier(name)+" with (force)")
		return err
	})
	if err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	return nil
}

// do gives orders on a connection that lives no longer than they: a kept pool would look like a leak to goleak.
func (h *host) do(ctx context.Context, orders func(*sql.DB) error) error {
	db, err := sql.Open("postgres", h.admin)
	if err != nil {
		return err
	}
	defer db.Close()
	return orders(db)
}

// dsn is the admin DSN with another database. Of a name given twice in the key=value form the last counts.
func (h *host) dsn(db string) string {
	if !strings.Contains(h.admin, "://") {
		return h.admin + " dbname=" + db
	}
	u, err := url.Parse(h.admin)
	if err != nil {
		return h.admin // refused by the driver already
	}
	u.Path = "/" + db
	return u.String()
}
