// Package arrows holds the structure to the picture in docs/architecture.md.
package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/nsqrelayer/relayer/"

// allowed is which of our own packages a package may import outside its tests; a pattern that ends in / covers all
// below. What is not listed may import none of ours. cmd wires everything.
var allowed = map[string][]string{
	"cmd/":               {"nsqworker", "relayer/", "intents/", "internal/"},
	"intents":            {},
	"intents/pgstore":    {"intents", "internal/batch"},
	"client":             {"intents", "intents/pgstore", "internal/wire"},
	"nsqworker":          {},
	"relayer":            {"intents"},
	"relayer/evm":        {"intents", "internal/wire"},
	"relayer/webhook":    {"intents", "internal/wire"},
	"relayer/memstore":   {"intents", "relayer"},
	"relayer/storetest":  {"intents", "relayer", "relayer/memstore"},
	"relayer/sendertest": {"intents", "relayer"},
	"relayer/simtest":    {"intents", "relayer", "relayer/memstore", "internal/batch"},
	"internal/api":       {"intents", "internal/desk", "internal/httpd"},
	"internal/config":    {"intents", "relayer"},
	"internal/metrics":   {"intents", "relayer", "nsqworker"},
	"internal/console":   {"intents", "internal/desk", "internal/httpd"},
	"internal/desk":      {"intents"},
	"internal/pgtest":    {"internal/postgres"},
}

// outside is what only some packages may import of the rest of the world.
var outside = map[string][]string{
	"github.com/nsqio/go-nsq":              {"nsqworker", "internal/nsqtest"},
	"github.com/nsqio/nsq/":                {"internal/devstack/", "internal/nsqtest"},
	"github.com/ethereum/go-ethereum/":     {"relayer/evm", "internal/devstack/", "cmd/"},
	"github.com/ethereum/go-ethereum/eth":  {"internal/devstack/", "relayer/evm"},
	"github.com/ethereum/go-ethereum/node": {"internal/devstack/"},
	"github.com/lib/pq":                    {"intents/pgstore", "internal/postgres", "internal/pgtest", "internal/benchdb"},
	"github.com/jmoiron/sqlx":              {"intents/pgstore"},
	"github.com/prometheus/client_golang/": {"internal/metrics", "cmd/"},
	"github.com/danielgtaylor/huma/v2/":    {"internal/api"},
	"go.opentelemetry.io/":                 {"internal/tracing"},
	"golang.org/x/time/rate":               {"relayer", "cmd/", "internal/config", "internal/api"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestArrows(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if ours && !matches(to, find(allowed, from)) {
				t.Errorf("%s imports %s: not an arrow of the picture", from, to)
			}
			for pattern, who := range outside {
				if matches(imported, []string{pattern}) && !matches(from, who) {
					t.Errorf("%s imports %s: that is for %v", from, imported, who)
				}
			}
		}
	}
}

// TestIntentsIsPure keeps the domain free of everything but the standard library.
func TestIntentsIsPure(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath != module+"intents" {
			continue
		}
		for _, imported := range p.Imports {
			if strings.Contains(strings.Split(imported, "/")[0], ".") || imported == "net" || imported == "os" {
				t.Errorf("intents imports %s", imported)
			}
		}
	}
}

// TestProgramHasNoTestCode keeps test helpers out of what users run.
func TestProgramHasNoTestCode(t *testing.T) {
	for _, p := range list(t) {
		if strings.HasSuffix(p.ImportPath, "test") {
			continue
		}
		for _, imported := range p.Imports {
			if imported == "testing" || strings.HasPrefix(imported, module) && strings.HasSuffix(imported, "test") {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func find(m map[string][]string, name string) []string {
	if to, ok := m[name]; ok {
		return to
	}
	for pattern, to := range m {
		if strings.HasSuffix(pattern, "/") && strings.HasPrefix(name, pattern) {
			return to
		}
	}
	return nil
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return name == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p)
	})
}
