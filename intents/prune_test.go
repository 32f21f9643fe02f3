package intents_test

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// An alarm keeps an intent until something has been noted or changed after it. Evidence that comes later is no person.
func TestKeptFor(t *testing.T) {
	t.Parallel()
	const changed, evidence, alarm, noted = intents.Changed, intents.Evidence, intents.Contradicted, intents.Noted
	for name, tt := range map[string]struct {
		open     bool
		timeline []intents.EventKind
		want     intents.Kept
	}{
		"plain":                   {false, []intents.EventKind{changed, changed, changed}, ""},
		"nothing to tell":         {false, nil, ""},
		"slot":                    {true, []intents.EventKind{changed}, intents.KeptSlot},
		"alarm":                   {false, []intents.EventKind{changed, alarm}, intents.KeptAlarm},
		"alarm, then evidence":    {false, []intents.EventKind{changed, alarm, evidence}, intents.KeptAlarm},
		"alarm, then a note":      {false, []intents.EventKind{changed, alarm, evidence, noted}, ""},
		"alarm, then a change":    {false, []intents.EventKind{changed, alarm, changed}, ""},
		"a note, then an alarm":   {false, []intents.EventKind{changed, noted, alarm}, intents.KeptAlarm},
		"noted, then once more":   {false, []intents.EventKind{changed, alarm, noted, alarm}, intents.KeptAlarm},
		"both":                    {true, []intents.EventKind{changed, alarm}, intents.KeptSlot},
		"an alarm in review only": {false, []intents.EventKind{changed, alarm, alarm, changed, evidence}, ""},
	} {
		var timeline []intents.Event
		for _, k := range tt.timeline {
			timeline = append(timeline, intents.Event{Kind: k})
		}
		if got := intents.KeptFor(tt.open, timeline); got != tt.want {
			t.Errorf("%s: kept for %q, want %q", name, got, tt.want)
		}
	}
}

// Only what ended before the moment, on the route, may be pruned.
func TestAged(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, state := range intents.States() {
		for _, route := range []string{"", "payouts", "other"} {
			for ago, old := range map[time.Duration]bool{time.Microsecond: true, 0: false, -time.Hour: false} {
				in := intents.Intent{State: state, Route: "payouts", ChangedAt: at.Add(-ago), CreatedAt: at.Add(-24 * time.Hour)}
				want := old && state.Final() && route != "other"
				if got := (intents.Prune{Before: at, Route: route}).Aged(in); got != want {
					t.Errorf("%s, changed %s before, route %q: aged is %t", state, ago, route, got)
				}
			}
		}
	}
}
