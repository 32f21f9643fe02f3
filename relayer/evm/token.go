package evm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// Token is an ERC-20 contract. A payment of it is transfer(destination, amount), with a value of 0.
type Token struct {
	Address common.Address
}

// ParseTokens reads contract addresses by asset, written as destinations are. Errors: *intents.InvalidError.
func ParseTokens(byAsset map[string]string) (map[string]Token, error) {
	tokens := make(map[string]Token, len(byAsset))
	for _, asset := range slices.Sorted(maps.Keys(byAsset)) {
		at, err := ParseAddress("tokens."+asset, byAsset[asset])
		if err != nil {
			return nil, err
		}
		tokens[asset] = Token{at}
	}
	return tokens, nil
}

func (s *Sender) isToken(in intents.Intent) bool {
	_, token := s.cfg.Tokens[in.Asset]
	return token
}

// call is transfer(to, amount) as ABI has it: the signature's first four bytes, then the arguments in words.
func (t Token) call(to common.Address, amount *big.Int) transfer {
	return transfer{to: t.Address, value: new(big.Int), data: abiCall("transfer(address,uint256)", to, amount)}
}

// abiCall packs a call's arguments by the types of its signature.
func abiCall(signature string, args ...any) []byte {
	types := strings.TrimSuffix(signature[strings.IndexByte(signature, '(')+1:], ")")
	var all abi.Arguments
	for name := range strings.SplitSeq(types, ",") {
		typ, err := abi.NewType(name, "", nil)
		if err != nil { // cannot be: signatures are ours
			panic(err)
		}
		all = append(all, abi.Argument{Type: typ})
	}
	packed, err := all.Pack(args...)
	if err != nil { // cannot be: so are the arguments
		panic(err)
	}
	return append(crypto.Keccak256([]byte(signature))[:4], packed...)
}

// funded asks whether the signer has the tokens now; nothing is asked of a payment in the native coin. Its error means:
// not now.
func (s *Sender) funded(ctx context.Context, acct *account, in intents.Intent) error {
	token, ok := s.cfg.Tokens[in.Asset]
	if !ok {
		return nil
	}
	var word hexutil.Bytes
	args := struct {
		To   common.Address `json:"to"`
		Data hexutil.Bytes  `json:"data"`
	}{token.Address, abiCall("balanceOf(address)", acct.from)}
	err := s.batch(ctx, []rpc.BatchElem{{Method: "eth_call", Args: []any{args, "latest"}, Result: &word}})
	if err != nil {
		return err
	}
	if len(word) != 32 {
		return fmt.Errorf("%s at %s answers balanceOf with %d bytes: no ERC-20 token", in.Asset, token.Address, len(word))
	}
	if have := new(big.Int).SetBytes(word); have.Cmp(in.Amount.Big()) < 0 {
		return fmt.Errorf("signer %s has %v of %s and needs %v", acct.from, have, in.Asset, in.Amount)
	}
	return nil
}

// logLine is an event of a receipt.
type logLine struct {
	Address common.Address `json:"address"`
	Topics  []common.Hash  `json:"topics"`
	Data    hexutil.Bytes  `json:"data"`
}

// logs are the events of a receipt. Evidence shows the first of them.
type logs []logLine

// mostLogs is how many evidence shows.
const mostLogs = 8

// MarshalJSON is for evidence.
func (l logs) MarshalJSON() ([]byte, error) {
	return json.Marshal([]logLine(l[:min(len(l), mostLogs)]))
}

// unmoved says why a receipt of success does not show a token's payment: status 1 is what the contract makes of it. Some
// tokens answer false instead of reverting, some keep a part of the amount. Only Transfer(signer, destination, amount) of
// the token itself counts.
func (s *Sender) unmoved(acct *account, in intents.Intent, logs logs) string {
	token, ok := s.cfg.Tokens[in.Asset]
	if !ok {
		return ""
	}
	word := func(a common.Address) common.Hash { return common.BytesToHash(a[:]) }
	want := []common.Hash{
		crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)")), word(acct.from), word(common.HexToAddress(in.Destination)),
	}
	for _, l := range logs {
		if l.Address == token.Address && slices.Equal(l.Topics, want) && len(l.Data) == 32 && new(big.Int).SetBytes(l.Data).Cmp(in.Amount.Big()) == 0 {
			return ""
		}
	}
	return "the token shows no transfer of the amount from the signer to the destination"
}
