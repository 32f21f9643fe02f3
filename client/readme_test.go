package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// What README shows of this package is what its examples run, but for line breaks.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "### From Go")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks, run := strings.Split(section, "```go")[1:], bodies(t, "example_test.go")
	if len(blocks) != 3 || len(run) != 3 {
		t.Errorf("README shows %d pieces of Go, %d are run; want the three ways", len(blocks), len(run))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !run[tidy(block)] {
			t.Errorf("no example runs this:\n%s", block)
		}
	}
}

// bodies are those of the functions within a file's examples.
func bodies(t *testing.T, file string) map[string]bool {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncLit); ok {
			found[tidy(string(src[set.Position(fn.Body.Lbrace).Offset+1:set.Position(fn.Body.Rbrace).Offset]))] = true
		}
		return true
	})
	return found
}

// tidy makes one line of code.
func tidy(code string) string { return strings.Join(strings.Fields(code), " ") }
