package simtest

import "testing"

// TestSimulationCanFail takes one guard out at a time. Each must be caught within the seeds of a plain run: else the
// simulation says nothing about that guard.
func TestSimulationCanFail(t *testing.T) {
	if seedsOfVariants == 0 {
		t.Skip("the variants are played without the race detector")
	}
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seedsOfVariants) {
				if o := run(t, seed+1, v.broken()); o.Violation != "" {
					t.Logf("%s: caught by seed %d: %s", v.name, seed+1, o.Violation)
					return
				}
			}
			t.Errorf("%s: nobody saw it in %d seeds", v.name, seedsOfVariants)
		})
	}
}

// variant is the relayer without one of its guards.
type variant struct {
	name   string
	broken func() broken
}

func variants() []variant {
	var out []variant
	for _, group := range [][]variant{claimVariants(), slotVariants(), resultVariants(), messageVariants(), patienceVariants(), reviewVariants()} {
		out = append(out, group...)
	}
	return out
}

// before makes a variant that stands before the database.
func before(name string, make func(d *database) rows) variant {
	return variant{name, func() broken { return broken{onRows: make} }}
}
