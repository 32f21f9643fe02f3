package relayer_test

import (
	"os"
	"strings"
	"testing"
)

// What docs/senders.md shows in Go stands in the code, line by line.
func TestSendersDoc(t *testing.T) {
	t.Parallel()
	page := readText(t, "../docs/senders.md")
	code := readText(t, "ports.go") + readText(t, "sender_bank_test.go")
	blocks := strings.Split(page, "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d pieces of Go", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			if !strings.Contains(code, line) {
				t.Errorf("not in the code: %s", line)
			}
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
