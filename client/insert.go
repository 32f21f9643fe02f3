package client

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
)

// Tx is the caller's transaction on the relayer's database: *sql.Tx, *sqlx.Tx, on any driver.
type Tx = pgstore.Tx

// actor stands in the timeline of what is inserted.
const actor = "client"

// InsertTx stores an authorized intent in the caller's transaction. If that is committed the sweeper publishes the intent as
// soon as it may be sent; if it is rolled back there never was one. One that is known with the same content is returned as it
// stands.
//
// The transaction must be one of the relayer's database, at READ COMMITTED (Postgres' default), with the relayer's schema in
// its search path. Never hand the same intent over by another way before its end: the process that takes it there waits for the
// transaction, and everything else that it reads waits with it. Its role needs select and insert on intents and intent_events, select on tombstones, routes, recoveries and
// servers, and usage of the sequence relayer_keys. Keep it short: whoever stores the same id waits for its end, and so does
// whoever follows events. Store several ids in the order of their names.
//
// Nothing knows the route's settings here: the name of the route, its assets and the spelling of the destination are the
// caller's to get right. For EVM addresses evm.Canonical gives the one that other ways store and compare.
//
// Errors: *intents.InvalidError, joined where there are several, and *intents.ConflictError (other content, another route, also
// of what was pruned) leave the transaction as it was. After any other it is to be rolled back.
func InsertTx(ctx context.Context, tx Tx, in intents.Intent) (intents.Intent, error) {
	return pgstore.InsertTx(ctx, tx, in, actor)
}
