package pgstore

import (
	"slices"
	"strconv"
	"strings"
)

// statement puts one statement together from common table expressions, each with its arguments. Only those with
// something to write are in it; a committer meets a handful of different texts and prepares each once.
type statement struct {
	parts []string
	names []string
	args  []any
}

// with adds an expression; each ? stands for the next argument.
func (b *statement) with(name, query string, args ...any) {
	var out strings.Builder
	out.WriteString(name + " as (")
	for n := len(b.args) + 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		out.WriteString(before)
		if !found {
			break
		}
		out.WriteString("$" + strconv.Itoa(n))
		query = after
	}
	out.WriteString(")")
	b.parts, b.names, b.args = append(b.parts, out.String()), append(b.names, name), append(b.args, args...)
}

func (b *statement) empty() bool { return len(b.parts) == 0 }

// count counts what an expression returned; 0 when it is not there.
func (b *statement) count(name string) string {
	if slices.Contains(b.names, name) {
		return "(select count(*) from " + name + ")"
	}
	return "0"
}

// text is the whole statement.
func (b *statement) text(last string) string {
	return "with " + strings.Join(b.parts, ",\n") + "\n" + last
}
