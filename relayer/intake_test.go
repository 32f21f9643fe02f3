package relayer_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func TestRowBodyTooLong(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		body := append(bytes.Repeat([]byte(" "), intents.MaxBody), ref("pi_1")...)
		r.finished(r.deliver(body))
		l := r.letters(1, intents.DeadTooLong)
		if len(l.Body) != intents.MaxDeadBody || l.Size != len(body) || l.Topic != r.cfg.Topic || l.MessageID != "0a1b" || l.Route != "payouts" {
			r.Errorf("letter keeps %d of %d bytes: %+v", len(l.Body), l.Size, l.DeadLetter)
		}
		r.finished(r.deliver(body)) // the same again only counts
		if l := r.letters(1, intents.DeadTooLong); l.Count != 2 {
			r.Errorf("count is %d, want 2", l.Count)
		}
		r.wire(0)
		r.counts(relayer.Stats{})
	})
}

// Case 1: malformed JSON becomes an endless redelivery loop.
func TestRowNoValidIntentCase1(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i, body := range []string{`{"id":"i-1"`, ` `, `null`, `[]`, `"x"`, `{}`} {
			r.finished(r.deliver([]byte(body)))
			if l := r.letters(i+1, intents.DeadInvalid); string(l.Body) != body || l.Detail == "" {
				r.Errorf("letter of %q: %+v", body, l.DeadLetter)
			}
		}
		var good []string
		for i := range 20 {
			good = append(good, fmt.Sprintf("pi_%d", i))
			r.finished(r.deliver(r.full(r.content(good[i]))))
		}
		r.wire(20, good...)
		r.counts(relayer.Stats{Sent: 20})
	})
}

// Case 3: bytes after the first JSON value are ignored.
func TestRowNoValidIntentCase3(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		two := append(r.full(r.content("i-3a")), r.full(r.content("i-3b"))...)
		r.finished(r.deliver(two))
		if l := r.letters(1, intents.DeadInvalid); !strings.Contains(l.Detail, "trailing data") {
			r.Errorf("detail: %s", l.Detail)
		}
		r.finished(r.deliver(append(r.full(r.content("i-3c")), '\n')))
		r.wire(1, "i-3c")
	})
}

func TestRowPanicInTheDecoder(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.onCanon = func(intents.Intent) (intents.Intent, error) { panic("no such spelling") }
		r.finished(r.deliver(r.full(r.content("pi_1"))))
		if l := r.letters(1, intents.DeadPanic); !strings.Contains(l.Detail, "no such spelling") {
			r.Errorf("detail: %s", l.Detail)
		}
		r.counts(relayer.Stats{})
	})
}

func TestRowAnotherRoutesIntent(t *testing.T) {
	for name, body := range map[string]func(r *rig) []byte{
		"reference": func(*rig) []byte { return ref("pi_1") },
		"full":      func(r *rig) []byte { return r.full(r.content("pi_1")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				r.create("pi_1", func(in *intents.Intent) { in.Route = "elsewhere" })
				r.finished(r.deliver(body(r)))
				r.letters(1, intents.DeadRoute)
				r.stands("pi_1", intents.Authorized, 2, "")
				r.wire(0)
			})
		})
	}
}

// Case 10: same id, different payload.
func TestRowOtherContentUnderAKnownIDCase10(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.says(happened)
		r.finished(r.deliver(r.full(r.content("i-10"))))
		r.stands("i-10", intents.Settled, 4, "")
		r.finished(r.deliver(r.full(r.content("i-10", func(in *intents.Intent) { in.Amount = intents.NewAmount(2000) }))))
		l := r.letters(1, intents.DeadConflict)
		have := r.content("i-10")
		if h := have.Hash(); !strings.Contains(l.Detail, h.String()) {
			r.Errorf("detail names not the content stored: %s", l.Detail)
		}
		r.finished(r.deliver(r.full(r.content("i-10", func(in *intents.Intent) { in.Destination = "elsewhere" }))))
		r.letters(2, intents.DeadConflict)
		again := `{ "amount":"100","asset":"EUR","destination":"THERE","account":"acct","id":"i-10","v":1}`
		r.finished(r.deliver([]byte(again))) // other order, other spelling: a plain duplicate
		r.letters(2, intents.DeadConflict)
		r.wire(1, "i-10")
		r.counts(relayer.Stats{Sent: 1})
	})
}

