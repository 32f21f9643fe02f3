package pgstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// mark is a row that was told to be committed: an event, or, with a number, an attempt.
type mark struct {
	intent  int64
	version int
	at      time.Time

	slot int64
	no   int
	name string
}

// memory is what a process last committed, by connection. Every server it connects to is asked whether that is there: a
// standby that was promoted, or a restored backup, may have forgotten it.
type memory struct {
	owner string
	log   *slog.Logger

	mu   sync.Mutex
	last map[any][]mark
}

// keep replaces what a committer committed before.
func (m *memory) keep(committer any, marks []mark) {
	if len(marks) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		m.last = map[any][]mark{}
	}
	m.last[committer] = marks
}

// all gives what is remembered.
func (m *memory) all() []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []mark
	for _, marks := range m.last {
		all = append(all, marks...)
	}
	return all
}

// forget drops marks that are known to be missing: once is enough to be told.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = nil
}

// remembering connects to servers that are then asked what they remember.
type remembering struct {
	driver.Connector
	memory *memory
}

// Connect connects and notes, in the database itself, a server that was not met before and a loss. Errors: those of the
// connection.
func (r *remembering) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.memory.meet(ctx, conn); err != nil {
		_ = conn.Close() // what counts is why it cannot be used
		return nil, err
	}
	return conn, nil
}

const (
	knownServer = `select s.id, k.id is not null from
 (select (select system_identifier from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as id) s
 left join servers k on k.id = s.id`
	// The first of all has nothing to be waited for.
	meetServer = `insert into servers (id, seen_at)
 select $1, case when exists (select from servers) then clock_timestamp() else '-infinity' end on conflict do nothing`
	// Each row is looked up by its key.
	forgottenMarks = `select m.what, m.intent::text from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) m(what, intent, row, no, value)
 where m.no = 0 and not exists (select from intent_events e where e.intent = m.intent and e.version = m.row and e.at = m.value::timestamptz)
 union all
 select m.what, m.intent::text from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) m(what, intent, row, no, value)
 where m.no > 0 and not exists (select from attempts a where a.slot = m.row and a.no = m.no and a.name = m.value)`
	prunedIntent = `select 1 from tombstones where key = $1::bigint`
	noteLoss     = `insert into recoveries (noticed_by, missing) values ($1, $2) on conflict do nothing`
)

// meet asks a new connection's server who it is and what it remembers.
func (m *memory) meet(ctx context.Context, conn driver.Conn) error {
	c := rawConn{conn}
	if err := c.greet(ctx); err != nil {
		return err
	}
	marks := m.all()
	if len(marks) == 0 {
		return nil
	}
	missing, err := c.missing(ctx, marks)
	if err != nil || missing == "" {
		return err
	}
	m.log.ErrorContext(ctx, "the database has forgotten what it had committed; nothing is claimed until relayer recover", "missing", missing)
	if _, err := c.query(ctx, noteLoss, m.owner, missing); err != nil {
		return err
	}
	m.forget()
	return nil
}

// columnsOf gives marks as arrays in text form.
func columnsOf(marks []mark) []string {
	var what, intent, row, no, value []string
	for _, k := range marks {
		intent = append(intent, fmt.Sprint(k.intent))
		if k.no > 0 {
			what, row = append(what, fmt.Sprintf("attempt %d of intent #%d", k.no, k.intent)), append(row, fmt.Sprint(k.slot))
			no, value = append(no, fmt.Sprint(k.no)), append(value, k.name)
			continue
		}
		at := k.at.UTC().Format(time.RFC3339Nano)
		what, row = append(what, fmt.Sprintf("version %d of intent #%d, of %s", k.version, k.intent, at)), append(row, fmt.Sprint(k.version))
		no, value = append(no, "0"), append(value, at)
	}
	var args []string
	for _, column := range [][]string{what, intent, row, no, value} {
		args = append(args, array(column))
	}
	return args
}

// array is a text array as Postgres reads one.
func array(values []string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = `"` + quote.Replace(v) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
