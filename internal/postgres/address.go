package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

const socketPort = 5432 // names the socket file; nothing listens on TCP then

// address is where a server is reached: a socket directory, or a TCP port with a password.
type address struct {
	host     string
	port     int
	password string
}

// chooseAddress takes the unix socket, and TCP when the socket's path is longer than the kernel allows.
func (l layout) chooseAddress() (address, error) {
	if len(l.socketFile()) <= maxSocketPath {
		return address{host: l.sock(), port: socketPort}, nil
	}
	port, err := freePort()
	if err != nil {
		return address{}, err
	}
	return l.tcp(port)
}

func (l layout) tcp(port int) (address, error) {
	raw, err := os.ReadFile(l.password())
	if err != nil {
		return address{}, fmt.Errorf("postgres: read password: %w", err)
	}
	return address{host: "127.0.0.1", port: port, password: string(trimLine(raw))}, nil
}

func (a address) unix() bool { return strings.HasPrefix(a.host, "/") }

// settings makes the server listen at the address and nowhere else. Local connections are trusted: the socket's mode
// lets in its owner and root alone.
func (a address) settings(l layout) map[string]string {
	s := map[string]string{"port": strconv.Itoa(a.port), "unix_socket_permissions": "0700"}
	if a.unix() {
		s["listen_addresses"], s["unix_socket_directories"] = "", l.sock()
	} else {
		s["listen_addresses"], s["unix_socket_directories"] = a.host, ""
	}
	return s
}

func (a address) dsn(db string) string {
	q := url.Values{"sslmode": {"disable"}} // written out: lib/pq's default may change
	u := url.URL{Scheme: "postgres", Path: "/" + db}
	if a.unix() {
		q.Set("host", a.host)
		q.Set("user", superuser)
	} else {
		u.Host = fmt.Sprintf("%s:%d", a.host, a.port)
		u.User = url.UserPassword(superuser, a.password)
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // libpq does not read + as a space
	return u.String()
}

// DSN is the URL of a database of this server, for lib/pq and for psql.
func (s *Server) DSN(db string) string { return s.addr.dsn(db) }

// Psql is a command line that opens psql on a database of this server. Over TCP it shows the password.
func (s *Server) Psql(db string) string {
	if !s.addr.unix() || strings.ContainsAny(s.addr.host, ` '\`) {
		return fmt.Sprintf("psql '%s'", s.addr.dsn(db))
	}
	return fmt.Sprintf("psql 'host=%s user=%s dbname=%s'", s.addr.host, superuser, db)
}

// CreateDatabase makes a database. One that exists already is no error.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	db, err := sql.Open("postgres", s.DSN(superuser))
	if err != nil {
		return fmt.Errorf("postgres: create database: %w", err)
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "create database "+pq.QuoteIdentifier(name))
	if err != nil && pq.As(err, pqerror.DuplicateDatabase) == nil {
		return fmt.Errorf("postgres: create database: %w", err)
	}
	return nil
}

func ping(ctx context.Context, dsn string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}

// answers tells whether a server runs in the directory. Line 4 of postmaster.pid is its port.
func (l layout) answers(ctx context.Context) bool {
	if ping(ctx, address{host: l.sock(), port: socketPort}.dsn(superuser)) == nil {
		return true
	}
	raw, _ := os.ReadFile(filepath.Join(l.data(), "postmaster.pid"))
	lines := bytes.Split(raw, []byte("\n"))
	if len(lines) < 4 {
		return false
	}
	port, err := strconv.Atoi(string(lines[3]))
	if err != nil {
		return false
	}
	addr, err := l.tcp(port)
	return err == nil && ping(ctx, addr.dsn(superuser)) == nil
}
