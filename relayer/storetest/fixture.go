package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// fixture is a store with names of its own, and helpers that stop the test when what they need fails.
type fixture struct {
	*testing.T
	Store
	ctx     context.Context
	tag     string // begins every name, so that tests may share a store
	route   string
	account string
	scope   string
	ids     []string // every intent made
	n       atomic.Int64
}

func newFixture(t *testing.T, s Store) *fixture {
	tag := fmt.Sprintf("t%08x", rand.Uint32())
	f := &fixture{T: t, Store: s, ctx: context.WithoutCancel(t.Context()), tag: tag,
		route: tag + ".route", account: tag + ".acct", scope: tag + ".signer"}
	t.Cleanup(f.check)
	return f
}

// check is the end of every test: the sums add up, and every timeline is one that may be.
func (f *fixture) check() {
	found, err := f.Audit(f.ctx)
	if err != nil {
		f.Errorf("audit: %v", err)
	}
	for _, line := range found {
		f.Errorf("audit: %s", line)
	}
	for _, id := range f.ids {
		wrong, err := trace(f.ctx, f.Store, id)
		if err != nil {
			f.Errorf("timeline of %s: %v", id, err)
		}
		for _, line := range wrong {
			f.Errorf("timeline of %s: %s", id, line)
		}
	}
}

// name makes a name nobody has yet.
func (f *fixture) name(word string) string {
	return fmt.Sprintf("%s.%s.%d", f.tag, word, f.n.Add(1))
}

// intent makes an intent nobody knows, of 100 units.
func (f *fixture) intent(change ...func(*intents.Intent)) intents.Intent {
	in := intents.Intent{ID: f.name("pi"), Route: f.route, Account: f.account, Destination: "dest-1", Asset: "EUR", Amount: intents.NewAmount(100)}
	for _, c := range change {
		c(&in)
	}
	f.ids = append(f.ids, in.ID)
	return in
}

// taken stores an intent through a message that carries it.
func (f *fixture) taken(change ...func(*intents.Intent)) intents.Intent {
	f.Helper()
	return f.take(full(f.intent(change...)))
}

func (f *fixture) take(m intents.Message) intents.Intent {
	f.Helper()
	in, err := f.Take(f.ctx, m)
	f.must(err)
	return in
}

