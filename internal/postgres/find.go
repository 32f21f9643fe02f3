package postgres

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Binaries is an installed Postgres server.
type Binaries struct {
	Dir     string // has initdb and postgres
	Version string // as the server says it, for example "15.18"
}

// Major is the part of the version that a cluster is bound to: "15" of "15.18", "16" of "16beta1".
func (b Binaries) Major() string {
	return regexp.MustCompile(`^\d+`).FindString(b.Version)
}

// Initdb is the path of initdb.
func (b Binaries) Initdb() string { return filepath.Join(b.Dir, "initdb") }

// Postgres is the path of the server.
func (b Binaries) Postgres() string { return filepath.Join(b.Dir, "postgres") }

// NotFoundError says that there is no Postgres server on this machine, or not where the caller said it is.
type NotFoundError struct {
	Places []string // all that were looked at, in order
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("no Postgres server found: initdb and postgres are needed, the client psql is not enough\nlooked in:\n")
	for _, p := range e.Places {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	b.WriteString("ways out:\n  apt-get install postgresql\n  brew install postgresql@17\n" +
		"  --database-url postgres://… to use a server that already runs")
	return b.String()
}

// Find looks for initdb and postgres: in explicit alone if it is given; else in PATH and in the places where Debian,
// Red Hat, Homebrew and Postgres.app put them, the highest version of each first.
// It returns *NotFoundError when there is none.
func Find(explicit string) (Binaries, error) {
	if explicit != "" {
		return find([]string{explicit}, nil)
	}
	return find(filepath.SplitList(os.Getenv("PATH")), []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	})
}

func find(dirs, patterns []string) (Binaries, error) {
	notFound := &NotFoundError{Places: slices.Concat(dirs, patterns)}
	for _, p := range patterns {
		dirs = append(slices.Clip(dirs), expand(p)...)
	}
	for _, d := range dirs {
		if b, ok := inspect(d); ok {
			return b, nil
		}
	}
	return Binaries{}, notFound
}

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// expand lists the directories a pattern matches, highest version first: 16 before 9.6, which text order gets wrong.
func expand(pattern string) []string {
	dirs, _ := filepath.Glob(pattern) // the only error is a bad pattern
	prefix, _, _ := strings.Cut(pattern, "*")
	version := func(dir string) float64 {
		v, _ := strconv.ParseFloat(number.FindString(strings.TrimPrefix(dir, prefix)), 64)
		return v
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	return dirs
}

// inspect tells whether dir has a server that runs, and its version.
// Links are followed, so that what is shown and run is the installation and not a link to it.
func inspect(dir string) (Binaries, bool) {
	initdb, err := exec.LookPath(filepath.Join(dir, "initdb"))
	if err != nil {
		return Binaries{}, false
	}
	if real, err := filepath.EvalSymlinks(initdb); err == nil {
		initdb = real
	}
	b := Binaries{Dir: filepath.Dir(initdb)}
	out, err := exec.Command(b.Postgres(), "--version").Output()
	if err != nil {
		return Binaries{}, false
	}
	if f := strings.Fields(string(out)); len(f) >= 3 { // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
		b.Version = f[2]
	}
	return b, b.Version != ""
}
