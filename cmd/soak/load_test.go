package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// weakStore fails every other time, and keeps what it was given then all the same when it is sly.
type weakStore struct {
	mu    sync.Mutex
	sly   bool
	calls int
	rows  map[string]intents.Intent
}

var errWeak = errors.New("weak")

func (s *weakStore) Create(_ context.Context, in intents.Intent, _ bool, _ string) (intents.Intent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	failed := s.calls%2 == 1
	if !failed || s.sly {
		s.rows[in.ID] = in
	}
	if failed {
		return intents.Intent{}, errWeak
	}
	return in, nil
}

func (s *weakStore) Get(_ context.Context, id string) (intents.Intent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.rows[id]
	if !ok {
		return in, intents.ErrNotFound
	}
	return in, nil
}

// forgetfulQueue loses the first messages; of a later one that is an intent it makes a row.
type forgetfulQueue struct {
	mu    sync.Mutex
	loses int
	store *weakStore
	all   int
}

func (q *forgetfulQueue) Publish(_ context.Context, topic string, body []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all++
	m, err := intents.Decode(body)
	if err != nil || q.all <= q.loses || !m.Full {
		return err
	}
	q.store.mu.Lock()
	defer q.store.mu.Unlock()
	q.store.rows[m.Intent.ID] = m.Intent
	return nil
}

// Case: a message in nsqd's memory dies with nsqd. The load publishes again until it sees the row.
func TestLoadPublishesUntilItIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &weakStore{rows: map[string]intents.Intent{}}
		queue := &forgetfulQueue{loses: 3, store: store}
		l := &load{run: "test", keeper: store, poster: queue, complain: func(what string) { t.Error(what) }}
		in := l.make(4)
		l.one(t.Context(), in, true)
		if _, err := store.Get(t.Context(), in.ID); err != nil || queue.all != 4 || l.stored.Load() != 1 {
			t.Errorf("row: %v, published %d times, stored %d; want the fourth to do it", err, queue.all, l.stored.Load())
		}
	})
}

// What is begun is stored in the end, also when the store fails, or only its answer; and counted once.
func TestLoadStaysWithWhatItBegan(t *testing.T) {
	t.Parallel()
	for _, sly := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &weakStore{rows: map[string]intents.Intent{}, sly: sly}
			queue := &forgetfulQueue{store: store}
			l := &load{run: "test", keeper: store, poster: queue, complain: func(what string) { t.Error(what) }}
			working, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
			defer cancel()
			l.steady(t.Context(), working, 10)
			l.ones.Wait()
			if n := len(l.all()); n != 100 || len(store.rows) != n || l.stored.Load() != int64(n) {
				t.Errorf("begun %d, rows %d, stored %d; want 100 each", n, len(store.rows), l.stored.Load())
			}
		})
	}
}

// conflicted has another intent under each id.
type conflicted struct{ *weakStore }

func (conflicted) Create(context.Context, intents.Intent, bool, string) (intents.Intent, error) {
	return intents.Intent{}, &intents.ConflictError{}
}

func TestLoadComplainsOfAConflict(t *testing.T) {
	t.Parallel()
	var all []string
	l := &load{run: "test", keeper: conflicted{}, complain: func(what string) { all = append(all, what) }}
	l.one(t.Context(), l.make(1), false)
	if len(all) != 1 || l.stored.Load() != 0 {
		t.Errorf("complaints %q, stored %d", all, l.stored.Load())
	}
}

// Both routes have full messages, and both have references; ids and destinations are each one's own.
func TestLoadMixes(t *testing.T) {
	t.Parallel()
	l := &load{run: "test"}
	kinds, own := map[string]int{}, map[string]bool{}
	for n := 1; n <= 1000; n++ {
		in := l.make(n)
		if err := in.Validate(); err != nil {
			t.Fatal(err)
		}
		what := in.Route
		if isFull(n) {
			what += " full"
		}
		kinds[what]++
		own[in.ID], own[in.Destination] = true, true
	}
	for _, what := range []string{payouts, payouts + " full", webhooks, webhooks + " full"} {
		if kinds[what] < 100 {
			t.Errorf("%d of %s among 1000", kinds[what], what)
		}
	}
	if len(own) != 2000 {
		t.Errorf("%d ids and destinations, want 2000", len(own))
	}
}
