package pgstore

import (
	"bytes"
	"strings"
)

// field is one of the columns of rows that go out in a statement.
type field struct {
	name string
	typ  string // as SQL names it
	oid  uint32
	once bool // on the plain path it is the same in every row of a batch
}

// source is how rows go out: as an array for each field, side by side. Where each field that may go out once is the same in
// all rows it does, as a value of its own: every element of an array costs the server as much again as writing it. There are
// these two forms alone, so that a committer meets few statements.
type source struct {
	fields      []field
	rows, plain string // as an item of FROM, named u
}

func newSource(fields ...field) *source {
	var names, arrays, many, manyArrays, once []string
	for _, f := range fields {
		names, arrays = append(names, f.name), append(arrays, "?::"+f.typ+"[]")
		if f.once {
			once = append(once, "?::"+f.typ+" as "+f.name)
		} else {
			many, manyArrays = append(many, f.name), append(manyArrays, "?::"+f.typ+"[]")
		}
	}
	return &source{
		fields: fields,
		rows:   unnest(arrays, names),
		plain:  "(select u.*, " + strings.Join(once, ", ") + " from " + unnest(manyArrays, many) + ") u",
	}
}

func unnest(arrays, names []string) string {
	return "unnest(" + strings.Join(arrays, ", ") + ") u(" + strings.Join(names, ", ") + ")"
}

// columns are empty ones for the fields, in their order.
func (s *source) columns(paper *sheet, rows int) columnSet {
	set := make(columnSet, len(s.fields))
	for i, f := range s.fields {
		set[i] = paper.column(f.oid, rows)
	}
	return set
}

// from names the rows in a statement, and gives its arguments.
func (s *source) from(c columnSet) (string, []any) {
	if !s.alike(c) {
		return s.rows, c.args()
	}
	once, many := make([]any, 0, len(c)), make([]any, 0, len(c))
	for i, f := range s.fields {
		if f.once {
			once = append(once, c[i].first())
		} else {
			many = append(many, c[i].value())
		}
	}
	return s.plain, append(once, many...)
}

func (s *source) alike(c columnSet) bool {
	for i, f := range s.fields {
		if f.once && !c[i].alike() {
			return false
		}
	}
	return true
}

// size is how many bytes the first element takes, with its length before it.
func (c *column) size() int {
	if n := int(int32(number(string(c.b[arrayHeader : arrayHeader+4])))); n > 0 {
		return 4 + n
	}
	return 4
}

// alike says whether all elements are the same; there is at least one. They are if each byte is the one an element before.
func (c *column) alike() bool {
	all, size := c.b[arrayHeader:], c.size()
	return bytes.Equal(all[size:], all[:len(all)-size])
}

// first is the first element as a statement's argument.
func (c *column) first() any {
	head := c.b[arrayHeader:]
	if int32(number(string(head[:4]))) == -1 {
		return nil
	}
	return head[4:c.size()]
}
