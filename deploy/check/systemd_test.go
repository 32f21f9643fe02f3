package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The unit is one that systemd takes, where its tool is at hand, and one that the program can live with.
func TestUnit(t *testing.T) {
	unit := read(t, "deploy/systemd/relayer.service")
	value := func(key string) string {
		found := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(unit)
		if found == nil {
			t.Fatalf("no %s", key)
		}
		return found[1]
	}
	if value("Type") != "notify" {
		t.Error("the program tells when it is ready; the unit does not listen")
	}
	command := strings.Fields(value("ExecStart"))
	takes(t, "relayer.service", command[1:])
	for _, m := range regexp.MustCompile(`(?m)^Environment=(\w+)=`).FindAllStringSubmatch(unit, -1) {
		known(t, "relayer.service", m[1])
	}
	const standard = 45 * time.Second // of drain-timeout
	if stop, err := time.ParseDuration(value("TimeoutStopSec") + "s"); err != nil || stop < standard+writing {
		t.Errorf("TimeoutStopSec: %s, %v", stop, err)
	}
	if value("RestartPreventExitStatus") != "2" || value("Restart") != "on-failure" {
		t.Error("wrong settings would be tried for ever, or an outage ends the service")
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze here: the unit was only read")
		return
	}
	file := filepath.Join(t.TempDir(), "relayer.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(unit, command[0], program)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "verify", file).CombinedOutput(); err != nil || strings.Contains(string(out), file) {
		t.Errorf("%v\n%s", err, out)
	}
}
