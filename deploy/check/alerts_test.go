package check

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Prometheus takes the alerts. Each says how bad it is, what it means, and where the way out stands.
func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile(root+"/deploy/prometheus/alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil || len(groups.Groups) == 0 {
		t.Fatal("no groups")
	}
	seen := map[string]bool{}
	for _, r := range groups.Groups[0].Rules {
		if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Relayer") {
			t.Errorf("the name %q is taken, or not ours", r.Alert)
		}
		seen[r.Alert] = true
		if s := r.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		for _, want := range []string{"summary", "description", "runbook_url"} {
			if r.Annotations[want] == "" {
				t.Errorf("%s: no %s", r.Alert, want)
			}
		}
	}
	for _, want := range []string{"RelayerQueueGrows", "RelayerReviewWaits", "RelayerOutcomesUnknown", "RelayerNonceStuck", "RelayerSignerBalanceLow",
		"RelayerNoConsumer", "RelayerBreakerOpen", "RelayerDrainCut", "RelayerRecoveryNeeded", "RelayerSignerFrozen", "RelayerDown"} {
		if !seen[want] {
			t.Errorf("no alert %s", want)
		}
	}
}

// TestAlertsOfNonsense: the parser is one that refuses.
func TestAlertsOfNonsense(t *testing.T) {
	const bad = "groups: [{name: x, rules: [{alert: A, expr: 'sum by (', for: 5 minutes}]}]"
	if _, errs := rulefmt.Parse([]byte(bad), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)); len(errs) == 0 {
		t.Error("it takes anything")
	}
}
