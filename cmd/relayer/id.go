package main

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// newID names an intent: pi_ and 26 characters that sort by time, to the millisecond.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	return "pi_" + base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding).EncodeToString(b[:])
}
