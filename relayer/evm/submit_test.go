package evm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	unknown  = intents.Unknown
	accepted = intents.Accepted
	notSent  = intents.NotSent
)

// says gives one answer to everything but the question for its chain; {id} in it is the call's id.
func says(t *testing.T, status int, body string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c call
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &c)
		if asksChain(w, b) {
			return
		}
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "{id}", string(c.ID)))
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// asksChain answers the batch that a sender begins with: of which chain the node is.
func asksChain(w http.ResponseWriter, body []byte) bool {
	var calls []call
	if json.Unmarshal(body, &calls) != nil || len(calls) != 1 || calls[0].Method != "eth_chainId" {
		return false
	}
	fmt.Fprintf(w, `[{"jsonrpc":"2.0","id":%s,"result":"0x539"}]`, calls[0].ID)
	return true
}

// attempt is one that was prepared at a quiet node.
func attempt(t *testing.T) intents.Attempt {
	_, a := prepared(t, open(t, config(t, scripted(t, quiet()))), 0)
	return a
}

func submitTo(t *testing.T, url string, a intents.Attempt) intents.Result {
	t.Helper()
	s := open(t, config(t, url))
	r := s.Submit(t.Context(), a)
	if !json.Valid(r.Evidence) {
		t.Errorf("evidence %q is no JSON", r.Evidence)
	}
	return r
}

