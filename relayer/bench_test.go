package relayer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// noop is a sender to whom everything is done at once.
type noop struct{ plan intents.Plan }

func (n noop) Plan(context.Context, intents.Intent) (intents.Plan, error) { return n.plan, nil }

func (n noop) Prepare(_ context.Context, in intents.Intent, s intents.Slot, _ intents.Kind, _ []intents.Attempt) (intents.Attempt, error) {
	return intents.Attempt{Slot: s, Bytes: []byte(in.ID), Name: in.ID}, nil
}

func (n noop) Submit(context.Context, intents.Attempt) intents.Result {
	return intents.Result{Verdict: intents.Done, Ref: "x"}
}

func (n noop) Observe(context.Context, []intents.Watch) ([]intents.Observation, error) {
	return nil, nil
}

// BenchmarkHandle is the engine alone: decode, throttle and every step of a delivery over the model store.
func BenchmarkHandle(b *testing.B) {
	for name, plan := range map[string]intents.Plan{"key": keyed(), "counter": counted()} {
		b.Run(name, func(b *testing.B) {
			w := benchWorker(b, plan)
			var n atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					body := fmt.Appendf(nil, `{"v":1,"id":"pi_%d","account":"a","destination":"d","asset":"EUR","amount":"1"}`, n.Add(1))
					d := relayer.Delivery{ID: "x", Topic: "t", Body: body, Published: time.Now(), Until: time.Now().Add(time.Minute)}
					if !w.Handle(b.Context(), b.Context(), d).Finished() {
						b.Error("not finished")
					}
				}
			})
			if s := w.Stats(); s.Sent != n.Load() {
				b.Errorf("stats %+v of %d", s, n.Load())
			}
		})
	}
}

func benchWorker(b *testing.B, plan intents.Plan) *relayer.Worker {
	store := memstore.New(memstore.Config{})
	if _, err := store.OpenSigner(b.Context(), intents.Signer{Scope: "signer", Window: 1 << 30}); err != nil {
		b.Fatal(err)
	}
	cfg := relayer.Config{Route: "r", Topic: "t", Concurrency: 64, AcceptFull: true}
	th := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 64})
	w, err := relayer.NewWorker(cfg, store, store, noop{plan}, th, relayer.NewProbe(store, &gate{}, nil))
	if err != nil {
		b.Fatal(err)
	}
	return w
}
