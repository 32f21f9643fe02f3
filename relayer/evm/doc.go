// Package evm is the way out to EVM chains: transfers of the native coin and of ERC-20 tokens, calls with data, EIP-1559.
//
// A slot is a nonce of one signer on one chain; a route may have several signers, and the claim picks. Its number comes from the store; Prepare signs, the bytes are stored,
// and only stored bytes are sent. Sending the same bytes again is harmless for ever, so nothing here depends on telling
// one error from another: a verdict decides when to look again, never whether a payment is dead. What became of it is
// told by receipts, at the configured depth, checked against the canonical chain and the intent.
//
// # What an answer to eth_sendRawTransaction means
//
//	our hash                                       accepted
//	another hash, none, no JSON-RPC, wrong id      unknown, and an alarm
//	the node has these bytes already               accepted
//	the nonce is used, or another is in the pool   looked for by hash: accepted, else unknown
//	not now (gap, fee, pool, funds, sync, policy)  not sent
//	rate limit, HTTP 429                           not sent, calm
//	invalid for every node                         unknown, and an alarm
//	HTTP 401, 403, 404, 405, 413                   not sent, and an alarm
//	any other text or status                       unknown
//	no answer, no byte written                     not sent
//	no answer, a byte written                      unknown
//
// Text is looked at before codes, since codes mean different things to different nodes.
//
// A used nonce and bytes that no node knows and no call ever sent mean that another sends with the signer: the store
// freezes it. Bytes that were refused because there were too many calls are looked for before they go out again.
//
// # What is done about bytes that no block takes
//
//	nowhere to be seen for ResendAfter                 the same bytes again, at growing intervals
//	of the number the signer's chain waits for, while
//	BumpAfter blocks went by                           the same payment again, both fees BumpPercent higher
//	the same, but MaxBumps or the cap is reached       the same bytes again
//	of a number some block has used                    nothing
//
// "Nowhere" is a null for the receipt and for the transaction of every attempt; an error is none. A refused replacement
// means that the old hash lives, so all hashes of a slot are watched, and the next bump goes above the highest attempt.
//
// # Several endpoints
//
// Reads go to all by turns, as their weights say, and on to the next where one cannot answer. A send goes to the first of
// the configuration that works, so that a signer's numbers come to one pool in their order, and where that did not take
// the bytes, or may not have, the same bytes go to the next; once one has them, or says that the nonce is used, no other
// is asked. They count as not sent only where no node that was asked may have them.
//
// Each read asks for the chain too: a node of another chain is never believed and never sent to, until it is ours again.
// Three failures in a row put a node out for 1 s, doubling to 30 s; then one call decides. One that asks for fewer calls
// is left alone by everybody, for as long as it asked or as long as that. When nothing else is left the throttle is calmed.
// Where the provider counts units each read is paid for before it leaves; see [Meter].
// A node that syncs, or whose newest block is 30 s older than the newest of all, comes last. What a node does not see
// is believed only when it is as high as the highest block anybody showed.
//
// # Plans share calls
//
// A plan asks for the signer's balance, an estimate and now and then prices. One that finds no other under way asks at
// once; those that come up meanwhile go together, at most 32 in one HTTP call, when that has ended or after 50 ms. Each
// gets its own estimate and its own error, and whoever leaves ends nothing for the others. With Config.SendBatch sends do
// the same; each is judged by the answer that has its id.
package evm
