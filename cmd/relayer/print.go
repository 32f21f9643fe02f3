package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printLine prints JSON on one line.
func printLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table prints rows in columns. Rows are buffered until it is flushed.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, head ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	if len(head) > 0 {
		t.row(head...)
	}
	return t
}

func (t table) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }

func (t table) flush() error { return t.w.Flush() }

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// line is an intent in a line: id, state, version and what is known beside.
func line(in intents.Intent) string {
	text := fmt.Sprintf("%s  %s  v%d", in.ID, in.State, in.Version)
	if in.Reason != "" {
		text += "  " + string(in.Reason)
	}
	if in.Ref != "" {
		text += "  " + in.Ref
	}
	return text
}