// Case 10: two different payloads at once, to two workers.
func TestRowOtherContentAtOnceCase10(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		other := r.twin("w2")
		var both sync.WaitGroup
		both.Go(func() { r.finished(r.deliver(r.full(r.content("i-10")))) })
		both.Go(func() {
			other.finished(other.deliver(r.full(r.content("i-10", func(in *intents.Intent) { in.Amount = intents.NewAmount(2000) }))))
		})
		both.Wait()
		r.letters(1, intents.DeadConflict)
		r.effects("i-10")
	})
}

// Case 2: unprocessable message acknowledged and forgotten.
func TestRowDeadLetterCannotBeWrittenCase2(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		body := []byte(`{"id":"i-2","amount":"abc"}`)
		r.faults.on("bury", down, spoilt)
		r.requeued(r.deliver(body), 5*time.Second)
		r.requeued(r.deliver(body), 5*time.Second)
		r.letters(0, "")
		if n := strings.Count(r.logs.String(), "dead letter cannot be stored"); n != 2 {
			r.Errorf("logged %d times, want 2", n)
		}
		r.finished(r.deliver(body))
		if l := r.letters(1, intents.DeadInvalid); l.Count != 1 {
			r.Errorf("count is %d, want 1", l.Count)
		}
	})
}

func TestRowFullIntentWhereOnlyReferencesAreTaken(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.finished(r.deliver(r.full(r.content("pi_1"))))
		r.letters(1, intents.DeadInvalid)
		r.create("pi_2")
		r.finished(r.deliver(ref("pi_2")))
		r.wire(1, "pi_2")
	}, config(func(c *relayer.Config) { c.AcceptFull = false }))
}

func TestRowAssetTheRouteDoesNotMove(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.finished(r.deliver(r.full(r.content("pi_1"))))
		if l := r.letters(1, intents.DeadInvalid); !strings.Contains(l.Detail, "asset") {
			r.Errorf("detail: %s", l.Detail)
		}
		r.wire(0)
	}, config(func(c *relayer.Config) { c.Assets = []string{"ETH"} }))
}

func TestRowDestinationTheSenderCannotWrite(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.onCanon = func(in intents.Intent) (intents.Intent, error) {
			return in, &intents.InvalidError{Field: "destination", Value: in.Destination, Want: "an address"}
		}
		r.finished(r.deliver(r.full(r.content("pi_1"))))
		r.letters(1, intents.DeadInvalid)
	})
}

func TestRowBodyOfANewerVersion(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		d := r.delivery([]byte(`{"v":2,"new":true}`))
		r.requeued(r.handle(d), 30*time.Second)
		pass(time.Hour - time.Second)
		r.requeued(r.handle(d), 30*time.Second)
		r.letters(0, "")
		pass(2 * time.Second)
		r.finished(r.handle(d))
		r.letters(1, intents.DeadNewer)
	})
}

func TestRowReferenceToAnUnknownIntent(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		d := r.delivery(ref("pi_1"))
		r.requeued(r.handle(d), 2*time.Second)
		pass(5*time.Minute - time.Second)
		r.requeued(r.handle(d), 2*time.Second)
		r.letters(0, "")
		pass(2 * time.Second)
		r.finished(r.handle(d))
		r.letters(1, intents.DeadUnknown)
	})
}

func TestRowReferenceBeforeItsIntent(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		d := r.delivery(ref("pi_1"))
		r.requeued(r.handle(d), 2*time.Second)
		r.create("pi_1")
		r.finished(r.handle(d))
		r.wire(1, "pi_1")
		r.letters(0, "")
	})
}

