package webhook_test

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
)

// TestSink holds sender and sink to each other: what each fault comes to, and what the same bytes come to after it.
func TestSink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		faults       string
		first, again intents.Verdict
		effects      int
		fact         intents.Fact
	}{
		{"", intents.Done, intents.Done, 1, intents.Final},
		{"commit-500=100%", intents.Unknown, intents.Done, 1, intents.Final},
		{"commit-reset=100%", intents.Unknown, intents.Done, 1, intents.Final},
		{"reset=100%", intents.Unknown, intents.Done, 1, intents.Final},
		{"refuse-503=100%", intents.Unknown, intents.Done, 1, intents.Final},
		{"refuse-429=100%", intents.NotSent, intents.Done, 1, intents.Final},
		{"accept-202=100%:1h", intents.Accepted, intents.Accepted, 1, intents.Pending},
		{"decline=100%", intents.Declined, intents.Declined, 0, intents.Reverted},
	} {
		t.Run(tt.faults, func(t *testing.T) {
			faults, err := sink.ParseFaults(tt.faults)
			if err != nil {
				t.Fatal(err)
			}
			p, err := sink.Start(t.Context(), sink.Config{Faults: faults, MaxFaults: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Stop() })
			cfg := config(t, p.URL)
			cfg.Lookup = p.URL + "/lookup/{id}"
			s := open(t, cfg)
			a := prepared(t, s, 0)
			for i, want := range []intents.Verdict{tt.first, tt.again} {
				r := s.Submit(t.Context(), a)
				if r.Verdict != want {
					t.Errorf("Submit %d = %v, want %v: %s", i+1, r.Verdict, want, r.Evidence)
				}
				if r.Verdict == intents.NotSent && r.Calm != time.Second {
					t.Errorf("calm %v, want the second it asked for", r.Calm)
				}
			}
			if n := p.Effects()[a.Name]; n != tt.effects {
				t.Errorf("%d effects, want %d", n, tt.effects)
			}
			os, err := s.Observe(t.Context(), []intents.Watch{watch(t, s, 0)})
			if err != nil || os[0].Fact != tt.fact {
				t.Errorf("Observe = %v, %v; want %v", os, err, tt.fact)
			}
		})
	}
}
