// Package memstore is the model of the store: everything in memory under one lock, nothing batched, simple enough to be
// right by reading. Tests and simulations run on it, and Postgres is compared with it.
package memstore

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Config says how a [Store] is made. The zero Config is ready to use.
type Config struct {
	Now   func() time.Time // the "database's" clock; default time.Now
	Actor string           // who stands in the timeline for what the store's own process does; default "memstore"
}

// Store keeps intents in memory. Its methods may be called at the same time; each is one commit. It loses everything
// with its process and never answers intents.ErrUnavailable or intents.ErrUnsure.
type Store struct {
	cfg Config

	mu       sync.Mutex
	seq      int64     // the last key given out
	last     time.Time // the last time told
	byID     map[string]*record
	byKey    map[int64]*record
	tombs    map[string]tomb
	slots    map[int64]*slot
	accounts map[pot]*intents.Account
	credits  map[pot]map[string]intents.Entry // by reference
	captured map[pot]map[string]intents.Entry // by intent id
	signers  map[string]*intents.Signer
	routes   map[string]intents.RouteState
	leases   map[string]lease
	letters  map[letter]*intents.BuriedLetter
}

// New makes an empty store.
func New(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Actor = cmp.Or(cfg.Actor, "memstore")
	return &Store{
		cfg:      cfg,
		byID:     map[string]*record{},
		byKey:    map[int64]*record{},
		tombs:    map[string]tomb{},
		slots:    map[int64]*slot{},
		accounts: map[pot]*intents.Account{},
		credits:  map[pot]map[string]intents.Entry{},
		captured: map[pot]map[string]intents.Entry{},
		signers:  map[string]*intents.Signer{},
		routes:   map[string]intents.RouteState{},
		leases:   map[string]lease{},
		letters:  map[letter]*intents.BuriedLetter{},
	}
}

// Ping says that the store can be written to.
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }

// begin opens a commit: the lock, and the time it is dated to. The caller unlocks.
func (s *Store) begin() time.Time {
	s.mu.Lock()
	return s.now()
}

// now tells the time to the microsecond, as Postgres keeps it, and never the same time twice.
func (s *Store) now() time.Time {
	now := s.cfg.Now().UTC().Truncate(time.Microsecond)
	if !now.After(s.last) {
		now = s.last.Add(time.Microsecond)
	}
	s.last = now
	return now
}

// next gives out a key. Intents and slots share one sequence.
func (s *Store) next() int64 {
	s.seq++
	return s.seq
}
