package postgres

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
	}
	goleak.VerifyTestMain(m)
}

func config(t testing.TB) Config {
	b, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	return Config{Binaries: b, NoSync: true}
}

// openDirectory is a new directory which other users can pass through, as those of t.TempDir are not.
func openDirectory(t testing.TB) string {
	dir, err := os.MkdirTemp("", "pgdir-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func scan[T any](t testing.TB, dsn, query string) (v T) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// eventually fails the test unless ok turns true.
func eventually(t testing.TB, what string, ok func() bool) {
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

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	if err := s.CreateDatabase(t.Context(), "relayer"); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateDatabase(t.Context(), "relayer"); err != nil {
		t.Errorf("a database that exists: %v", err)
	}
	if got := scan[string](t, s.DSN("relayer"), "select current_database()"); got != "relayer" {
		t.Errorf("DSN leads to %s", got)
	}
	if want := "psql 'host=" + s.Dir() + "/sock user=postgres dbname=relayer'"; s.Psql("relayer") != want {
		t.Errorf("psql line is %s, want %s", s.Psql("relayer"), want)
	}
	if !strings.Contains(s.DSN("x"), "sslmode=disable") {
		t.Errorf("DSN leaves sslmode to lib/pq: %s", s.DSN("x"))
	}
	if got := scan[string](t, s.DSN("relayer"), "show listen_addresses"); got != "" {
		t.Errorf("listens on %q, want a socket only", got)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) || alive(s.PID()) {
		t.Errorf("after Stop: directory %v, process alive %v", err, alive(s.PID()))
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	safe := config(t)
	safe.NoSync = false
	loose := config(t)
	loose.MaxConnections, loose.Settings = 17, map[string]string{"work_mem": "3MB"}
	for _, c := range []struct {
		cfg              Config
		fsync, max, work string
	}{{safe, "on", "100", "4MB"}, {loose, "off", "17", "3MB"}} {
		dsn := start(t, c.cfg).DSN("postgres")
		for name, want := range map[string]string{"fsync": c.fsync, "max_connections": c.max, "work_mem": c.work} {
			if got := scan[string](t, dsn, "show "+name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
}

func TestHaltAndLaunchKeepData(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	if err := s.CreateDatabase(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	if err := s.Halt(); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := ping(t.Context(), s.DSN("kept")); err == nil {
		t.Error("a halted server answers")
	}
	if err := s.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := scan[string](t, s.DSN("kept"), "select current_database()"); got != "kept" {
		t.Errorf("DSN leads to %s", got)
	}
}

// Ctrl-C in a terminal goes to a process group. The server must outlive it until our drain is over.
func TestOwnProcessGroupAndDeathSeen(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	if pgid, err := syscall.Getpgid(s.PID()); err != nil || pgid != s.PID() {
		t.Errorf("server %d is in process group %d, %v", s.PID(), pgid, err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Error("Done stays open after the server was killed")
	}
}

func TestDirectoryIsUsedAgain(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Dir = filepath.Join(openDirectory(t), "dev")
	first := start(t, cfg)
	if err := first.CreateDatabase(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, cfg)
	if got := scan[string](t, second.DSN("kept"), "select current_database()"); got != "kept" {
		t.Errorf("DSN leads to %s", got)
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Dir = openDirectory(t)
	s := start(t, cfg)
	_, err := Start(t.Context(), cfg)
	if e, ok := errors.AsType[*InUseError](err); !ok || e.PID != os.Getpid() || e.Dir != cfg.Dir {
		t.Errorf("second start: %v", err)
	}
	if err := ping(t.Context(), s.DSN("postgres")); err != nil {
		t.Errorf("the first server after the second start: %v", err)
	}
}

func TestDirectoryOfAnotherVersion(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Dir = openDirectory(t)
	if err := start(t, cfg).Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.Dir, "data/PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), cfg)
	if e, ok := errors.AsType[*VersionError](err); !ok || e.Have != "9" || e.Found != cfg.Binaries.Major() {
		t.Errorf("start on data of version 9: %v", err)
	}
}

func TestHalfMadeClusterIsMadeAgain(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Dir = openDirectory(t)
	if err := start(t, cfg).Stop(); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(cfg.Dir, "password")
	err := errors.Join(os.Rename(password, password+".new"), os.Remove(filepath.Join(cfg.Dir, "data/global/pg_control")))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	if err := ping(t.Context(), s.DSN("postgres")); err != nil {
		t.Error(err)
	}
}

func TestForeignDataIsNotTouched(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Dir = openDirectory(t)
	treasure := filepath.Join(cfg.Dir, "data/treasure")
	if err := errors.Join(os.Mkdir(filepath.Dir(treasure), 0o755), os.WriteFile(treasure, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if s, err := Start(t.Context(), cfg); err == nil {
		_ = s.Stop()
		t.Error("started in a directory with other data")
	}
	if _, err := os.Stat(treasure); err != nil {
		t.Error(err)
	}
}

func TestLongPathGoesOverTCP(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Dir = filepath.Join(openDirectory(t), strings.Repeat("long", 30))
	s := start(t, cfg)
	if !strings.Contains(s.DSN("postgres"), "@127.0.0.1:") {
		t.Errorf("DSN is %s", s.DSN("postgres"))
	}
	if got := scan[string](t, s.DSN("postgres"), "show listen_addresses"); got != "127.0.0.1" {
		t.Errorf("listens on %q", got)
	}
	thief := s.addr
	thief.password = "guessed"
	if err := ping(t.Context(), thief.dsn("postgres")); err == nil {
		t.Error("a wrong password is let in")
	}
}

func TestStartErrorCarriesTheLog(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Settings = map[string]string{"shared_preload_libraries": "no_such_library"}
	_, err := Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), `could not access file "no_such_library"`) {
		t.Errorf("error is %v", err)
	}
}

func TestStartCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, config(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestStaleDirectoriesAreRemoved(t *testing.T) {
	t.Parallel()
	base := openDirectory(t)
	old := time.Now().Add(-time.Hour)
	for name, age := range map[string]time.Time{"dead": old, "alive": old, "young": time.Now()} {
		dir := filepath.Join(base, tempPrefix+name)
		if err := errors.Join(os.Mkdir(dir, 0o711), os.Mkdir(filepath.Join(dir, "data"), 0o700)); err != nil {
			t.Fatal(err)
		}
		if name == "alive" {
			lock, err := lockFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(base)
	left, err := filepath.Glob(filepath.Join(base, "*"))
	if err != nil || len(left) != 2 || !strings.HasSuffix(left[0], "alive") || !strings.HasSuffix(left[1], "young") {
		t.Errorf("left are %q, %v; want alive and young", left, err)
	}
}
