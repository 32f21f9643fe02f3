package chain

import (
	"context"
	"errors"
	"math/big"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

// start runs a chain whose blocks come from Mine.
func start(t *testing.T, cfg Config) (*Chain, *ethclient.Client) {
	t.Helper()
	if cfg.BlockTime == 0 {
		cfg.BlockTime = -1
	}
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ethclient.DialContext(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, client
}

func signed(t *testing.T, nonce uint64, to common.Address, value int64, data []byte) *types.Transaction {
	tx, err := types.SignNewTx(DevKey(), types.LatestSignerForChainID(big.NewInt(ID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(ID), Nonce: nonce, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11), Gas: 100_000,
		To: &to, Value: big.NewInt(value), Data: data,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func send(t *testing.T, client *ethclient.Client, tx *types.Transaction) common.Hash {
	t.Helper()
	if err := client.SendTransaction(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	return tx.Hash()
}

var (
	alice = common.HexToAddress("0xa11ce00000000000000000000000000000000001")
	bob   = common.HexToAddress("0xb0b0000000000000000000000000000000000002")
)

// rejects is a contract that reverts: PUSH1 0 PUSH1 0 REVERT.
func rejects() (common.Address, types.GenesisAlloc) {
	at := common.HexToAddress("0xdead000000000000000000000000000000000003")
	return at, types.GenesisAlloc{at: {Balance: new(big.Int), Code: []byte{0x60, 0, 0x60, 0, 0xfd}}}
}

func TestTransferOverHTTP(t *testing.T) {
	c, client := start(t, Config{})
	if id, err := client.ChainID(t.Context()); err != nil || id.Int64() != ID {
		t.Errorf("chain id %v, %v", id, err)
	}
	hash := send(t, client, signed(t, 0, alice, 5, nil))
	if _, err := client.TransactionReceipt(t.Context(), hash); !errors.Is(err, ethereum.NotFound) {
		t.Errorf("receipt before any block: %v", err)
	}
	c.Mine()
	if r, err := client.TransactionReceipt(t.Context(), hash); err != nil || r.Status != 1 {
		t.Errorf("receipt: %+v, %v", r, err)
	}
	if b, err := client.BalanceAt(t.Context(), alice, nil); err != nil || b.Int64() != 5 {
		t.Errorf("balance %v, %v", b, err)
	}
}

func TestMinesAtBlockTimeWithoutTransactions(t *testing.T) {
	c, client := start(t, Config{BlockTime: 10 * time.Millisecond})
	await(t, client, 3)
	c.Hold(true)
	before, err := client.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Mine()
	if after, err := client.BlockNumber(t.Context()); err != nil || after != before+1 {
		t.Errorf("held at block %d, after one Mine at %d, %v", before, after, err)
	}
	c.Hold(false)
	await(t, client, before+3)
}

// await returns when the chain has the block.
func await(t *testing.T, client *ethclient.Client, block uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := client.BlockNumber(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n >= block {
			return
		}
		<-tick.C
	}
}

func TestEffectsAreReadFromBlocks(t *testing.T) {
	reverter, alloc := rejects()
	c, client := start(t, Config{Alloc: alloc})
	send(t, client, signed(t, 0, alice, 5, nil))
	send(t, client, signed(t, 1, bob, 1, nil))
	c.Mine()
	send(t, client, signed(t, 2, bob, 1, nil))
	send(t, client, signed(t, 3, reverter, 1, nil)) // fails
	send(t, client, signed(t, 4, alice, 0, nil))    // moves nothing
	c.Mine()
	send(t, client, signed(t, 5, alice, 7, nil)) // not in a block
	lower := "0xa11ce00000000000000000000000000000000001"
	got, err := c.Effects(t.Context(), []string{lower, bob.Hex(), reverter.Hex()})
	if err != nil {
		t.Fatal(err)
	}
	for dest, want := range map[string]int{lower: 1, bob.Hex(): 2, reverter.Hex(): 0} {
		if n, ok := got[dest]; !ok || n != want {
			t.Errorf("%s has %d effects (%v), want %d", dest, n, ok, want)
		}
	}
}

// What the EVM sender asks of a node, on this one, over HTTP.
func TestNodeAnswers(t *testing.T) {
	c, client := start(t, Config{})
	var hashes []common.Hash
	for n := range uint64(3) {
		hashes = append(hashes, send(t, client, signed(t, n, alice, 1, nil)))
	}
	if n, err := client.PendingNonceAt(t.Context(), DevAddress()); err != nil || n != 3 {
		t.Errorf("pending nonce %d, %v", n, err)
	}
	c.Mine()
	for range 40 {
		c.Mine()
	}
	t.Run("fee history", func(t *testing.T) {
		h, err := client.FeeHistory(t.Context(), 5, nil, []float64{10, 50})
		if err != nil || len(h.BaseFee) != 6 || len(h.Reward) != 5 {
			t.Errorf("%+v, %v", h, err)
		}
	})
	t.Run("receipts in one batch", func(t *testing.T) { receiptBatch(t, client, hashes) })
	t.Run("tags", func(t *testing.T) { tags(t, client) })
	t.Run("gas and tip", func(t *testing.T) {
		gas, err := client.EstimateGas(t.Context(), ethereum.CallMsg{From: DevAddress(), To: &bob, Value: big.NewInt(1)})
		if err != nil || gas != 21_000 {
			t.Errorf("gas %d, %v", gas, err)
		}
		if tip, err := client.SuggestGasTipCap(t.Context()); err != nil || tip.Sign() < 0 {
			t.Errorf("tip %v, %v", tip, err)
		}
	})
	t.Run("nonce at a height", func(t *testing.T) {
		n, err := client.NonceAt(t.Context(), DevAddress(), big.NewInt(0))
		if err != nil || n != 0 {
			t.Errorf("nonce %d, %v", n, err)
		}
	})
	t.Run("same bytes again", func(t *testing.T) {
		if err := client.SendTransaction(t.Context(), signed(t, 0, alice, 1, nil)); err == nil {
			t.Error("a mined transaction is taken again")
		}
	})
}

func receiptBatch(t *testing.T, client *ethclient.Client, hashes []common.Hash) {
	got := make([]*types.Receipt, len(hashes)+1)
	var batch []rpc.BatchElem
	for i, h := range append(hashes, common.Hash{1}) {
		batch = append(batch, rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{h}, Result: &got[i]})
	}
	if err := client.Client().BatchCallContext(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for i, h := range hashes {
		if batch[i].Error != nil || got[i] == nil || got[i].TxHash != h {
			t.Errorf("receipt %d: %+v, %v", i, got[i], batch[i].Error)
		}
	}
	if last := len(hashes); batch[last].Error != nil || got[last] != nil {
		t.Errorf("receipt of an unknown hash: %+v, %v", got[last], batch[last].Error)
	}
}

// tags checks that safe is the head and that finalized moves every 32 blocks, the simulated beacon's epoch.
func tags(t *testing.T, client *ethclient.Client) {
	head, err := client.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[rpc.BlockNumber]uint64{rpc.SafeBlockNumber: head, rpc.FinalizedBlockNumber: head / 32 * 32} {
		h, err := client.HeaderByNumber(t.Context(), big.NewInt(int64(tag)))
		if err != nil || h.Number.Uint64() != want {
			t.Errorf("%s is %v, %v; want block %d", tag, h, err, want)
		}
	}
}

func TestReorg(t *testing.T) {
	for _, drop := range []bool{false, true} {
		c, client := start(t, Config{})
		hash := send(t, client, signed(t, 0, alice, 1, nil))
		c.Mine()
		before, err := client.TransactionReceipt(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		send(t, client, signed(t, 1, bob, 1, nil)) // pending
		if err := c.Reorg(t.Context(), 1, drop); err != nil {
			t.Fatal(err)
		}
		if b, err := client.HeaderByNumber(t.Context(), before.BlockNumber); err != nil || b.Hash() == before.BlockHash {
			t.Errorf("block %d is the old one: %v", before.BlockNumber, err)
		}
		_, err = client.TransactionReceipt(t.Context(), hash)
		if gone := errors.Is(err, ethereum.NotFound); gone != drop {
			t.Errorf("drop %v: receipt after the reorg: %v", drop, err)
		}
		if err := c.Reorg(t.Context(), 100, drop); !errors.Is(err, ErrShort) {
			t.Errorf("reorg below the first block: %v", err)
		}
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Start(t.Context(), Config{HTTPAddr: l.Addr().String()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("started on a taken port: %v", err)
	}
	// The same, past the check that spares us the backend's leftovers.
	if _, err := newBackend("127.0.0.1", l.Addr().(*net.TCPAddr).Port, nil, 0, nil); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the backend's panic is not an error of the port: %v", err)
	}
}

func TestKeystoreFile(t *testing.T) {
	path, err := WriteKeystore(t.TempDir(), DevKey(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keystore.DecryptKey(raw, "secret")
	if err != nil || key.Address != DevAddress() {
		t.Errorf("key %v, %v", key, err)
	}
	if want := common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"); DevAddress() != want {
		t.Errorf("address %v, want %v", DevAddress(), want)
	}
	if _, err := keystore.DecryptKey(raw, "wrong"); err == nil {
		t.Error("opens with a wrong password")
	}
}
