package relayer

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Sender is a way out: a chain, a payment provider. docs/senders.md says what one must promise.
type Sender interface {
	// Plan reads, checks and prices; it changes nothing and takes no slot.
	// Errors: *intents.RefusedError: never. Any other error: not now.
	Plan(ctx context.Context, in intents.Intent) (intents.Plan, error)
	// Prepare makes exact bytes for a slot; kind is First, Bump, Cancel or Fill (in is zero then), prior what the slot has.
	// It sends nothing, may be slow, may run twice: the first result stored is the only one sent. Errors as Plan.
	Prepare(ctx context.Context, in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt) (intents.Attempt, error)
	// Submit puts stored bytes on the wire at most once. The zero Result means unknown; so does a panic.
	Submit(ctx context.Context, a intents.Attempt) intents.Result
	// Observe says what became of slots, each with all its attempts. NotSeen, the zero Fact, proves nothing.
	// Errors: look later.
	Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error)
}

// Numbered is implemented by senders whose slots are counters that others could use, too.
type Numbered interface {
	// Numbers tells the next number of each of the sender's scopes, by what is used already. Errors: look later.
	Numbers(ctx context.Context) (map[string]int64, error)
	// Strangers finds what used numbers of a scope from one on and before another, beyond recall, in order and without
	// a gap. It may find fewer, or none. Errors: look later.
	Strangers(ctx context.Context, scope string, from, to int64) ([]intents.Foreign, error)
}

// Canon is implemented by senders that know how their intents are written.
type Canon interface {
	// Canonical gives the intent with its destination in the one spelling that is stored and compared.
	// Errors: *intents.InvalidError: this can never be an intent of the route.
	Canonical(in intents.Intent) (intents.Intent, error)
}

// Referee is implemented by senders that can tell what a reference is which is none of an intent's attempts.
type Referee interface {
	// Refer says whether a reference is the intent's payment: Final when it is, beyond recall; Dead when it is something
	// else; NotSeen when nobody knows it. Errors: *intents.InvalidError when it can be no reference; any other: look later.
	Refer(ctx context.Context, in intents.Intent, ref string) (intents.Observation, error)
}

// Store keeps the truth. Every method is one commit and may be asked again with the same arguments. The store may
// batch. Each may also return an error that wraps intents.ErrUnavailable or is the context's: nothing was written.
// The context says how long the answer is wanted, which may be minutes: each method returns within a bound of the store's
// own, also when nobody answers it.
type Store interface {
	// Take reads the intent of a message, or creates and authorizes the one it carries when the id is new, also among
	// tombstones. Errors: *intents.ConflictError (other content, another route), intents.ErrNotFound.
	Take(ctx context.Context, m intents.Message) (intents.Intent, error)
	// Claim claims an authorized intent or takes over one whose claim has ended, as intents.Admit decides.
	// Errors: *intents.NotClaimedError; intents.ErrUnsure when the commit's answer is lost.
	Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error)
	// Attach stores bytes under (slot, no) and returns the ones stored there first, ours or not.
	// Errors: intents.ErrSlotClosed; intents.ErrUnsure.
	Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error)
	// Complete writes what a sender's call came to, as intents.Conclude decides, and returns the intent after it.
	// Errors: intents.ErrMoved when a permission met a row that others moved (evidence is kept); intents.ErrUnsure.
	Complete(ctx context.Context, c intents.Claimed, r intents.Result) (intents.Intent, error)
}

// Desk is what a worker writes about a delivery that claims nothing. Errors of Store apply.
type Desk interface {
	// Park says when to look at an intent again. Errors: intents.ErrMoved.
	Park(ctx context.Context, in intents.Intent, wait time.Duration) error
	// Refuse fails an intent that is authorized and can never be sent. Errors: intents.ErrMoved.
	Refuse(ctx context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error)
	// Bury keeps a dead letter; the same one again (topic, hash, reason) only counts.
	Bury(ctx context.Context, d intents.DeadLetter) error
	// Ping says whether the store can be written to now.
	Ping(ctx context.Context) error
}

// Witness is where observations are written. Errors of Store apply.
type Witness interface {
	// Watches lists slots of the route whose watch_at has come, oldest first: intents with stored bytes that are not
	// final, and counter slots to be filled (their Intent is zero; they have no attempts until bytes are stored).
	Watches(ctx context.Context, route string, most int) ([]intents.Watch, error)
	// Record writes what observations mean, as intents.Witness decides, and returns the intents after it, in order; a
	// filler's is zero. A row that moved since is decided on as it stands. A slot whose number a foreign transaction used
	// freezes its signer, and every intent which that may have paid goes to a person, all in one commit.
	Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error)
	Numbers
}

// Numbers is where the counts of signers are written. Errors of Store apply.
type Numbers interface {
	// See tells a signer's next number by the other side's own count, and freezes a signer whose count is ahead of the
	// numbers given out. Errors: intents.ErrNoSigner.
	See(ctx context.Context, scope string, next int64) (intents.Signer, error)
	// Account keeps what used the next number instead of us, compares it with all intents as Record does, and counts the
	// number as given out. Another number than the next changes nothing. Errors: intents.ErrNoSigner.
	Account(ctx context.Context, scope string, number int64, f intents.Foreign, detail []byte) (intents.Signer, error)
}

// Due is what the sweeper asks for. Errors of Store apply.
type Due interface {
	// Lead takes or keeps the lease of a name for a term, and says whether owner has it now.
	Lead(ctx context.Context, name, owner string, term time.Duration) (bool, error)
	// Sweep decides, as intents.Sweep does, on up to most due intents of the route, oldest first, and returns those to
	// publish, as they stand after due_at was pushed on. Nothing of a paused route is published.
	Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error)
	// Waiting returns those of the given intents that nobody has looked at since: version and due_at are unchanged and
	// due_at has not passed.
	Waiting(ctx context.Context, ins []intents.Intent) ([]intents.Intent, error)
}
