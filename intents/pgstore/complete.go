package pgstore

import (
	"bytes"
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Complete writes what a sender's call came to, as intents.Conclude decides, and returns the intent after it. Asked again
// with the same result it answers as before. Errors: intents.ErrMoved (the evidence is kept, and the intent returned as it
// stands), intents.ErrNotFound, intents.ErrUnsure.
func (s *Store) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	claim := cl.Intent.ClaimID
	in, err := s.results.Do(ctx, resultOp{
		key: cl.Intent.Key, size: len(r.Evidence), ended: &ending{cl.Intent.Version, claim, r.Evidence},
		decide: func(in intents.Intent, now time.Time) (intents.Change, error) {
			return intents.Conclude(in, claim, r, s.cfg.Actor, now)
		},
	})
	return in, answered(err)
}

// ending is a result that may have ended a claim before.
type ending struct {
	version  int // of the claim
	claim    string
	evidence []byte
}

// left says whether this very result left an event: the claim's end, as a permission ends one, with the same evidence.
func (e *ending) left(ev intents.Event) bool {
	return ev.ClaimID == e.claim && permitted(ev) && bytes.Equal(ev.Detail, e.evidence)
}

// permitted says whether a permission may have ended a claim like this.
func permitted(e intents.Event) bool {
	switch e.To {
	case intents.Authorized, intents.Settling:
		return true
	case intents.Failed:
		return e.Reason == intents.ReasonRefused || e.Reason == intents.ReasonDeclined
	case intents.NeedsReview:
		return e.Reason == intents.ReasonUnknown
	case intents.Created, intents.Confirming, intents.Settled, intents.Canceled:
	}
	return false
}

const selectEndings = `select e.intent, e.to_state, e.reason, e.claim_id, e.detail from intent_events e
 join unnest($1::bigint[], $2::int[]) u(intent, version) on e.intent = u.intent and e.version = u.version where e.n = 0`

// readEndings reads the events that followed the claims of rows that have moved since; on the plain path there are none.
func readEndings(ctx context.Context, q queryer, ops []resultOp, h held) (map[int64]intents.Event, error) {
	intent, version := newColumn(oidInt8, 0), newColumn(oidInt4, 0)
	for _, op := range ops {
		if r := h.rows[op.key]; r != nil && op.ended != nil && r.Version > op.ended.version {
			intent.int8(op.key)
			version.int4(op.ended.version + 1)
		}
	}
	if intent.n == 0 {
		return nil, nil
	}
	rows, err := q.QueryContext(ctx, selectEndings, intent.value(), version.value())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	told := map[int64]intents.Event{}
	for rows.Next() {
		var key int64
		var e intents.Event
		var reason, claim text
		if err := rows.Scan(&key, &e.To, &reason, &claim, &e.Detail); err != nil {
			return nil, badRow(err)
		}
		e.Reason, e.ClaimID = intents.Reason(reason), string(claim)
		told[key] = e
	}
	return told, rows.Err()
}