// TestSubmitMessage has a row for every message of every client, read in its source.
func TestSubmitMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		client  string
		code    int
		message string
		want    intents.Verdict
	}{
		{"geth, case 64", -32000, "already known", accepted},
		{"parity, case 64", -32010, "known transaction: 0xabc", accepted},
		{"nethermind, case 64", -32010, "AlreadyKnown", accepted},
		{"anvil, case 64", -32000, "transaction already imported", accepted},
		{"erigon", -32000, "existing txn with same hash", accepted},
		{"erigon", -32000, "mined", accepted},
		{"besu", -32000, "Known transaction", accepted},
		{"zksync", -32000, "known transaction. transaction with hash 0xabc is already in the system", accepted},
		{"anyone", -32000, "unknown transaction", unknown},
		{"anyone", -32000, "could not be determined", unknown},

		{"geth, case 65", -32000, "nonce too low: next nonce 8, tx nonce 7", unknown},
		{"besu", -32001, "Nonce too low", unknown},
		{"nethermind", -32010, "OldNonce", unknown},
		{"geth", -32000, "replacement transaction underpriced", unknown},
		{"erigon through ankr", -32000, "INTERNAL_ERROR: could not replace existing tx", unknown},
		{"nethermind", -32010, "OwnNonceAlreadyUsed", unknown},
		{"anvil", -32003, "insufficient gas price to replace existing transaction", unknown},

		{"geth", -32000, "nonce too high", notSent},
		{"geth", -32000, "gapped-nonce tx from delegated accounts", notSent},
		{"nethermind", -32010, "nonce too far in future", notSent},
		{"nethermind", -32010, "NonceGap", notSent},
		{"besu", -32006, "Nonce too high", notSent},
		{"besu", -32000, "Transaction nonce is too distant from current sender nonce", notSent},
		{"besu", -32000, "An invalid transaction with a lower nonce exists", notSent},
		{"geth", -32000, "transaction underpriced: gas tip cap 0, minimum needed 1", notSent},
		{"geth", -32000, "transaction gas price below minimum", notSent},
		{"geth", -32000, "max fee per gas less than block base fee: address 0x1", notSent},
		{"erigon", -32000, "fee too low", notSent},
		{"nethermind", -32010, "FeeTooLowToCompete", notSent},
		{"besu", -32009, "Gas price below configured minimum gas price", notSent},
		{"besu", -32009, "gasPrice is below current base fee", notSent},
		{"reth", -32003, "transaction priority fee below minimum required priority fee 5", notSent},
		{"geth", -32000, "txpool is full", notSent},
		{"geth", -32000, "future transaction tries to replace pending", notSent},
		{"geth", -32000, "account limit exceeded", notSent},
		{"geth", -32000, "in-flight transaction limit reached for delegated accounts", notSent},
		{"geth", -32000, "authority already reserved", notSent},
		{"geth", -32000, "address already reserved", notSent},
		{"erigon", -32000, "queued sub-pool is full", notSent},
		{"erigon", -32000, "spammer", notSent},
		{"erigon", -32000, "can't replace blob-txn with a non-blob-txn", notSent},
		{"nethermind", -32010, "pending transaction type conflict", notSent},
		{"arbitrum", -32000, "sequencer pending tx pool full, please try again", notSent},
		{"geth", -32000, "insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1", notSent},
		{"geth", -32000, "insufficient funds for transfer", notSent},
		{"besu", -32004, "Upfront cost exceeds account balance", notSent},
		{"geth", -32000, "tx fee (1.23 ether) exceeds the configured cap (1.00 ether)", notSent},
		{"besu", -32000, "Transaction fee cap exceeded", notSent},
		{"geth", -32000, "exceeds block gas limit", notSent},
		{"besu", -32005, "Transaction gas limit exceeds block gas limit", notSent},
		{"nethermind", -32010, "gas limit reached", notSent},
		{"nethermind", -32010, "node is syncing", notSent},
		{"besu", -32008, "Initial sync is still in progress", notSent},
		{"geth", -32000, "oversized data: transaction size 1, limit 0", notSent},
		{"geth", -32000, "only replay-protected (EIP-155) transactions allowed over RPC", notSent},
		{"alchemy", 429, "Your app has exceeded its compute units per second capacity", notSent},
		{"infura", -32005, "project ID request rate exceeded", notSent},
		{"others", -32016, "over rate limit", notSent},
		{"others", 429, "slow down", notSent},

		{"geth", -32000, "intrinsic gas too low: gas 20000, minimum needed 21000", unknown},
		{"besu", -32003, "Intrinsic gas exceeds gas limit", unknown},
		{"geth", -32000, "insufficient gas for floor data gas cost", unknown},
		{"geth", -32000, "transaction gas limit too high (cap: 1, tx: 2)", unknown},
		{"besu", -32005, "Transaction gas limit cap exceeded", unknown},
		{"geth, case 75", -32000, "invalid sender: invalid chain id for signer: have 11155111 want 1", unknown},
		{"geth", -32000, "max priority fee per gas higher than max fee per gas", unknown},
		{"geth", -32000, "transaction type not supported", unknown},
		{"erigon", -32000, "RLPTooLong", unknown},
		{"nethermind", -32010, "InvalidTxChainId: expected 1", unknown},
		{"besu", -32002, "Invalid signature", unknown},
		{"besu", -32000, "Wrong chainId", unknown},
		{"reth", -32602, "failed to decode signed transaction", unknown},
		{"geth", -32002, "request timed out", unknown},
		{"besu", -32603, "Internal error", unknown},
		{"a rollup", 3, "execution reverted: already known", unknown},
		{"anyone", -32005, "limit", unknown},
		{"anyone", -32000, "", unknown},
	}
	a := attempt(t)
	for _, tt := range tests {
		msg, _ := json.Marshal(tt.message)
		r := submitTo(t, says(t, 200, fmt.Sprintf(`{"jsonrpc":"2.0","id":{id},"error":{"code":%d,"message":%s}}`, tt.code, msg)), a)
		if r.Verdict != tt.want || (r.Verdict == accepted) != (r.Ref == a.Name) {
			t.Errorf("%s: %d %q = %v, ref %q; want %v", tt.client, tt.code, tt.message, r.Verdict, r.Ref, tt.want)
		}
	}
}

