package simtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// recipient is the other side: where payments have their effect, as it truly is and as it shows itself. Time is the
// bubble's. Nothing here can fail: what gets lost on the way is the sender's part.
type recipient interface {
	// plan is how a sender for it plans.
	plan() intents.Plan
	// prepare makes bytes; maker makes them different from anybody else's.
	prepare(in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt, maker string) intents.Attempt
	// arrive takes bytes that came, and answers. luck chooses among what it may answer.
	arrive(b payload, luck uint64) intents.Result
	// observe tells what it has of a slot.
	observe(w intents.Watch) []intents.Observation
	// effects is how often an intent was paid, as it stands now; beyond says whether that is beyond recall.
	effects(id string) (n int, beyond bool)
	// did says whether these very bytes have paid, as it stands now.
	did(b payload) bool
	// could says whether bytes that it has, or that may still come, could pay.
	could(b payload) bool
	// holds lists the bytes it has that were not used yet.
	holds() []payload
	// tick lets it move on: a block, where it has blocks.
	tick(luck uint64)
	// next is the next number of its one signer; 0 where it has none.
	next() int64
}

// payload is what the bytes of an attempt say.
type payload struct {
	slot   string // number or name of the slot
	id     string // of the intent; "-" for an empty use of the slot
	kind   string
	fee    int // also: the height at which it expires
	maker  string
	number int64
}

func (p payload) bytes() []byte {
	return fmt.Appendf(nil, "%s|%s|%s|%d|%s|%d", p.slot, p.id, p.kind, p.fee, p.maker, p.number)
}

func parse(b []byte) payload {
	var p payload
	f := strings.Split(string(b), "|")
	p.slot, p.id, p.kind, p.maker = f[0], f[1], f[2], f[4]
	_, _ = fmt.Sscan(f[3], &p.fee) // we wrote it ourselves
	_, _ = fmt.Sscan(f[5], &p.number)
	return p
}

// name is what the other side calls it.
func (p payload) name() string { return "0x" + string(p.bytes()) }

// base takes away what a store that forgot an id has added to it.
func base(id string) string { return strings.TrimRight(id, "~") }

// pays says whether the bytes pay an intent.
func (p payload) pays() bool { return p.id != "-" && p.id != strange }

// The recipients that a seed may choose.
const (
	chained  = "chain"  // an EVM-like chain: numbers, a pool, bumps, reorganisations
	given    = "given"  // a chain whose slots are named by who signs, and end with their expiry
	keyed    = "keyed"  // takes a key, for ever
	retained = "retain" // takes a key, and forgets it
	lookup   = "lookup" // takes no key, but can be asked
	blind    = "blind"  // takes no key, and cannot be asked
)

func recipients() []string { return []string{chained, chained, given, keyed, retained, lookup, blind} }

// retention is how long a provider that forgets keeps its keys. A sender relies on less: as much as clocks may differ.
const (
	retention = 20 * time.Minute
	relied    = retention - 2*mostSkew - 2*time.Minute
)

func newRecipient(kind string, now func() time.Time) recipient {
	switch kind {
	case chained:
		return &chain{now: now, since: map[string]int{}, strangers: map[payload]intents.Foreign{}}
	case given:
		return &expiring{}
	}
	return &provider{kind: kind, now: now, seen: map[string]*charge{}, paid: map[string]int{}}
}