func (f *fixture) get(id string) intents.Intent {
	f.Helper()
	in, err := f.Get(f.ctx, id)
	f.must(err)
	return in
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// full is the message that carries an intent, ref the one that names it.
func full(in intents.Intent) intents.Message {
	return intents.Message{ID: in.ID, Route: in.Route, Full: true, Intent: in, Actor: "tester"}
}

func ref(in intents.Intent) intents.Message {
	return intents.Message{ID: in.ID, Route: in.Route, Actor: "tester"}
}

// soon is a wait that has passed by the next commit.
const soon = time.Microsecond

// keyed asks for a claim of a key slot, with bytes.
func (f *fixture) keyed(in intents.Intent) intents.Claim {
	a := &intents.Attempt{Slot: intents.Slot{Name: in.ID}, No: 1, Kind: intents.First, Bytes: []byte("bytes of " + in.ID), Name: in.ID}
	p := intents.Plan{Slot: intents.Key, Scope: f.scope, Again: intents.Always, Seen: true}
	return intents.Claim{Intent: in, Plan: p, Attempt: a, ID: f.name("claim"), Owner: "tester", Term: time.Hour}
}

// counted asks for a claim of a counter slot.
func (f *fixture) counted(in intents.Intent) intents.Claim {
	c := f.keyed(in)
	c.Attempt, c.Plan.Slot = nil, intents.Counter
	return c
}

// claim gets a claim.
func (f *fixture) claim(c intents.Claim) intents.Claimed {
	f.Helper()
	got, err := f.Claim(f.ctx, c)
	f.must(err)
	return got
}

// lapsed gets a claim that is over by the next commit.
func (f *fixture) lapsed(c intents.Claim) intents.Claimed {
	f.Helper()
	c.Term = 0
	return f.claim(c)
}

// refused asks for a claim and wants to hear no, and why.
func (f *fixture) refused(c intents.Claim, why intents.Why) *intents.NotClaimedError {
	f.Helper()
	_, err := f.Claim(f.ctx, c)
	no, ok := errors.AsType[*intents.NotClaimedError](err)
	if !ok || no.Why != why {
		f.Fatalf("claim: got error %v, want not claimed: %s", err, why)
	}
	return no
}

// complete writes a result.
func (f *fixture) complete(cl intents.Claimed, r intents.Result) intents.Intent {
	f.Helper()
	in, err := f.Complete(f.ctx, cl, r)
	f.must(err)
	return in
}

// record writes one observation of an intent's slot as it stands.
func (f *fixture) record(in intents.Intent, o intents.Observation, p intents.Patience) intents.Intent {
	f.Helper()
	o.Slot = in.Slot
	got, err := f.Record(f.ctx, []intents.Watch{f.watch(in)}, []intents.Observation{o}, p)
	f.must(err)
	if len(got) != 1 {
		f.Fatalf("record: got %d intents for one observation", len(got))
	}
	return got[0]
}

// watch is what an observer would be given of an intent.
func (f *fixture) watch(in intents.Intent) intents.Watch {
	f.Helper()
	as, err := f.Attempts(f.ctx, in.ID)
	f.must(err)
	return intents.Watch{Intent: in, Slot: in.Slot, Attempts: as}
}

// credit posts money to the test's account.
func (f *fixture) credit(units int64) intents.Account {
	f.Helper()
	a, err := f.Credit(f.ctx, intents.Entry{Account: f.account, Asset: "EUR", Amount: intents.NewAmount(units), Ref: f.name("credit")})
	f.must(err)
	return a
}

// sums wants an account of one asset to stand like this.
func (f *fixture) sums(posted, pending int64) {
	f.Helper()
	as, err := f.Accounts(f.ctx, f.account)
	f.must(err)
	var a intents.Account
	if len(as) > 0 {
		a = as[0]
	}
	if len(as) > 1 || !a.Posted.Equal(intents.NewAmount(posted)) || !a.Pending.Equal(intents.NewAmount(pending)) {
		f.Errorf("account: got %v, want posted %d, pending %d", as, posted, pending)
	}
}

// signer opens the test's counter scope.
func (f *fixture) signer(next int64, window int) intents.Signer {
	f.Helper()
	s, err := f.OpenSigner(f.ctx, intents.Signer{Scope: f.scope, Next: next, Window: window, Seen: next})
	f.must(err)
	return s
}

// readSigner reads the test's counter scope.
func (f *fixture) readSigner() intents.Signer {
	f.Helper()
	all, err := f.Signers(f.ctx)
	f.must(err)
	for _, s := range all {
		if s.Scope == f.scope {
			return s
		}
	}
	f.Fatalf("signer %s is not listed", f.scope)
	return intents.Signer{}
}

// stands wants an intent in a state, at a version, for a reason.
func (f *fixture) stands(in intents.Intent, state intents.State, version int, reason intents.Reason) {
	f.Helper()
	if in.State != state || in.Version != version || in.Reason != reason {
		f.Fatalf("intent is %s v%d %q, want %s v%d %q", in.State, in.Version, in.Reason, state, version, reason)
	}
}

// same wants nothing to have changed between two readings.
func (f *fixture) same(a, b intents.Intent) {
	f.Helper()
	if x, y := plain(a), plain(b); x != y {
		f.Errorf("intent changed:\n%s\n%s", x, y)
	}
}

// until waits for something to become true.
func (f *fixture) until(what string, ok func() bool) {
	f.Helper()
	tick, late := time.NewTicker(2*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			f.Fatalf("waited for a minute until %s", what)
		}
	}
}

// sameJSON compares evidence by what it says, since a database may write it in its own way.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return len(a) == 0 && len(b) == 0
	}
	return reflect.DeepEqual(x, y)
}