// TestSubmitReply is case 81 and what else answers a send.
func TestSubmitReply(t *testing.T) {
	t.Parallel()
	a := attempt(t)
	other := "0x" + strings.Repeat("ab", 32)
	tests := []struct {
		name   string
		status int
		body   string
		want   intents.Verdict
	}{
		{"our hash", 200, `{"jsonrpc":"2.0","id":{id},"result":"` + a.Name + `"}`, accepted},
		{"case 81: plain text", 200, `invalid host specified`, unknown},
		{"case 81: 502", 502, `<html>`, unknown},
		{"case 81: empty", 200, ``, unknown},
		{"case 81: truncated", 200, `{"jsonrpc":"2.0","id":{id},"result":"` + a.Name, unknown},
		{"case 81: wrong id", 200, `{"jsonrpc":"2.0","id":99,"result":"` + a.Name + `"}`, unknown},
		{"case 81: wrong id, known", 200, `{"jsonrpc":"2.0","id":99,"error":{"code":-32000,"message":"already known"}}`, unknown},
		{"case 81: another hash", 200, `{"jsonrpc":"2.0","id":{id},"result":"` + other + `"}`, unknown},
		{"case 81: empty hash", 200, `{"jsonrpc":"2.0","id":{id},"result":"0x` + strings.Repeat("0", 64) + `"}`, unknown},
		{"case 81: null", 200, `{"jsonrpc":"2.0","id":{id},"result":null}`, unknown},
		{"case 81: both", 200, `{"jsonrpc":"2.0","id":{id},"result":"` + a.Name + `","error":{"code":-1,"message":"already known"}}`, unknown},
		{"case 81: result is an object", 200, `{"jsonrpc":"2.0","id":{id},"result":{}}`, unknown},
		{"a list", 200, `[{"jsonrpc":"2.0","id":{id},"result":"` + a.Name + `"}]`, unknown},
		{"400 with JSON-RPC", 400, `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"already known"}}`, accepted},
		{"400", 400, `bad`, unknown},
		{"401", 401, ``, notSent}, {"403", 403, ``, notSent}, {"404", 404, ``, notSent}, {"413", 413, ``, notSent}, {"429", 429, ``, notSent},
		{"408", 408, ``, unknown}, {"499", 499, ``, unknown}, {"500", 500, ``, unknown}, {"503", 503, ``, unknown}, {"524", 524, ``, unknown},
	}
	for _, tt := range tests {
		r := submitTo(t, says(t, tt.status, tt.body), a)
		if r.Verdict != tt.want || r.Verdict != accepted && r.Ref != "" {
			t.Errorf("%s: %v, ref %q; want %v", tt.name, r.Verdict, r.Ref, tt.want)
		}
		if tt.status == 429 && (r.Calm != 7*time.Second || r.After != 7*time.Second) {
			t.Errorf("429 with Retry-After 7: calm %v, after %v", r.Calm, r.After)
		}
		if strings.Contains(tt.name, "another hash") && !strings.Contains(string(r.Evidence), "another hash") {
			t.Errorf("%s: no alarm in %s", tt.name, r.Evidence)
		}
	}
}

// TestSubmitRedirect: a redirect that keeps the method would send the bytes elsewhere.
func TestSubmitRedirect(t *testing.T) {
	t.Parallel()
	var landed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { landed.Add(1) }))
	t.Cleanup(other.Close)
	for _, code := range []int{301, 302, 307, 308} {
		redirect := http.RedirectHandler(other.URL, code)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if !asksChain(w, b) {
				redirect.ServeHTTP(w, r)
			}
		}))
		if r := submitTo(t, srv.URL, attempt(t)); r.Verdict != unknown {
			t.Errorf("%d = %v, want unknown", code, r.Verdict)
		}
		srv.Close()
	}
	if n := landed.Load(); n != 0 {
		t.Errorf("%d sends landed elsewhere", n)
	}
}

// TestSubmitUnfit: bytes that are not what they are called, or for another chain, stay (case 75).
func TestSubmitUnfit(t *testing.T) {
	t.Parallel()
	a := attempt(t)
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(srv.Close)
	named := a
	named.Name = "0x" + strings.Repeat("ab", 32)
	if r := submitTo(t, srv.URL, named); r.Verdict != notSent {
		t.Errorf("bytes under another name = %v, want not_sent", r.Verdict)
	}
	cfg := config(t, srv.URL)
	cfg.ChainID = 1
	if r := open(t, cfg).Submit(t.Context(), a); r.Verdict != notSent {
		t.Errorf("case 75: bytes for another chain = %v, want not_sent", r.Verdict)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

// TestSubmitLanded is cases 64 and 65 on a real node: the same bytes while they wait, and after they were mined.
func TestSubmitLanded(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	in, a := prepared(t, s, 0)
	for i := range 5 {
		if r := s.Submit(t.Context(), a); r.Verdict != accepted || r.Ref != a.Name {
			t.Fatalf("case 64: Submit %d = %v: %s", i, r.Verdict, r.Evidence)
		}
	}
	c.Mine()
	c.Mine()
	if r := s.Submit(t.Context(), a); r.Verdict != unknown && r.Verdict != accepted {
		t.Errorf("case 65: Submit of what was mined = %v: %s", r.Verdict, r.Evidence)
	}
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || o.Ref != a.Name {
		t.Errorf("case 65: %v, ref %q; want settled by its own hash", o.Fact, o.Ref)
	}
	if n := effects(t, c, 0); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}
