package pgstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/lib/pq"
)

// rawConn is a connection that no pool has yet.
type rawConn struct{ driver.Conn }

// greet notes a server that was not met before. One that does not say who it is, or has no such table yet, is taken as it
// is.
func (c rawConn) greet(ctx context.Context) error {
	found, err := c.query(ctx, knownServer)
	if refused := pq.As(err); refused != nil && !fatalTo(refused) {
		return nil
	}
	if err != nil || len(found) == 0 || found[0][1] == true {
		return err
	}
	id, _ := found[0][0].(string)
	_, err = c.query(ctx, meetServer, id)
	return err
}

// errNoQueries: the driver is not lib/pq.
var errNoQueries = errors.New("the driver's connection takes no queries")

// query runs a statement with arguments in text form and gives its rows. Text comes as string.
func (c rawConn) query(ctx context.Context, query string, args ...string) ([][]driver.Value, error) {
	q, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, errNoQueries
	}
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	rows, err := q.QueryContext(ctx, query, named)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]driver.Value
	for {
		row := make([]driver.Value, len(rows.Columns()))
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, texted(row))
	}
}

// texted makes text of what came as bytes, which are the driver's own.
func texted(row []driver.Value) []driver.Value {
	for i, v := range row {
		if b, ok := v.([]byte); ok {
			row[i] = string(b)
		}
	}
	return row
}

// missing says which of the marks is not there, if any. What was pruned has left a tombstone.
func (c rawConn) missing(ctx context.Context, marks []mark) (string, error) {
	found, err := c.query(ctx, forgottenMarks, columnsOf(marks)...)
	if err != nil {
		return "", err
	}
	for _, row := range found {
		what, _ := row[0].(string)
		key, _ := row[1].(string)
		pruned, err := c.query(ctx, prunedIntent, key)
		if err != nil || len(pruned) == 0 {
			return what, err
		}
	}
	return "", nil
}
