package evm

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
)

// DataKey is the key of an intent's metadata that holds the data of a contract call: 0x and hex digits. The destination is
// the contract, the amount is sent along. An amount is never 0, so a call carries 1 wei or more, and a contract that takes
// no value cannot be called. Metadata bounds the data to 255 bytes.
const DataKey = "evm.data"

// transfer is what a transaction does.
type transfer struct {
	to    common.Address
	value *big.Int
	data  []byte
}

// is says whether a transaction does exactly this.
func (t transfer) is(tx *types.Transaction) bool {
	return tx.To() != nil && *tx.To() == t.to && tx.Value().Cmp(t.value) == 0 && bytes.Equal(tx.Data(), t.data)
}

// payment is what an intent asks for, if the route may do it. Errors: *intents.RefusedError.
func (s *Sender) payment(in intents.Intent) (transfer, error) {
	t, err := s.meaning(in)
	if err == nil {
		err = s.allowed(in)
	}
	if err != nil {
		return transfer{}, &intents.RefusedError{Why: err.Error()}
	}
	return t, nil
}

// meaning reads an intent: a token's transfer where the asset is a token, else the amount and data to the destination. It
// judges what was sent earlier too, so it does not look at what the route allows now.
func (s *Sender) meaning(in intents.Intent) (transfer, error) {
	to, err := address(in.Destination, true)
	if err != nil {
		return transfer{}, err
	}
	if in.Amount.Sign() <= 0 || in.Amount.Big().BitLen() > 256 {
		return transfer{}, fmt.Errorf("amount %s is not within 1 and 2^256", in.Amount)
	}
	data, err := callData(in)
	if err != nil {
		return transfer{}, err
	}
	token, ok := s.cfg.Tokens[in.Asset]
	switch {
	case !ok:
		return transfer{to, in.Amount.Big(), data}, nil
	case data != nil:
		return transfer{}, fmt.Errorf("asset %q is a token: a transfer of it has no %s", in.Asset, DataKey)
	}
	return token.call(to, in.Amount.Big()), nil
}

// allowed holds an intent to the route's settings.
func (s *Sender) allowed(in intents.Intent) error {
	to, err := address(in.Destination, s.cfg.AllowZero)
	if err != nil {
		return err
	}
	if token, ok := s.cfg.Tokens[in.Asset]; ok {
		if to == token.Address {
			return fmt.Errorf("destination %s is the token itself", to)
		}
		return nil
	}
	if !slices.Contains(s.cfg.Assets, in.Asset) {
		return fmt.Errorf("asset %q is none of %v and no token", in.Asset, s.cfg.Assets)
	}
	return s.allowedData(in)
}

// allowedData refuses data where the route does not take it. Errors: *intents.InvalidError.
func (s *Sender) allowedData(in intents.Intent) error {
	if _, has := in.Metadata[DataKey]; has && !s.cfg.AllowData {
		return &intents.InvalidError{Field: DataKey, Want: "no data: the route has no allow-data"}
	}
	return nil
}

// callData gives the data of a call, nil where the intent has none. Errors: *intents.InvalidError, without the data.
func callData(in intents.Intent) ([]byte, error) {
	text, has := in.Metadata[DataKey]
	if !has {
		return nil, nil
	}
	data, err := hexutil.Decode(text)
	if err != nil || len(data) == 0 {
		return nil, &intents.InvalidError{Field: DataKey, Want: "0x and an even number of hex digits, at least two"}
	}
	return data, nil
}
