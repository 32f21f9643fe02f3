package intents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"
)

// Scope is what a token lets its holder do over HTTP. None includes another.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // see everything but secrets and stored bytes
	ScopeSubmit  Scope = "submit"  // create intents, and call off what was not claimed
	ScopeOperate Scope = "operate" // authorize, decide reviews, replay dead letters, pause routes
)

// ParseScopes reads scopes with commas between. Errors: *InvalidError.
func ParseScopes(text string) ([]Scope, error) {
	var all []Scope
	for name := range strings.SplitSeq(text, ",") {
		s := Scope(strings.TrimSpace(name))
		if s != ScopeRead && s != ScopeSubmit && s != ScopeOperate {
			return nil, &InvalidError{Field: "scope", Value: name, Want: "read, submit, operate, or several with commas between"}
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// Token is a bearer token, without its secret.
type Token struct {
	Name      string // stands in timelines for what is done with it
	Scopes    []Scope
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: it was not
	RevokedBy string
}

// May says whether the token has a scope.
func (t Token) May(s Scope) bool { return slices.Contains(t.Scopes, s) }

// Check says what a new token lacks. Errors: *InvalidError.
func (t Token) Check(now time.Time) error {
	switch {
	case !isName(t.Name, maxName):
		return &InvalidError{Field: "name", Value: t.Name, Want: wantName}
	case len(t.Scopes) == 0:
		return &InvalidError{Field: "scope", Want: "at least one of read, submit, operate"}
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return &InvalidError{Field: "expires", Value: t.ExpiresAt.Format(time.RFC3339), Want: "a time to come"}
	}
	return nil
}

// secretPrefix tells people and scanners of repositories what they have found.
const secretPrefix = "rlr_"

// NewSecret makes the secret of a token: 32 random bytes.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return secretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashSecret is what is kept of a secret, and looked up. A secret has too much chance in it to be guessed from that.
func HashSecret(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
