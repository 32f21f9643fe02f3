package evm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/txpool/legacypool"
	"github.com/ethereum/go-ethereum/core/types"
)

// message is what a client says to a send.
type message struct {
	client string
	code   int
	text   string
	want   class
}

// messages has a row for each client and meaning, read in the clients' sources: geth core/txpool, core/error.go,
// internal/ethapi (its errors themselves are the rows, so that they follow the version in go.mod); erigon
// txpoolcfg.DiscardReason; nethermind AcceptTxResult and TxPoolErrorMessages, and the names it gave out before; besu
// RpcErrorType; reth RpcPoolError; anvil src/eth/error; openethereum's of old; sequencers and gateways by their documents.
func messages() []message {
	return []message{
		// have it already, or mined
		{"geth", -32000, txpool.ErrAlreadyKnown.Error(), known},
		{"erigon", -32000, "already known", known},
		{"erigon", -32000, "existing txn with same hash", known},
		{"erigon, older, through a gateway", -32000, "INTERNAL_ERROR: existing tx with same hash", known},
		{"erigon", -32000, "mined", known},
		{"nethermind", -32010, "already known", known},
		{"nethermind, older", -32010, "AlreadyKnown", known},
		{"besu", -32000, "Known transaction", known},
		{"reth", -32000, "already known", known},
		{"anvil", -32003, "transaction already imported", known},
		{"openethereum", -32010, "Transaction with the same hash was already imported.", known},
		{"zksync", -32000, "known transaction. transaction with hash 0xab is already in the system", known},
		{"a gateway", -32000, "hash 0xab is already in the system", known},
		{"anyone", -32000, "unknown transaction", unclear},
		{"anyone", -32000, "not determined", unclear}, // holds the word mined

		// nonce used
		{"geth", -32000, fmt.Sprintf("%v: next nonce 8, tx nonce 7", core.ErrNonceTooLow), taken},
		{"erigon", -32000, "nonce too low", taken},
		{"nethermind", -32010, "nonce too low", taken},
		{"nethermind, older", -32010, "OldNonce, Current nonce: 8, nonce of rejected tx: 7", taken},
		{"besu", -32001, "Nonce too low", taken},
		{"reth", -32000, "nonce too low: next nonce 8, tx nonce 7", taken},
		{"anvil", -32003, "nonce too low", taken},
		{"openethereum", -32010, "Transaction nonce is too low. Try incrementing the nonce.", taken},
		{"case 66: a code that means nothing", -32603, "Transaction nonce too low", taken},

		// another transaction in the slot
		{"geth, case 68", -32000, txpool.ErrReplaceUnderpriced.Error(), taken},
		{"erigon", -32000, "replacement transaction underpriced", taken},
		{"erigon", -32000, "could not replace existing tx", taken},
		{"erigon, through a gateway", -32000, "INTERNAL_ERROR: could not replace existing tx", taken},
		{"nethermind", -32010, "replacement transaction underpriced", taken},
		{"nethermind, older", -32010, "OwnNonceAlreadyUsed", taken},
		{"besu", -32000, "Replacement transaction underpriced", taken},
		{"reth", -32000, "replacement transaction underpriced", taken},
		{"anvil", -32003, "insufficient gas price to replace existing transaction", taken},

		// gap
		{"geth", -32000, fmt.Sprintf("%v: next nonce 7, tx nonce 9", core.ErrNonceTooHigh), later},
		{"geth", -32000, legacypool.ErrOutOfOrderTxFromDelegated.Error(), later},
		{"nethermind", -32010, "nonce too high", later},
		{"nethermind", -32010, "nonce too far in future", later},
		{"nethermind, older", -32010, "NonceGap, Future nonce. Expected nonce: 8", later},
		{"besu", -32006, "Nonce too high", later},
		{"besu", -32000, "Transaction nonce is too distant from current sender nonce", later},
		{"besu", -32000, "An invalid transaction with a lower nonce exists", later},
		{"reth", -32000, "nonce too high", later},
		{"anvil", -32003, "Nonce too high", later},

		// fee floor
		{"geth", -32000, fmt.Sprintf("%v: gas tip cap 0, minimum needed 1", txpool.ErrUnderpriced), later},
		{"geth", -32000, fmt.Sprintf("%v: gas tip cap 0, minimum needed 1", txpool.ErrTxGasPriceTooLow), later},
		{"geth, case 71", -32000, fmt.Sprintf("%v: address 0x1, maxFeePerGas: 30, baseFee: 50", core.ErrFeeCapTooLow), later},
		{"erigon", -32000, "underpriced", later},
		{"erigon", -32000, "fee too low", later},
		{"nethermind", -32010, "transaction underpriced", later},
		{"nethermind, older", -32010, "FeeTooLowToCompete", later},
		{"besu", -32009, "Gas price below configured minimum gas price", later},
		{"besu", -32009, "gasPrice is below current base fee", later},
		{"reth", -32003, "transaction underpriced", later},
		{"reth", -32003, "transaction priority fee below minimum required priority fee 5", later},
		{"optimism, arbitrum", -32000, "max fee per gas less than block base fee", later},

		// pool full, or held back
		{"geth", -32000, legacypool.ErrTxPoolOverflow.Error(), later},
		{"geth", -32000, legacypool.ErrFutureReplacePending.Error(), later},
		{"geth", -32000, txpool.ErrAccountLimitExceeded.Error(), later},
		{"geth", -32000, txpool.ErrInflightTxLimitReached.Error(), later},
		{"geth", -32000, legacypool.ErrAuthorityReserved.Error(), later},
		{"erigon", -32000, "pending sub-pool is full", later},
		{"erigon", -32000, "baseFee sub-pool is full", later},
		{"erigon", -32000, "queued sub-pool is full", later},
		{"erigon", -32000, "spammer", later},
		{"erigon", -32000, "EIP-7702 transaction with authority already reserved", later},
		{"reth", -32003, "txpool is full", later},
		{"arbitrum", -32000, "queue full", later},
		{"arbitrum", -32000, "sequencer pending tx pool full, please try again", later},

		// type lock
		{"geth", -32000, txpool.ErrAlreadyReserved.Error(), later},
		{"erigon", -32000, "can't replace blob-txn with a non-blob-txn", later},
		{"nethermind", -32010, "pending transaction type conflict", later},
		{"reth", -32000, "address already reserved", later},

		// no money
		{"geth, case 76", -32000, fmt.Sprintf("%v: balance 100, tx cost 21000000001000, overshot 21000000000900", core.ErrInsufficientFunds), later},
		{"geth", -32000, core.ErrInsufficientFundsForTransfer.Error(), later},
		{"erigon", -32000, "insufficient funds", later},
		{"nethermind", -32010, "insufficient funds for gas * price + value", later},
		{"nethermind, older", -32010, "InsufficientFunds, Account balance: 0", later},
		{"besu", -32004, "Upfront cost exceeds account balance", later},
		{"reth", -32003, "insufficient funds for gas * price + value: have 1 want 2", later},
		{"anvil", -32003, "Insufficient funds for gas * price + value", later},

		// the node's own cap on fees
		{"geth", -32000, "tx fee (1.23 ether) exceeds the configured cap (1.00 ether)", later},
		{"erigon", -32000, "tx fee (1.23 ether) exceeds the configured cap (1.00 ether)", later},
		{"besu", -32000, "Transaction fee cap exceeded", later},
		{"reth", -32003, "tx fee (2 wei) exceeds the configured cap (1 wei)", later},

		// the block's gas limit: it moves
		{"geth", -32000, txpool.ErrGasLimit.Error(), later},
		{"nethermind", -32010, "gas limit reached", later},
		{"nethermind, older", -32010, "GasLimitExceeded", later},
		{"besu, where the code says rate limit", -32005, "Transaction gas limit exceeds block gas limit", later},
		{"reth", -32003, "exceeds block gas limit", later},

		// the node's own policy, or it is not ready
		{"geth", -32000, fmt.Sprintf("%v: transaction size 2, limit 1", txpool.ErrOversizedData), later},
		{"geth", -32000, "only replay-protected (EIP-155) transactions allowed over RPC", later},
		{"nethermind", -32010, "node is syncing", later},
		{"besu", -32008, "Initial sync is still in progress", later},

		// refused at the edge
		{"alchemy", 429, "Your app has exceeded its compute units per second capacity", limited},
		{"infura", -32005, "project ID request rate exceeded", limited},
		{"infura", -32005, "daily request count exceeded, request rate limited", limited},
		{"others", -32016, "over rate limit", limited},
		{"others", -32005, "rate exceeded", limited},
		{"others", -32000, "Too Many Requests", limited},
		{"others", -32029, "you have reached your request limit", limited},
		{"others", 429, "slow down", limited},

		// gas
		{"geth, case 67", -32000, fmt.Sprintf("%v: gas 20000, minimum needed 21000", core.ErrIntrinsicGas), invalid},
		{"geth", -32000, core.ErrFloorDataGas.Error(), invalid},
		{"geth", -32000, fmt.Sprintf("%v (cap: 1, tx: 2)", core.ErrGasLimitTooHigh), invalid},
		{"erigon", -32000, "IntrinsicGas", invalid},
		{"erigon", -32000, "gas limit is too high", invalid},
		{"nethermind", -32010, "intrinsic gas too low", invalid},
		{"besu", -32003, "Intrinsic gas exceeds gas limit", invalid},
		{"besu", -32005, "Transaction gas limit cap exceeded", invalid},
		{"reth", -32000, "intrinsic gas too low", invalid},
		{"reth", -32003, "exceeds max transaction gas limit", invalid},
		{"anvil", -32003, "intrinsic gas too low", invalid},
		{"anvil", -32003, "intrinsic gas too high -- CallGasCostMoreThanGasLimit", invalid},

		// malformed
		{"geth", -32000, txpool.ErrInvalidSender.Error(), invalid},
		{"geth, case 75", -32000, fmt.Sprintf("%v: %v: have 11155111 want 1", txpool.ErrInvalidSender, types.ErrInvalidChainId), invalid},
		{"geth, case 75", -32000, fmt.Sprintf("%v: have 11155111 want 1", types.ErrInvalidChainId), invalid},
		{"geth", -32000, txpool.ErrNegativeValue.Error(), invalid},
		{"geth", -32000, core.ErrGasUintOverflow.Error(), invalid},
		{"geth", -32000, core.ErrTipAboveFeeCap.Error(), invalid},
		{"geth", -32000, core.ErrTipVeryHigh.Error(), invalid},
		{"geth", -32000, core.ErrFeeCapVeryHigh.Error(), invalid},
		{"geth", -32000, core.ErrNonceMax.Error(), invalid},
		{"geth", -32000, core.ErrSenderNoEOA.Error(), invalid},
		{"geth", -32000, types.ErrTxTypeNotSupported.Error(), invalid},
		{"geth", -32000, "rlp: input string too long for uint64", invalid},
		{"erigon", -32000, "RLPTooLong", invalid},
		{"erigon", -32000, "invalid sender", invalid},
		{"erigon", -32000, "GasUintOverflow", invalid},
		{"erigon", -32000, "fork supporting this transaction type is not activated yet", invalid},
		{"nethermind", -32010, "transaction invalid", invalid},
		{"nethermind", -32010, "failed to recover sender", invalid},
		{"nethermind, older", -32010, "FailedToResolveSender", invalid},
		{"nethermind", -32010, "InvalidTxChainId: expected 1, got 2", invalid},
		{"besu", -32002, "Invalid signature", invalid},
		{"besu", -32000, "Wrong chainId", invalid},
		{"reth", -32602, "failed to decode signed transaction", invalid},
		{"reth", -32000, "invalid chain ID", invalid},
		{"anvil", -32602, "Failed to decode signed transaction", invalid},

		// nothing is known
		{"geth", -32002, "request timed out", unclear},
		{"geth, reth", -32603, "method handler crashed", unclear},
		{"besu", -32603, "Internal error", unclear},
		{"besu", -32602, "Invalid transaction params", unclear},
		{"a code that means three things", -32005, "limit", unclear},
		{"a rollup that runs it first", 3, "execution reverted: already known", unclear},
		{"a rollup that runs it first", -32000, "VM Exception while processing transaction: revert nonce too low", unclear},
		{"anyone", 3, "", unclear},
	}
}

// TestClassify has text before code, and a revert before all: its reason is the contract's own text.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, m := range messages() {
		if got := classify(m.code, m.text); got != m.want {
			t.Errorf("%s: %d %q = class %d, want %d", m.client, m.code, m.text, got, m.want)
		}
		if got := classify(0, "err: "+strings.ToUpper(m.text)); m.code != 429 && m.text != "mined" && got != m.want {
			t.Errorf("%s: %q in upper case, wrapped, without code = class %d, want %d", m.client, m.text, got, m.want)
		}
	}
}

// TestTextsAreUsed: each piece of the table decides a row of its own class, so none stands there unread.
func TestTextsAreUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, m := range messages() {
		for _, piece := range texts() {
			if strings.Contains(strings.ToLower(m.text), piece.piece) {
				used[piece.piece] = true
				break
			}
		}
	}
	for _, piece := range texts() {
		if !used[piece.piece] {
			t.Errorf("no message is decided by %q", piece.piece)
		}
	}
}
