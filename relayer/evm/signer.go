package evm

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Signer owns an address and signs for it. Two signatures of one transaction may differ, that is why bytes are stored.
type Signer interface {
	// Address is the address it signs for; it never changes.
	Address() common.Address
	// SignTx signs tx for a chain and changes nothing else in it. Any error means: not now.
	SignTx(ctx context.Context, tx *types.Transaction, chain *big.Int) (*types.Transaction, error)
}

// sign has tx signed and checks what came back: the same transaction, from our address.
func (a *account) sign(ctx context.Context, tx *types.Transaction, chain *big.Int) (*types.Transaction, error) {
	signed, err := a.signer.SignTx(ctx, tx, chain)
	if err != nil {
		return nil, fmt.Errorf("sign for %s: %w", a.from, err)
	}
	rules := types.LatestSignerForChainID(chain)
	from, err := types.Sender(rules, signed)
	if err != nil {
		return nil, fmt.Errorf("sign for %s: %w", a.from, err)
	}
	if from != a.from || signed.Type() != tx.Type() || rules.Hash(signed) != rules.Hash(tx) {
		return nil, fmt.Errorf("sign for %s: got another transaction, or one of %s", a.from, from)
	}
	return signed, nil
}

// Keystore signs with a key from a go-ethereum keystore file, kept in memory.
type Keystore struct {
	address common.Address
	key     *ecdsa.PrivateKey
}

// OpenKeystore decrypts a keystore file, which takes about a second. Errors tell the file, never its content.
func OpenKeystore(file, passphrase string) (*Keystore, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	key, err := keystore.DecryptKey(b, passphrase)
	if errors.Is(err, keystore.ErrDecrypt) {
		return nil, fmt.Errorf("keystore %s: wrong passphrase", file)
	}
	if err != nil {
		return nil, fmt.Errorf("keystore %s: not a keystore file", file)
	}
	var says struct {
		Address string `json:"address"`
	}
	if json.Unmarshal(b, &says) == nil && says.Address != "" && common.HexToAddress(says.Address) != key.Address {
		return nil, fmt.Errorf("keystore %s: its key is of %s, not of the address it names", file, key.Address)
	}
	return &Keystore{key.Address, key.PrivateKey}, nil
}

// NewKeystore signs with a key that is in memory already: for tests and dev chains.
func NewKeystore(key *ecdsa.PrivateKey) *Keystore {
	return &Keystore{crypto.PubkeyToAddress(key.PublicKey), key}
}

// Address is the key's address.
func (k *Keystore) Address() common.Address { return k.address }

// SignTx signs at once. The same transaction gives the same bytes.
func (k *Keystore) SignTx(_ context.Context, tx *types.Transaction, chain *big.Int) (*types.Transaction, error) {
	return types.SignTx(tx, types.LatestSignerForChainID(chain), k.key)
}

// String shows the address alone.
func (k *Keystore) String() string { return "keystore of " + k.address.Hex() }

// GoString shows the address alone.
func (k *Keystore) GoString() string { return k.String() }
