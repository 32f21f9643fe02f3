package chain

import (
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// devKey is the first account of the test mnemonic that Hardhat, Anvil and others use. Whoever sends money to it on a
// real chain has lost it.
const devKey = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

// DevKey is the funded key. Everybody knows it.
func DevKey() *ecdsa.PrivateKey {
	key, err := crypto.HexToECDSA(devKey)
	if err != nil {
		panic(err) // the constant is right
	}
	return key
}

// DevAddress is the funded account.
func DevAddress() common.Address { return crypto.PubkeyToAddress(DevKey().PublicKey) }

// WriteKeystore writes a key as a go-ethereum keystore file into dir and returns its path. The encryption is the light
// one, quick to open: good for a key that is no secret.
func WriteKeystore(dir string, key *ecdsa.PrivateKey, password string) (string, error) {
	k := &keystore.Key{Id: uuid4(), Address: crypto.PubkeyToAddress(key.PublicKey), PrivateKey: key}
	raw, err := keystore.EncryptKey(k, password, keystore.LightScryptN, keystore.LightScryptP)
	if err != nil {
		return "", fmt.Errorf("chain: encrypt key: %w", err)
	}
	path := filepath.Join(dir, "UTC--2020-01-01T00-00-00.000000000Z--"+hex.EncodeToString(k.Address[:]))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return "", fmt.Errorf("chain: write key: %w", err)
	}
	return path, nil
}

// uuid4 is a random UUID, which each keystore file has.
func uuid4() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}
