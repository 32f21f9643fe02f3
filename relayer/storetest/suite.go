package storetest

import (
	"slices"
	"testing"
)

// Harness is one store to test.
type Harness struct {
	// Store need not be empty, and several tests may share one: each uses routes, accounts, scopes and ids of its own.
	Store Store
}

// test is one behaviour a store must show.
type test struct {
	name string
	run  func(f *fixture)
}

// Run puts a store through the suite, each behaviour in a parallel subtest. open is called once for each of them. No
// test moves the store's clock: what must pass passes in microseconds, or is waited for.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, tt := range suite() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(newFixture(t, open(t).Store))
		})
	}
}

func suite() []test {
	return slices.Concat(
		takeTests(), createTests(), claimTests(), fundsTests(), laneTests(), counterTests(), takeoverTests(),
		attachTests(), factTests(), permissionTests(), repeatTests(), recordTests(), fillerTests(), watchTests(),
		sweepTests(), leaseTests(), pauseTests(), cancelTests(), deskTests(), listTests(), eventTests(),
		accountTests(), letterTests(), signerTests(), pickTests(), foreignTests(), noteTests(), raceTests(), auditTests(), reviewTests(), pruneTests(),
	)
}