func TestRowFullIntentIDUnknown(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.faults.on("claim", first(func() {
			in := r.stands("pi_1", intents.Authorized, 2, "") // one commit made both versions
			if r.faults.count("take") != 1 || in.Destination != "there" {
				r.Errorf("%d takes; destination %q", r.faults.count("take"), in.Destination)
			}
			r.tells("pi_1", "created authorized")
		}))
		r.finished(r.deliver(r.full(r.content("pi_1", func(in *intents.Intent) { in.Destination = "THERE" }))))
		r.stands("pi_1", intents.Confirming, 4, "")
		r.wire(1, "pi_1")
	})
}

func TestRowFullBodyNeverAuthorizesACreatedIntent(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		_, err := r.store.Create(r.Context(), r.content("pi_1"), false, "tester")
		r.must(err)
		r.finished(r.deliver(r.full(r.content("pi_1"))))
		r.stands("pi_1", intents.Created, 1, "")
		r.wire(0)
	})
}

func TestRowPostgresCannotBeReached(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		go r.probe.Run(r.work)
		r.faults.on("take", down)
		r.faults.on("ping", down, down)
		r.requeued(r.deliver(ref("pi_1")), 5*time.Second)
		pass(time.Millisecond)
		if paused, _ := r.gate.look(); !paused {
			r.Error("consumer is not paused")
		}
		pass(1500 * time.Millisecond) // pings after 250 ms, 750 ms, 1.75 s
		if paused, _ := r.gate.look(); !paused {
			r.Error("consumer goes on before the store does")
		}
		pass(300 * time.Millisecond)
		if paused, turns := r.gate.look(); paused || turns != 1 {
			r.Errorf("paused %t after %d turns, want resumed after 1", paused, turns)
		}
		r.stands("pi_1", intents.Authorized, 2, "")
		r.wire(0)
		r.counts(relayer.Stats{})
	})
}

// A store that does not answer says so when its own bound is over. It is as good as away, but that proves nothing: the
// consumer goes on.
func TestRowPostgresDoesNotAnswer(t *testing.T) {
	for _, step := range []string{"take", "claim"} {
		t.Run(step, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				r.create("pi_1")
				r.faults.on(step, mute)
				start := time.Now()
				r.requeued(r.deliver(ref("pi_1")), 5*time.Second)
				if waited := time.Since(start); waited != relayer.DefaultStoreTimeout {
					r.Errorf("waited %s", waited)
				}
				r.stands("pi_1", intents.Authorized, 2, "")
				r.finished(r.deliver(ref("pi_1")))
				r.wire(1, "pi_1")
			})
		})
	}
}

func TestRowStateUnknownToUs(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.show = func(in *intents.Intent) { in.State = 99 }
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Authorized, 2, "")
		r.wire(0)
	})
}

func TestRowNothingToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		make  func(r *rig)
		state intents.State
	}{
		"created": {func(r *rig) {
			_, err := r.store.Create(r.Context(), r.content("pi_1"), false, "tester")
			r.must(err)
		}, intents.Created},
		"settled":  {func(r *rig) { r.create("pi_1"); r.sender.says(happened); r.deliver(ref("pi_1")) }, intents.Settled},
		"failed":   {func(r *rig) { r.create("pi_1"); r.sender.says(declined); r.deliver(ref("pi_1")) }, intents.Failed},
		"canceled": {func(r *rig) { r.create("pi_1"); _, err := r.store.Cancel(r.Context(), "pi_1", "tester"); r.must(err) }, intents.Canceled},
		"confirming": {func(r *rig) {
			r.create("pi_1")
			r.deliver(ref("pi_1"))
		}, intents.Confirming},
		"needs_review": {func(r *rig) {
			r.create("pi_1")
			r.sender.plan = blind()
			r.sender.says(silence)
			r.deliver(ref("pi_1"))
		}, intents.NeedsReview},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				tt.make(r)
				before, stats, calls := r.get("pi_1"), r.worker.Stats(), r.sender.submits()
				if before.State != tt.state {
					r.Fatalf("it is %s", before.State)
				}
				r.finished(r.deliver(ref("pi_1")))
				after := r.get("pi_1")
				if after.Version != before.Version || !after.DueAt.Equal(before.DueAt) || r.sender.submits() != calls {
					r.Errorf("something changed: %+v", after)
				}
				r.counts(stats)
			})
		})
	}
}
