package pgtest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// childMode makes the test binary a process that asks for one database, prints its DSN and the server's directory,
// and ends when its standard input does.
const childMode = "PGTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) != "" {
		child()
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(WaitFunction))
}

func child() {
	h, err := shared()
	if err != nil {
		panic(err)
	}
	name := h.name()
	if err := h.create(context.Background(), name, "template0"); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(h.dsn(name) + "\n")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	os.Exit(0)
}

func schema(ctx context.Context, dsn string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "create table made (pid int); insert into made select pg_backend_pid()")
	return err
}

func open(t *testing.T, dsn string) *sql.DB {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func scan[T any](t *testing.T, db *sql.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// eventually fails the test unless ok turns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("still not: %s", what)
		}
	}
}

func TestEachTestHasItsOwnCopy(t *testing.T) {
	t.Parallel()
	a, b := open(t, New(t, schema)), open(t, New(t, schema))
	if _, err := a.ExecContext(t.Context(), "insert into made values (1)"); err != nil {
		t.Fatal(err)
	}
	if n := scan[int](t, b, "select count(*) from made"); n != 1 {
		t.Errorf("the second database has %d rows, want the template's 1", n)
	}
	// The same backend wrote both rows: one migration, copied.
	if x, y := scan[int](t, a, "select max(pid) from made"), scan[int](t, b, "select max(pid) from made"); x != y {
		t.Errorf("rows made by backends %d and %d: migrated twice", x, y)
	}
}

func TestEmptyWithoutMigrations(t *testing.T) {
	t.Parallel()
	db := open(t, New(t, nil))
	if n := scan[int](t, db, "select count(*) from pg_tables where schemaname = 'public'"); n != 0 {
		t.Errorf("%d tables in a database nobody migrated", n)
	}
}

func TestDroppedAtTheEndThoughConnected(t *testing.T) {
	t.Parallel()
	var name string
	user := t
	t.Run("user", func(t *testing.T) {
		db := open(user, New(t, nil)) // closed after the drop
		name = scan[string](t, db, "select current_database()")
	})
	other := open(t, New(t, nil))
	if scan[bool](t, other, "select exists (select from pg_database where datname = $1)", name) {
		t.Errorf("%s outlived its test", name)
	}
}

func TestFailedMigrationFailsEveryUser(t *testing.T) {
	t.Parallel()
	h, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	var calls atomic.Int32
	bad := func(context.Context, string) error { calls.Add(1); return boom }
	for range 2 {
		if _, err := h.template(t.Context(), bad); !errors.Is(err, boom) {
			t.Errorf("template from a bad migration: %v", err)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("migrated %d times", n)
	}
}

func TestDSN(t *testing.T) {
	t.Parallel()
	for admin, want := range map[string]string{
		"postgres://u:p@h:5432/postgres?sslmode=disable":   "postgres://u:p@h:5432/x?sslmode=disable",
		"postgres:///postgres?host=%2Ftmp&sslmode=disable": "postgres:///x?host=%2Ftmp&sslmode=disable",
		"host=/tmp user=u dbname=postgres":                 "host=/tmp user=u dbname=postgres dbname=x",
	} {
		if got := (&host{admin: admin}).dsn("x"); got != want {
			t.Errorf("dsn from %q: %q, want %q", admin, got, want)
		}
	}
}

func TestServerIsPrivate(t *testing.T) {
	t.Parallel()
	s := Server(t, "max_connections", "7")
	db := open(t, s.DSN("postgres"))
	if n := scan[int](t, db, "select current_setting('max_connections')::int"); n != 7 {
		t.Errorf("max_connections = %d, want the setting 7", n)
	}
	if err := s.Halt(); err != nil {
		t.Fatal(err)
	}
	other := open(t, New(t, nil))
	if scan[int](t, other, "select 1") != 1 {
		t.Error("stopping the private server touched the shared one")
	}
}

// run starts a child and returns it with the DSN it printed.
func run(t *testing.T, env ...string) (*exec.Cmd, string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childMode+"=1")...)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	dsn, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(dsn)
}

func TestNothingStaysOfAKilledProcess(t *testing.T) {
	t.Parallel()
	cmd, dsn := run(t, Env+"=")
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir := scan[string](t, db, "show data_directory")
	db.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "directory of the dead process removed", func() bool {
		_, err := os.Stat(strings.TrimSuffix(dir, "/data"))
		return errors.Is(err, os.ErrNotExist)
	})
}

func TestServerFromOutside(t *testing.T) {
	t.Parallel()
	s := Server(t)
	env := Env + "=" + s.DSN("postgres")
	killed, dsn1 := run(t, env)
	_ = killed.Process.Kill()
	_ = killed.Wait()
	db := open(t, s.DSN("postgres"))
	count := func() int {
		return scan[int](t, db, "select count(*) from pg_database where datname like 'relayer_test_%'")
	}
	if n := count(); n != 1 {
		t.Fatalf("%d test databases after a kill, want the 1 it left (%s)", n, dsn1)
	}
	eventually(t, "lock of the dead process free", func() bool {
		return scan[int](t, db, "select count(*) from pg_locks where locktype = 'advisory'") == 0
	})
	run(t, env)
	run(t, env)
	if n := count(); n != 2 {
		t.Errorf("%d test databases, want those of the 2 living processes", n)
	}
}

// The garbage collector must not take the lock of the shared server: whoever starts another one would remove it as stale.
func TestSharedServerStaysLocked(t *testing.T) {
	if os.Getenv(Env) != "" {
		t.Skip("the server is somebody else's")
	}
	u, err := url.Parse(New(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	b, err := postgres.Find("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Start(t.Context(), postgres.Config{Binaries: b, Dir: filepath.Dir(u.Query().Get("host"))})
	if _, ok := errors.AsType[*postgres.InUseError](err); !ok {
		t.Errorf("a second server starts in the same directory: %v", err)
	}
	if err == nil {
		_ = s.Stop()
	}
}
