package pgtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// Bouncer puts a pgbouncer in front of a server for as long as the test runs, and returns the DSN of the databases behind
// it. Settings are its settings as name, value, name, value.
func Bouncer(tb testing.TB, srv *postgres.Server, settings ...string) func(db string) string {
	tb.Helper()
	binary, err := findBouncer()
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(srv.Dir(), "bouncer-")
	if err != nil {
		tb.Fatalf("pgtest: pgbouncer: %v", err)
	}
	if err := writeBouncer(dir, srv, settings); err != nil {
		tb.Fatalf("pgtest: pgbouncer: %v", err)
	}
	log := filepath.Join(dir, "log")
	args := []string{"-q", filepath.Join(dir, "pgbouncer.ini")}
	if srv.User() != "" {
		args = append(args, "-u", srv.User()) // it refuses root, as Postgres does
	}
	tb.Cleanup(leash(tb, binary, args...))
	dsn := func(db string) string {
		q := url.Values{"sslmode": {"disable"}, "host": {dir}, "user": {"postgres"}}
		return "postgres:///" + db + "?" + q.Encode()
	}
	if err := awaitBouncer(dsn("postgres")); err != nil {
		said, _ := os.ReadFile(log)
		tb.Fatalf("pgtest: pgbouncer does not answer: %v\n%s", err, said)
	}
	return dsn
}

// findBouncer looks where packages put it: Debian's is in no ordinary user's PATH.
func findBouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer", "/usr/local/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no pgbouncer found, and a test needs it: run make faults, or apt-get install pgbouncer, or brew install pgbouncer")
}

// writeBouncer writes the settings where the account that runs it can read them.
func writeBouncer(dir string, srv *postgres.Server, settings []string) error {
	server, err := pq.NewConfig(srv.DSN("postgres"))
	if err != nil {
		return err
	}
	password := ""
	if server.Password != "" {
		password = " password=" + server.Password
	}
	var text strings.Builder
	fmt.Fprintf(&text, "[databases]\n* = host=%s port=%d user=%s%s\n[pgbouncer]\nlisten_addr =\nlisten_port = 5432\n"+
		"unix_socket_dir = %s\nauth_type = any\nlogfile = %s/log\nmax_client_conn = 500\n",
		server.Host, server.Port, server.User, password, dir, dir)
	for i := 0; i < len(settings); i += 2 {
		fmt.Fprintf(&text, "%s = %s\n", settings[i], settings[i+1])
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil || srv.User() == "" {
		return err
	}
	return give(dir, srv.User())
}

func give(dir, name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, -1)
}

// leash runs a program that ends with this process, whatever ends it: a shell waits at a pipe that only we hold. The
// function that is returned ends it.
func leash(tb testing.TB, name string, args ...string) (stop func()) {
	tb.Helper()
	const script = `"$@" & read -r _; kill $!; wait`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh", name}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatalf("pgtest: %s: %v", name, err)
	}
	return func() {
		pipe.Close()
		_ = cmd.Wait() // says how it was ended
	}
}

func awaitBouncer(dsn string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for {
		if err = db.PingContext(context.Background()); err == nil {
			return nil
		}
		select {
		case <-late:
			return err
		case <-tick.C:
		}
	}
}
