package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// install makes a directory with programs that only say their version.
func install(t *testing.T, dir, version string, programs ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		script := "#!/bin/sh\necho '" + p + " (PostgreSQL) " + version + " (Debian)'\n"
		if err := os.WriteFile(filepath.Join(dir, p), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindPrefersTheHighestVersion(t *testing.T) {
	root := t.TempDir()
	for _, v := range []string{"9.6", "16", "14"} {
		install(t, filepath.Join(root, "pg", v, "bin"), v+".1", "initdb", "postgres")
	}
	got, err := find(nil, []string{filepath.Join(root, "none/*"), filepath.Join(root, "pg/*/bin")})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Binaries{Dir: filepath.Join(root, "pg/16/bin"), Version: "16.1"}); got != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
}

func TestFindNumbersOfHomebrew(t *testing.T) {
	root := t.TempDir()
	for _, v := range []string{"postgresql", "postgresql@9.6", "postgresql@17", "postgresql@15"} {
		install(t, filepath.Join(root, "opt5", v, "bin"), "1", "initdb", "postgres")
	}
	got := expand(filepath.Join(root, "opt5/postgresql*/bin"))
	for i, want := range []string{"postgresql@17", "postgresql@15", "postgresql@9.6", "postgresql"} {
		if base := filepath.Base(filepath.Dir(got[i])); base != want {
			t.Errorf("place %d is %s, want %s", i, base, want)
		}
	}
}

func TestFindWantsBothPrograms(t *testing.T) {
	root := t.TempDir()
	client := install(t, filepath.Join(root, "client"), "15.1", "psql", "initdb")
	server := install(t, filepath.Join(root, "server"), "15.1", "initdb", "postgres")
	got, err := find([]string{client, server}, nil)
	if err != nil || got.Dir != server {
		t.Errorf("found %+v, %v; want %s", got, err, server)
	}
}

func TestFindFollowsLinks(t *testing.T) {
	root := t.TempDir()
	real := install(t, filepath.Join(root, "real"), "15.1", "initdb", "postgres")
	link := filepath.Join(root, "bin")
	if err := os.Mkdir(link, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(real, "initdb"), filepath.Join(link, "initdb")); err != nil {
		t.Fatal(err)
	}
	got, err := find([]string{link}, nil)
	if err != nil || got.Dir != real {
		t.Errorf("found %+v, %v; want %s", got, err, real)
	}
}

func TestNotFoundSaysWhereAndWhatToDo(t *testing.T) {
	t.Setenv("PATH", "/nonexistent/a:/nonexistent/b")
	_, err := find(filepath.SplitList(os.Getenv("PATH")), []string{"/nonexistent/postgresql/*/bin"})
	if _, ok := errors.AsType[*NotFoundError](err); !ok {
		t.Fatalf("error is %T: %v", err, err)
	}
	for _, want := range []string{
		"/nonexistent/a\n", "/nonexistent/b\n", "/nonexistent/postgresql/*/bin\n",
		"apt-get install postgresql", "brew install postgresql@17", "--database-url",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

func TestExplicitPlaceIsTheOnlyOne(t *testing.T) {
	_, err := Find("/nonexistent/bin")
	e, ok := errors.AsType[*NotFoundError](err)
	if !ok || len(e.Places) != 1 || e.Places[0] != "/nonexistent/bin" {
		t.Errorf("error is %#v", err)
	}
}

func TestMajor(t *testing.T) {
	for version, want := range map[string]string{"15.18": "15", "16beta1": "16", "9.6.24": "9"} {
		if got := (Binaries{Version: version}).Major(); got != want {
			t.Errorf("major of %s is %s, want %s", version, got, want)
		}
	}
}
