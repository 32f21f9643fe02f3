package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program of the image is built without the dev stack: it links neither nsqd nor a chain, and says so to who asks for them.
func TestLeanProgram(t *testing.T) {
	t.Parallel()
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lean", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^.*(/internal/devstack|nsqio/nsq/|ethclient/simulated|go-ethereum/node|go-ethereum/eth/).*$`).FindAllString(string(deps), -1); found != nil {
		t.Errorf("it links %v", found)
	}
	bin := filepath.Join(t.TempDir(), "relayer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "lean", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"dev", "--intents", "5", "--exit"}, {"bench"}} {
		cmd := exec.CommandContext(t.Context(), bin, args...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "relayer "+args[0]+" is not in this program, which was built with -tags lean") {
			t.Errorf("%v: exit %d, %s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), bin, "run", "--help").CombinedOutput(); err != nil || !strings.Contains(string(out), "drain-timeout") {
		t.Errorf("run --help: %v\n%s", err, out)
	}
}
