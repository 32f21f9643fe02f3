package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

// bare sends calls that were made before.
type bare struct {
	url         string
	from        common.Address
	connections int
	calls       [][]byte
	http        *http.Client
}

// newBare signs all transactions.
func newBare(url string, key *ecdsa.PrivateKey, count, connections int) (*bare, error) {
	b := &bare{url: url, from: crypto.PubkeyToAddress(key.PublicKey), connections: connections,
		http: &http.Client{Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}}}
	rules := types.LatestSignerForChainID(big.NewInt(chain.ID))
	for n := range count {
		to := recipient(n)
		tx, err := types.SignNewTx(key, rules, &types.DynamicFeeTx{
			ChainID: big.NewInt(chain.ID), Nonce: uint64(n), To: &to, Value: big.NewInt(1000), Gas: params.TxGas,
			GasFeeCap: big.NewInt(100 * params.GWei), GasTipCap: big.NewInt(params.GWei),
		})
		if err != nil {
			return nil, err
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		b.calls = append(b.calls, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["%s"]}`, n, hexutil.Encode(raw)))
	}
	return b, nil
}

// recipient is the n-th payment's.
func recipient(n int) common.Address { return common.BigToAddress(big.NewInt(0xabc0000 + int64(n))) }

// send makes the calls from one number up to another, one at a time on each connection.
func (b *bare) send(ctx context.Context, from, to int, accepted func(int64)) (time.Duration, error) {
	start := time.Now()
	var next, done atomic.Int64
	next.Store(int64(from))
	g, ctx := errgroup.WithContext(ctx)
	for range b.connections {
		g.Go(func() error {
			for n := next.Add(1) - 1; n < int64(to); n = next.Add(1) - 1 {
				if err := b.call(ctx, b.calls[n]); err != nil {
					return fmt.Errorf("bare: %w", err)
				}
				accepted(done.Add(1))
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(start), err
}

func (b *bare) call(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var r struct{ Result *common.Hash }
	if json.Unmarshal(answer, &r) != nil || r.Result == nil {
		return fmt.Errorf("not accepted: %s", answer)
	}
	return nil
}
