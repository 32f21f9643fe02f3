package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/sendertest"
)

var (
	_ relayer.Sender = (*evm.Sender)(nil)
	_ relayer.Canon  = (*evm.Sender)(nil)
)

const secretPath = "/v2/SECRETKEY-1?apikey=SECRETKEY-2"

// startChain runs a chain that mines when it is told to.
func startChain(t *testing.T, alloc types.GenesisAlloc) *chain.Chain {
	t.Helper()
	c, err := chain.Start(t.Context(), chain.Config{BlockTime: -1, Alloc: alloc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func config(t *testing.T, url string) evm.Config {
	return evm.Config{
		RPCURL: url, ChainID: chain.ID, Signers: []evm.Signer{evm.NewKeystore(chain.DevKey())}, Confirmations: 2,
		MaxFeePerGas: big.NewInt(50 * params.GWei), Timeout: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func open(t *testing.T, cfg evm.Config) *evm.Sender {
	t.Helper()
	s, err := evm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// payment is the n-th, to an address of its own.
func payment(n int) intents.Intent {
	return intents.Intent{
		ID: fmt.Sprintf("pi_%04d", n), Route: "payouts", Account: "acct_1", Asset: "ETH",
		Destination: common.BigToAddress(big.NewInt(0xabc000 + int64(n))).Hex(), Amount: intents.NewAmount(int64(1000 + n)),
	}
}

// prepared plans and prepares the n-th payment in slot n.
func prepared(t *testing.T, s *evm.Sender, n int) (intents.Intent, intents.Attempt) {
	t.Helper()
	return preparedFor(t, s, payment(n), int64(n))
}

func preparedFor(t *testing.T, s *evm.Sender, in intents.Intent, nonce int64) (intents.Intent, intents.Attempt) {
	t.Helper()
	p, err := s.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.State, in.Cost, in.Slot = intents.Settling, p.Cost, slot(s, nonce)
	a, err := s.Prepare(t.Context(), in, in.Slot, intents.First, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in, a
}

func slot(s *evm.Sender, nonce int64) intents.Slot {
	return intents.Slot{ID: nonce + 1, Kind: intents.Counter, Scope: s.Scopes()[0], Number: nonce}
}

func decode(t *testing.T, a intents.Attempt) *types.Transaction {
	t.Helper()
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(a.Bytes); err != nil {
		t.Fatal(err)
	}
	return tx
}

func watch(in intents.Intent, as ...intents.Attempt) intents.Watch {
	return intents.Watch{Intent: in, Slot: as[0].Slot, Attempts: as}
}

func observe(t *testing.T, s *evm.Sender, w intents.Watch) intents.Observation {
	t.Helper()
	os, err := s.Observe(t.Context(), []intents.Watch{w})
	if err != nil {
		t.Fatal(err)
	}
	return os[0]
}

// gateway stands before a node, counts sends and misbehaves.
type gateway struct {
	*httptest.Server
	node  string
	mu    sync.Mutex
	mode  sendertest.Mode
	let   chan struct{}
	sends int
}

func newGateway(t *testing.T, node string) *gateway {
	g := &gateway{node: node, let: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(func() { g.turn(sendertest.Dead) })
	return g
}

func (g *gateway) turn(m sendertest.Mode) {
	g.mu.Lock()
	if g.mode == sendertest.Hangs {
		close(g.let)
		g.let = make(chan struct{})
	}
	g.mode = m
	g.mu.Unlock()
	if m == sendertest.Dead {
		g.Close()
	}
}

func (g *gateway) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	mode, let := sendertest.Works, g.let
	if bytes.Contains(body, []byte(`"eth_sendRawTransaction"`)) {
		g.mu.Lock()
		g.sends++
		mode, let = g.mode, g.let
		g.mu.Unlock()
	}
	if mode == sendertest.Hangs {
		select {
		case <-let:
		case <-r.Context().Done():
		}
		return
	}
	answer, err := forward(r.Context(), g.node, body)
	if mode == sendertest.Loses || err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

func forward(ctx context.Context, node string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, node, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func TestSender(t *testing.T) {
	sendertest.Run(t, sendertest.Harness{
		Once: true, Secrets: []string{"SECRETKEY"},
		Open: func(t *testing.T) *sendertest.Stage {
			c := startChain(t, nil)
			g := newGateway(t, c.URL)
			g.Config.SetKeepAlivesEnabled(false)
			return &sendertest.Stage{
				Sender: open(t, config(t, g.URL+secretPath)), Intent: payment, Turn: g.turn,
				Calls: func() int {
					g.mu.Lock()
					defer g.mu.Unlock()
					return g.sends
				},
				Settle:  func() { c.Mine(); c.Mine() },
				Effects: func(n int) int { return effects(t, c, n) },
			}
		},
	})
}

func effects(t *testing.T, c *chain.Chain, n int) int {
	to := payment(n).Destination
	all, err := c.Effects(t.Context(), []string{to})
	if err != nil {
		t.Error(err)
	}
	return all[to]
}

// call is one JSON-RPC call as a scripted node gets it.
type call struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

// script is a node of which each method answers with a JSON text: a result, or with the prefix "error:" an error.
type script map[string]string

func (s script) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var calls []call
	if !bytes.HasPrefix(body, []byte("[")) {
		body = []byte("[" + string(body) + "]")
	}
	if json.Unmarshal(body, &calls) != nil {
		http.Error(w, "no JSON-RPC", http.StatusBadRequest)
		return
	}
	var answers []string
	for _, c := range calls {
		answers = append(answers, s.answer(c))
	}
	fmt.Fprint(w, "["+strings.Join(answers, ",")+"]")
}

func (s script) answer(c call) string {
	text, ok := s[c.Method]
	if !ok {
		text = "null"
	}
	if e, ok := strings.CutPrefix(text, "error:"); ok {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, c.ID, e)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, text)
}

// scripted gives the URL of a script. All it is asked are batches; sends go to says.
func scripted(t *testing.T, s script) string {
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// quiet is a node with money and no activity.
func quiet() script {
	return script{
		"eth_chainId": `"0x539"`, "eth_getBlockByNumber": `{"baseFeePerGas":"0x3b9aca00","hash":"0x01"}`,
		"eth_getBalance": `"0xde0b6b3a7640000"`, "eth_maxPriorityFeePerGas": `"0x3b9aca00"`, "eth_estimateGas": `"0x5208"`,
		"eth_getTransactionCount": `"0x7"`, "eth_blockNumber": `"0x64"`,
	}
}

// nextOf is where the first signer's numbers would begin.
func nextOf(t *testing.T, s *evm.Sender) (int64, error) {
	t.Helper()
	all, err := s.Check(t.Context())
	return all[s.Scopes()[0]], err
}
