// Package check holds what is deployed to the formats of those who read it, and to the program.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// root is the repository.
const root = "../.."

// program is relayer as images have it, made once.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "relayer-check-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "relayer")
	build := exec.Command("go", "build", "-tags", "lean", "-o", program, "./cmd/relayer")
	build.Dir, build.Stderr = root, os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// relayer runs the program with nothing in its environment but what is given, and gives its exit code and all that it says.
func relayer(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = append([]string{"HOME=" + t.TempDir()}, env...), t.TempDir()
	out, err := cmd.CombinedOutput()
	if bad, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%v: %v", args, err)
	} else if ok {
		return bad.ExitCode(), string(out)
	}
	return 0, string(out)
}

// takes wants the program to know a command line, whatever the settings are.
func takes(t *testing.T, where string, args []string) {
	t.Helper()
	if code, out := relayer(t, nil, append(slices.Clone(args), "--help")...); code != 0 {
		t.Errorf("%s: relayer %s: exit %d, %s", where, strings.Join(args, " "), code, out)
	}
}

// TestTakesTellsAFlagThatIsNot: the check itself can fail.
func TestTakesTellsAFlagThatIsNot(t *testing.T) {
	if code, out := relayer(t, nil, "run", "--no-such-flag", "--help"); code == 0 || !strings.Contains(out, "no-such-flag") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// known wants each variable of ours to be one that the program's help names.
func known(t *testing.T, where string, names ...string) {
	t.Helper()
	_, help := relayer(t, nil, "run", "--help")
	for _, name := range names {
		if strings.HasPrefix(name, "RELAYER_") && !regexp.MustCompile(`\$`+name+`\b`).MatchString(help) {
			t.Errorf("%s sets %s, which relayer run --help does not name", where, name)
		}
	}
}

// nowhere is a database that nobody listens at.
const nowhere = "postgres://127.0.0.1:1/relayer?sslmode=disable&connect_timeout=5"

// valid wants settings that the program takes: it goes on until it finds no database, which is exit code 5, not 2.
func valid(t *testing.T, where, settings string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "relayer.toml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"RELAYER_DATABASE_URL=" + nowhere, "RELAYER_HTTP_ADDRESS=127.0.0.1:0"}
	if code, out := relayer(t, env, append([]string{"run", "--config", file}, args...)...); code != 5 || strings.Contains(out, "level=WARN msg=\"RELAYER_") {
		t.Errorf("%s: exit %d, want 5 (no database): %s", where, code, out)
	}
}

// drain is the drain-timeout of settings.
func drain(t *testing.T, settings string) time.Duration {
	t.Helper()
	found := regexp.MustCompile(`(?m)^drain-timeout = "(\S+)"$`).FindStringSubmatch(settings)
	if found == nil {
		t.Fatalf("no drain-timeout in\n%s", settings)
	}
	d, err := time.ParseDuration(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// writing is what a process needs above its drain-timeout before it may be killed: see docs/operations.md.
const writing = 10 * time.Second

// read reads a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// httpPort is where the image serves.
func httpPort(t *testing.T) string {
	t.Helper()
	file := read(t, "Dockerfile")
	port := regexp.MustCompile(`RELAYER_HTTP_ADDRESS=:(\d+)`).FindStringSubmatch(file)
	if port == nil || !strings.Contains(file, "\nEXPOSE "+port[1]+"\n") {
		t.Fatalf("the port that the image serves at is not the one it exposes: %v", port)
	}
	return port[1]
}

// The image is the program that these tests run: built in the same way, not root, in exec form, with variables that exist.
func TestDockerfile(t *testing.T) {
	file := read(t, "Dockerfile")
	final := file[strings.LastIndex(file, "\nFROM "):]
	for _, want := range []string{
		"\nRUN CGO_ENABLED=0 go build -tags lean ", " -o /relayer ./cmd/relayer\n",
	} {
		if !strings.Contains(file, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, want := range []string{" AS relayer\n", "\nUSER 65532:65532\n", "\nSTOPSIGNAL SIGTERM\n", "\nENTRYPOINT [\"/relayer\"]\n", "\nCMD [\"run\"]\n", `CMD ["/relayer", "healthcheck"]`} {
		if !strings.Contains(final, want) {
			t.Errorf("the last stage has no %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`(RELAYER_\w+)=`).FindAllStringSubmatch(final, -1) {
		known(t, "Dockerfile", m[1])
	}
	takes(t, "Dockerfile", []string{"healthcheck"})
	if tool := regexp.MustCompile(`FROM golang:(\S+) `).FindStringSubmatch(file); tool == nil || !strings.HasPrefix(read(t, "go.mod"), "module ") ||
		!strings.Contains(read(t, "go.mod"), fmt.Sprintf("\ngo %s", tool[1])) {
		t.Errorf("built with Go %v, which is not that of go.mod", tool)
	}
	httpPort(t)
}
