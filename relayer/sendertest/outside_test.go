package sendertest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const root = "../.."

// Another module can run the suite on a sender of its own: what it needs is exported, and leads to nothing internal. The module
// is the bank of package relayer's example.
func TestFromAnotherModule(t *testing.T) {
	t.Parallel()
	dir, here := t.TempDir(), abs(t, root)
	for _, name := range []string{"example_sender_test.go", "sender_bank_test.go"} {
		code := read(t, filepath.Join(root, "relayer", name))
		if name == "example_sender_test.go" {
			code = code[:bytes.Index(code, []byte("// bridge brings"))] // what wires it stays
		}
		write(t, filepath.Join(dir, name), bytes.Replace(code, []byte("package relayer_test"), []byte("package bank_test"), 1))
	}
	mod := bytes.Replace(read(t, filepath.Join(root, "go.mod")), []byte("module github.com/nsqrelayer/relayer\n"), []byte("module bank.example/sender\n"), 1)
	mod = append(mod, "\nrequire github.com/nsqrelayer/relayer v0.0.0\nreplace github.com/nsqrelayer/relayer => "+here+"\n"...)
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	strip(t, filepath.Join(dir, "example_sender_test.go"))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-mod=mod", "-run", "TestBank", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// strip takes out the imports that only the wiring needs.
func strip(t *testing.T, file string) {
	t.Helper()
	code := read(t, file)
	for _, line := range []string{"net/http/httptest", "github.com/nsqrelayer/relayer/nsqworker", "github.com/nsqrelayer/relayer/relayer", "github.com/nsqrelayer/relayer/relayer/memstore"} {
		code = bytes.Replace(code, []byte("\t\""+line+"\"\n"), nil, 1)
	}
	write(t, file, code)
}

func abs(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
