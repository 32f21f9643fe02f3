package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What may come next is what the program has: commands, those of a command, flags, and the values of flags that have some.
func TestComplete(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"mig": "migrate", "review re": "retry", "review ls --lim": "--limit", "completion z": "zsh", "list --state set": "settled settling",
		"list -o j": "json jsonl", "ls --log-l": "--log-level", "bench-w": "", "evm signer f": "freeze",
	} {
		p := startProgram(t, append([]string{"complete", "--"}, strings.Split(words, " ")...)...)
		if code, got := p.ends(), strings.Join(strings.Fields(p.stdout.String()), " "); code != exitOK || got != want {
			t.Errorf("%q: exit %d, %q, want %q", words, code, got, want)
		}
	}
}

// A real bash completes a subcommand with the script.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash here")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "relayer")); err != nil {
		t.Fatal(err)
	}
	const script = `source <(relayer completion bash)
COMP_WORDS=(relayer review s); COMP_CWORD=2; _relayer; echo "${COMPREPLY[@]}"
COMP_WORDS=(relayer); COMP_CWORD=1; COMP_WORDS[1]=""; _relayer; printf '%s\n' "${COMPREPLY[@]}"
complete -p relayer`
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || lines[0] != "settle show" || !slices.Contains(lines, "healthcheck") || lines[len(lines)-1] != "complete -o default -F _relayer relayer" {
		t.Errorf("%v\n%s", err, out)
	}
}
