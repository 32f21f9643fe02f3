package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Rows reach the server as they are, in whichever of the two forms they go out, and only rows that are alike go out as such.
func TestSource(t *testing.T) {
	t.Parallel()
	db := sourceDB(t)
	s := newSource(
		field{name: "key", typ: "bigint", oid: oidInt8},
		field{name: "version", typ: "int", oid: oidInt4, once: true},
		field{name: "ref", typ: "text", oid: oidText},
		field{name: "reason", typ: "text", oid: oidText, once: true},
		field{name: "at", typ: "timestamptz", oid: oidTimestamptz, once: true},
		field{name: "seen", typ: "boolean", oid: oidBool, once: true})
	text := rapid.SampledFrom([]string{"", "a", "b", "aa"})
	paper := &sheet{}
	rapid.Check(t, func(t *rapid.T) {
		paper.clear(0)
		c, want, forms := s.columns(paper, 1), []string(nil), map[string]bool{}
		for n := range rapid.IntRange(1, 5).Draw(t, "rows") {
			ref, reason, version := text.Draw(t, "ref"), text.Draw(t, "reason"), rapid.IntRange(1, 2).Draw(t, "version")
			at, seen := time.Unix(rapid.Int64Range(0, 1).Draw(t, "at"), 0), rapid.Bool().Draw(t, "seen")
			if at.Unix() == 0 {
				at = time.Time{}
			}
			c[0].int8(int64(n))
			c[1].int4(version)
			c[2].textOrNull(ref)
			c[3].textOrNull(reason)
			c[4].time(at)
			c[5].bool(seen)
			once := fmt.Sprint(version, "|", reason, "|", at.Unix(), "|", seen)
			forms[once] = true
			want = append(want, fmt.Sprint(n, "|", ref, "|", once))
		}
		from, args := s.from(c)
		if plain := from == s.plain; plain != (len(forms) == 1) {
			t.Errorf("sent as alike: %t, of %d kinds", plain, len(forms))
		}
		if got := sourced(t, db, from, args); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// sourceDB is a connection as committers have it.
func sourceDB(t *testing.T) *sql.DB {
	t.Helper()
	cfg, err := parse(pgtest.New(t, migrate))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := committing(cfg, time.Minute).connector(nil)
	if err != nil {
		t.Fatal(err)
	}
	return sqlOpen(t, connector)
}

func sourced(t *rapid.T, db *sql.DB, from string, args []any) (got []string) {
	b := &statement{}
	b.with("s", "select key, ref, version, reason, at, seen from "+from, args...)
	rows, err := db.QueryContext(context.Background(), b.text("select key, ref, version, reason, at, seen from s order by key"), b.args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, version int
		var ref, reason text
		var at time.Time
		var seen bool
		if err := rows.Scan(&key, &ref, &version, &reason, stamp{&at}, &seen); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(key, "|", ref, "|", version, "|", reason, "|", at.Unix(), "|", seen))
	}
	return got
}
