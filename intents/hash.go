package intents

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"time"
)

// Hash is what "same content" means.
type Hash [sha256.Size]byte

// String gives the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Hash is taken over route, account, destination (canonical), asset, amount, not_before, expires_at, lane and metadata,
// each with its length before it. Id and traceparent are not content.
func (in Intent) Hash() Hash {
	h := sha256.New()
	for _, field := range []string{in.Route, in.Account, in.Destination, in.Asset, in.Amount.String(), stamp(in.NotBefore), stamp(in.ExpiresAt), in.Lane} {
		put(h, field)
	}
	for _, k := range slices.Sorted(maps.Keys(in.Metadata)) {
		put(h, k)
		put(h, in.Metadata[k])
	}
	return Hash(h.Sum(nil))
}

func put(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}

// stamp writes a time to the microsecond, which is what the database keeps.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}
