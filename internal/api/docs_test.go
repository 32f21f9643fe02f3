package api

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Each code has its place in docs/api.md, where type leads, with its status; none is left there that is not answered.
func TestCodesAreExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for c, k := range kinds {
		if !strings.Contains(string(text), "\n### "+string(c)+"\n\n"+strconv.Itoa(k.status)+". "+k.title+". ") {
			t.Errorf("%s, %d, is not explained", c, k.status)
		}
	}
	if n := strings.Count(string(text), "\n### "); n != len(kinds) {
		t.Errorf("%d are explained, %d answered", n, len(kinds))
	}
}
