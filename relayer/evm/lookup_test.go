package evm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// submitUntil sends again and again until something comes of it.
func submitUntil(t *testing.T, s *evm.Sender, a intents.Attempt, ok func(intents.Result) bool) intents.Result {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		r := s.Submit(t.Context(), a)
		if ok(r) {
			return r
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within a minute: %v, %s", r.Verdict, r.Evidence)
		}
	}
}

// TestRefusedLooksFirst, case 56: a 429 to a send says "refused", and yet the bytes may have come through. They are looked
// for by their hash before they go out again; where nobody has them they do.
func TestRefusedLooksFirst(t *testing.T) {
	t.Parallel()
	for name, through := range map[string]bool{"it came through": true, "it was refused": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChain(t, nil)
			f := newFront(t, c.URL)
			s := open(t, config(t, f.URL))
			_, a := prepared(t, s, 0)
			if through {
				submit(t, open(t, config(t, c.URL)), a)
			}
			f.says(func(c call) string {
				if c.Method == "eth_sendRawTransaction" {
					return `error:{"code":429,"message":"too many requests"}`
				}
				return ""
			})
			if r := s.Submit(t.Context(), a); r.Verdict != intents.NotSent || r.Calm == 0 {
				t.Fatalf("case 56: %v, calm %v", r.Verdict, r.Calm)
			}
			f.says(nil)
			r := submitUntil(t, s, a, func(r intents.Result) bool { return r.Verdict != intents.NotSent })
			want := 2
			if through {
				want = 1
			}
			if r.Verdict != intents.Accepted || r.Ref != a.Name || len(f.sends()) != want {
				t.Errorf("case 56: %v %s after %d sends, want %d: %s", r.Verdict, r.Ref, len(f.sends()), want, r.Evidence)
			}
		})
	}
}

const tooLow = `error:{"code":-32000,"message":"nonce too low: next nonce 8, tx nonce 7"}`

// TestTaken: "nonce too low" is looked into at once. Bytes that a node has are accepted, cases 65 and 66; of those that
// nobody has, and that this call sent to nobody else, the number was taken by another, case 77.
func TestTaken(t *testing.T) {
	t.Parallel()
	has := func(st script) script { st["eth_getTransactionByHash"] = `{"hash":"0x1"}`; return st }
	low := func(st script) script { st["eth_sendRawTransaction"] = tooLow; return st }
	deaf := func(st script) script {
		st["eth_getTransactionByHash"] = `error:{"code":-32000,"message":"try later"}`
		return st
	}
	mute := func(st script) script {
		st["eth_sendRawTransaction"] = `error:{"code":-32000,"message":"what?"}`
		return st
	}
	for name, tt := range map[string]struct {
		nodes   []script
		verdict intents.Verdict
		taken   bool
	}{
		"nobody has it":                         {[]script{low(quiet()), quiet()}, intents.Unknown, true},
		"the node itself has it":                {[]script{low(has(quiet())), quiet()}, intents.Accepted, false},
		"another has it":                        {[]script{low(quiet()), has(quiet())}, intents.Accepted, false},
		"one cannot tell":                       {[]script{low(quiet()), deaf(quiet())}, intents.Unknown, false},
		"one that was asked before may have it": {[]script{mute(quiet()), low(quiet())}, intents.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var urls []string
			for _, n := range tt.nodes {
				n["eth_getTransactionCount"] = `"0x8"`
				if n["eth_getTransactionByHash"] == "" {
					n["eth_getTransactionByHash"] = "null"
				}
				n["eth_getTransactionReceipt"] = "null"
				urls = append(urls, newStand(t, n).URL)
			}
			s := among(t, urls...)
			_, a := prepared(t, s, 7)
			r := s.Submit(t.Context(), a)
			if r.Verdict != tt.verdict || r.Taken != tt.taken || !r.Alive && r.Verdict == intents.Unknown {
				t.Errorf("%v, taken %t, alive %t; want %v, %t: %s", r.Verdict, r.Taken, r.Alive, tt.verdict, tt.taken, r.Evidence)
			}
			if found := strings.Contains(string(r.Evidence), "a node has it"); found != (tt.verdict == intents.Accepted) {
				t.Errorf("evidence %s", r.Evidence)
			}
		})
	}
}
