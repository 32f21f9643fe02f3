package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/relayer"
)

// units is the plain file with another throttle, and compute units.
func units(throttle, table string) string {
	text := strings.Replace(plain, "throttle = { in-flight = 16, per-second = 25.0, burst = 5 }", "throttle = { in-flight = 16, "+throttle+" }", 1)
	return strings.Replace(text, "[routes.webhooks]", table+"\n[routes.webhooks]", 1)
}

const case60 = "compute-units = { eth_sendRawTransaction = 250, eth_getTransactionReceipt = 15, default = 15 }"

// TestComputeUnits: a table in the file and a text elsewhere say what a send weighs, that reads are charged, and how the
// burst is shared.
func TestComputeUnits(t *testing.T) {
	for name, text := range map[string]string{
		"inline":  case60,
		"a table": "[routes.payouts.compute-units]\neth_sendRawTransaction = 250\ndefault = 15",
		"text":    `compute-units = "eth_sendRawTransaction=250, default=15"`,
	} {
		cfg := load(t, units("per-second = 100, burst = 300", text), nil)
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r, e := cfg.Routes["payouts"], cfg.Engine("payouts")
		want := relayer.ThrottleConfig{PerSecond: 100, Burst: 250, ReadBurst: 50, InFlight: 16, ReadShare: 0.2}
		if d := cmp.Diff(want, r.Limits()); d != "" {
			t.Errorf("%s: limits (-want +got):\n%s", name, d)
		}
		if e.Weight != 250 || !e.Metered || e.ObserveMost < 1 || e.ObserveMost > 5 || r.EVM.Units["default"] != 15 {
			t.Errorf("%s: weight %d, metered %v, %d slots a look, units %v", name, e.Weight, e.Metered, e.ObserveMost, r.EVM.Units)
		}
	}
	cfg := load(t, plain, []string{"RELAYER_ROUTES_PAYOUTS_COMPUTE_UNITS=default=1"})
	if err := cfg.Validate(); err != nil || cfg.Engine("payouts").Weight != 1 || !strings.Contains(cfg.String(), "routes.payouts.compute-units = default=1 (") {
		t.Errorf("a variable: %v, shown as %s", err, cfg)
	}
	for _, bad := range []string{"default", "default=x", "=4", "default=1.5", "default=1,default=2", "eth call=3"} {
		_, err := config.Load(write(t, plain), []string{"RELAYER_ROUTES_PAYOUTS_COMPUTE_UNITS=" + bad})
		if err == nil || !strings.Contains(err.Error(), "routes.payouts.compute-units") || !strings.Contains(err.Error(), "methods with their units") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Without the setting a route is as before.
func TestNoComputeUnits(t *testing.T) {
	cfg := load(t, plain, nil)
	r, e := cfg.Routes["payouts"], cfg.Engine("payouts")
	if d := cmp.Diff(r.Throttle.Config(), r.Limits()); d != "" || e.Metered || e.Weight != 1 || e.ObserveMost != 0 {
		t.Errorf("metered %v, weight %d, %d slots a look, limits %s", e.Metered, e.Weight, e.ObserveMost, d)
	}
}

// TestComputeUnitsNonsense is case 60 at the start: what can never pass, or never be read, is refused by its name.
func TestComputeUnitsNonsense(t *testing.T) {
	for name, tt := range map[string]struct{ throttle, units, want string }{
		"case 60: a send above the burst": {"per-second = 100, burst = 20", case60,
			`routes.payouts.compute-units: "eth_sendRawTransaction = 250" is invalid, want at most throttle.burst (20), or it can never pass`},
		"sends by default above the burst": {"per-second = 100, burst = 20", "compute-units = { default = 21 }", `"eth_sendRawTransaction = 21" is invalid`},
		"units of nothing":                 {"per-second = 100, burst = 300", "compute-units = { eth_call = 0, default = 15 }", `compute-units: "eth_call = 0" is invalid, want at least 1`},
		"units below nothing":              {"per-second = 100, burst = 300", "compute-units = { default = -15 }", `compute-units: "default = -15" is invalid, want at least 1`},
		"no default":                       {"per-second = 100, burst = 300", "compute-units = { eth_call = 15 }", `compute-units: "eth_call=15" is invalid, want default, what methods cost`},
		"reads without a share":            {"per-second = 100, burst = 300, read-share = 0.0", case60, `routes.payouts.throttle.read-share: "0" is invalid, want above 0 where compute-units count reads`},
		"a share no question fits in":      {"per-second = 100, burst = 300, read-share = 0.05", case60, `routes.payouts.throttle.read-share: "0.05" is invalid, want enough for one question within plan-timeout: 10.5 units a second, not 5`},
		"a cost besides":                   {"per-second = 100, burst = 300, cost = 2", case60, `routes.payouts.throttle.cost: "2" is invalid, want nothing beside compute-units`},
		"unlimited is fine":                {`per-second = "unlimited", read-share = 0.0`, case60, ""},
		"a send of the whole burst":        {"per-second = 100, burst = 250", case60, ""},
	} {
		err := load(t, units(tt.throttle, tt.units), nil).Validate()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := strings.Replace(plain, `url = "https://pay.example/v1"`, "url = \"https://pay.example/v1\"\ncompute-units = { default = 1 }", 1)
	if err := load(t, text, nil).Validate(); err == nil || !strings.Contains(err.Error(), "routes.webhooks.compute-units") {
		t.Errorf("at a webhook: %v", err)
	}
}
