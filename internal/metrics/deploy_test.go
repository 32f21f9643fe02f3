package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Every metric that a panel or an alert asks for is one that the program shows, with the labels it has; and the alerts' way
// leads to a heading of the runbook.
func TestDeployedNamesExist(t *testing.T) {
	families := labelsOf(t, registry(t, full(t)))
	for _, file := range []string{"../../deploy/grafana/relayer.json", "../../deploy/prometheus/alerts.yaml"} {
		asked := 0
		for _, expr := range expressions(t, file) {
			for _, m := range regexp.MustCompile(`\b(relayer_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expr, -1) {
				asked++
				name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")
				labels, ok := families[name]
				if !ok {
					t.Errorf("%s asks for %s, which nobody shows", file, m[1])
				}
				for _, l := range regexp.MustCompile(`(\w+)(?:=~|!=|=)"`).FindAllStringSubmatch(m[2], -1) {
					if ok && l[1] != "instance" && !slices.Contains(labels, l[1]) {
						t.Errorf("%s: %s has no label %s", file, name, l[1])
					}
				}
			}
		}
		if asked < 20 {
			t.Errorf("%s asks for %d metrics", file, asked)
		}
	}
	headings := anchors(t)
	for _, m := range regexp.MustCompile(`operations\.md#(\S+)`).FindAllStringSubmatch(read(t, "../../deploy/prometheus/alerts.yaml"), -1) {
		if !slices.Contains(headings, m[1]) {
			t.Errorf("docs/operations.md has no heading #%s", m[1])
		}
	}
}

// labelsOf gives the labels of each metric.
func labelsOf(t *testing.T, reg *prometheus.Registry) map[string][]string {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, f := range all {
		labels[f.GetName()] = nil
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
		}
	}
	return labels
}

// expressions are those of a dashboard, or of alerts: one a line.
func expressions(t *testing.T, file string) (all []string) {
	t.Helper()
	if strings.HasSuffix(file, ".yaml") {
		for _, m := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(read(t, file), -1) {
			all = append(all, m[1])
		}
		return all
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, file)), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// anchors are the headings of the runbook as links name them.
func anchors(t *testing.T) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(read(t, "../../docs/operations.md"), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
