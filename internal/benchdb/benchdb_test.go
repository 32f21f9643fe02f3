package benchdb_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/benchdb"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// TestDatabase: what is filled in adds up, fresh keys follow it, commits and log are counted, and nothing stays behind.
// Both forms of a DSN name the server.
func TestDatabase(t *testing.T) {
	t.Parallel()
	for form, dsn := range forms(t) {
		d, err := benchdb.Create(t.Context(), dsn)
		must(t, err)
		if _, err := pgstore.Migrate(t.Context(), d.DSN, nil); err != nil {
			t.Fatal(err)
		}
		filled := 0
		must(t, d.Fill(t.Context(), 1001, func(more int) { filled += more }))
		must(t, d.Analyze(t.Context()))
		before, err := d.Usage(t.Context())
		must(t, err)
		create(t, d.DSN)
		after, err := d.Usage(t.Context())
		must(t, err)
		if u := after.Sub(before); filled != 1001 || u.Commits < 10 || u.WAL < 10*100 {
			t.Errorf("%s: %d rows are filled in, and 10 commits come to %+v", form, filled, u)
		}
		must(t, d.Drop(t.Context()))
		if names := databases(t, dsn); strings.Contains(names, "relayer_bench_") {
			t.Errorf("%s: left behind: %s", form, names)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// forms are two ways to say where one server is.
func forms(t *testing.T) map[string]string {
	dsn := pgtest.Server(t).DSN("postgres")
	u, err := url.Parse(dsn)
	must(t, err)
	q := u.Query()
	text := "dbname=postgres sslmode=disable user=" + u.User.Username()
	if q.Get("user") != "" {
		text += " user=" + q.Get("user")
	}
	host, port := q.Get("host"), q.Get("port")
	if host == "" {
		host, port = u.Hostname(), u.Port()
	}
	text += " host=" + host
	if port != "" {
		text += " port=" + port
	}
	return map[string]string{"a URL": dsn, "key=value": strings.ReplaceAll(text, " user= ", " ")}
}

// create stores ten intents, one commit each, and wants their keys above what was filled in, and an audit without a word.
func create(t *testing.T, dsn string) {
	t.Helper()
	s, err := pgstore.Open(t.Context(), pgstore.Config{DSN: dsn, Actor: "test"})
	must(t, err)
	defer s.Close()
	for n := range 10 {
		in, err := s.Create(t.Context(), intents.Intent{ID: string(rune('a' + n)), Route: "bench", Account: "a", Destination: "d", Asset: "ETH", Amount: intents.NewAmount(1)}, true, "test")
		must(t, err)
		if in.Key <= 1001 {
			t.Errorf("key %d is not above those filled in", in.Key)
		}
	}
	wrong, err := s.Audit(t.Context())
	must(t, err)
	for _, line := range wrong {
		t.Errorf("audit: %s", line)
	}
}

func databases(t *testing.T, dsn string) (names string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), "select string_agg(datname, ' ') from pg_database").Scan(&names))
	return names
}
