package relayer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/sendertest"
)

var _ relayer.Sender = (*bank)(nil)

// A sender that is none of ours keeps what docs/senders.md asks for, by the suite that others have.
func TestBank(t *testing.T) {
	sendertest.Run(t, sendertest.Harness{
		Open: func(t *testing.T) *sendertest.Stage {
			s := newBranch(t) // an HTTP server of the test
			return &sendertest.Stage{Sender: &bank{s.URL, "tok-SECRET"}, Intent: transferOf, Turn: s.turn, Calls: s.count,
				Effects: func(n int) int { return s.paid(transferOf(n).ID) }}
		},
		Once:    true,               // the same bytes twice have one effect
		Secrets: []string{"SECRET"}, // must show nowhere
	})
}

func transferOf(n int) intents.Intent {
	return intents.Intent{ID: fmt.Sprintf("pi_%04d", n), Route: "bank", Account: "acct_1", Destination: "DE02120300000000202051",
		Asset: "EUR", Amount: intents.NewAmount(int64(100 + n))}
}

// branch is the other side: a bank over HTTP that does what a test needs.
type branch struct {
	*httptest.Server
	mu    sync.Mutex
	mode  sendertest.Mode
	let   context.CancelFunc // lets go of calls that hang
	held  context.Context
	calls int
	made  map[string]int // transfers by key
}

func newBranch(t *testing.T) *branch {
	b := &branch{made: map[string]int{}}
	b.held, b.let = context.WithCancel(context.Background())
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(func() { b.turn(sendertest.Dead) })
	return b
}

func (b *branch) turn(m sendertest.Mode) {
	b.mu.Lock()
	b.mode = m
	if m != sendertest.Hangs {
		b.let()
	}
	b.mu.Unlock()
	if m == sendertest.Dead {
		b.CloseClientConnections()
		b.Close()
	}
}

func (b *branch) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

func (b *branch) paid(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.made[key]
}

func (b *branch) serve(w http.ResponseWriter, r *http.Request) {
	if key, ok := strings.CutPrefix(r.URL.Path, "/transfers/"); ok {
		if b.paid(key) == 0 {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"ref":"transfer of %s"}`, key)
		return
	}
	var t transfer
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil || r.Header.Get("Authorization") == "" {
		http.Error(w, "no transfer", http.StatusBadRequest)
		return
	}
	switch b.take(t.Key) {
	case sendertest.Hangs:
		select {
		case <-b.held.Done():
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case sendertest.Loses:
		panic(http.ErrAbortHandler) // cuts the connection
	default:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"ref":"transfer of %s"}`, t.Key)
	}
}

func (b *branch) take(key string) sendertest.Mode {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.mode != sendertest.Hangs {
		b.made[key] = 1
	}
	return b.mode
}
