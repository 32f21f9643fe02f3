package nsqtest

import (
	"testing"
	"time"
)

// Until waits for a condition, looking every 5 ms, and fails the test after a minute.
func Until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("waited a minute for %s", what)
		}
	}
}
