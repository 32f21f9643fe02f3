package evm

import "strings"

// class is what an error to a send means.
type class int

const (
	unclear class = iota // nothing is known
	known                // the node has, or had, exactly these bytes
	taken                // the nonce is used or another transaction holds it in the pool; most often that is ours
	later                // this node does not take it now; the bytes stay good
	limited              // refused at the edge, too many calls
	invalid              // no node could take it. We check before signing, so it is a surprise and proves nothing
)

// text is a piece of a message, in lower case, and what it means. The first that is found decides.
type text struct {
	piece string
	class class
}

// texts are the messages of geth, erigon, nethermind (also its older names), besu, reth, anvil and the sequencers,
// read in their sources; gateways wrap them in text of their own.
func texts() []text {
	return []text{
		{"unknown transaction", unclear},
		{"revert", unclear},

		{"already known", known}, {"alreadyknown", known}, {"known transaction", known}, {"already imported", known},
		{"existing txn with same hash", known}, {"existing tx with same hash", known}, {"is already in the system", known},

		{"nonce too low", taken}, {"nonce is too low", taken}, {"oldnonce", taken}, {"replacement transaction underpriced", taken},
		{"could not replace existing", taken}, {"ownnoncealreadyused", taken}, {"gas price to replace existing", taken},

		{"request rate", limited}, {"rate limit", limited}, {"rate exceeded", limited}, {"compute units", limited},
		{"too many requests", limited}, {"request limit", limited},

		{"nonce too high", later}, {"gapped-nonce", later}, {"nonce too far", later}, {"noncegap", later},
		{"too distant from current sender nonce", later}, {"lower nonce exists", later},
		{"underpriced", later}, {"gas price below", later}, {"below current base fee", later}, {"less than block base fee", later},
		{"fee too low", later}, {"feetoolow", later}, {"priority fee below", later},
		{"pool is full", later}, {"pool full", later}, {"queue full", later}, {"replace pending", later},
		{"account limit exceeded", later}, {"in-flight transaction limit", later}, {"already reserved", later}, {"spammer", later},
		{"can't replace blob-txn", later}, {"type conflict", later},
		{"insufficient funds", later}, {"insufficientfunds", later}, {"upfront cost exceeds", later},
		{"exceeds the configured cap", later}, {"transaction fee cap exceeded", later},
		{"exceeds block gas limit", later}, {"gas limit reached", later}, {"gaslimitexceeded", later},
		{"syncing", later}, {"initial sync", later}, {"oversized data", later}, {"only replay-protected", later},

		{"intrinsic gas", invalid}, {"intrinsicgas", invalid}, {"floor data gas", invalid}, {"gas limit too high", invalid},
		{"gas limit is too high", invalid}, {"gas limit cap exceeded", invalid}, {"max transaction gas limit", invalid},
		{"invalid sender", invalid}, {"invalid signature", invalid}, {"negative value", invalid}, {"gas uint64 overflow", invalid},
		{"gasuintoverflow", invalid}, {"higher than 2^256", invalid}, {"nonce has max value", invalid}, {"sender not an eoa", invalid},
		{"higher than max fee per gas", invalid}, {"type not supported", invalid}, {"not activated", invalid}, {"rlp", invalid}, {"transaction invalid", invalid},
		{"failed to recover sender", invalid}, {"failedtoresolvesender", invalid}, {"failed to decode", invalid}, {"invalidtxchainid", invalid},
		{"invalid chain id", invalid}, {"wrong chainid", invalid},
	}
}

// classify reads a JSON-RPC error. Of the codes only 429 means one thing everywhere.
func classify(code int, message string) class {
	message = strings.ToLower(message)
	if message == "mined" { // erigon
		return known
	}
	for _, t := range texts() {
		if strings.Contains(message, t.piece) {
			return t.class
		}
	}
	if code == 429 {
		return limited
	}
	return unclear
}
