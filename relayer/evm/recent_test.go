package evm

import (
	"fmt"
	"testing"
	"time"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	now := time.Now()
	if _, ok := r.take("a", now); ok {
		t.Error("a quote out of nothing")
	}
	r.put("a", quote{gas: 1}, now)
	r.put("b", quote{gas: 2}, now)
	if q, ok := r.take("a", now.Add(recentFor-1)); !ok || q.gas != 1 {
		t.Errorf("take = gas %d, %v; want 1", q.gas, ok)
	}
	if _, ok := r.take("a", now); ok {
		t.Error("one quote taken twice")
	}
	if _, ok := r.take("b", now.Add(recentFor)); ok {
		t.Error("an old quote")
	}
	for i := range 3 * recentMost {
		r.put(fmt.Sprint(i), quote{}, now)
	}
	if len(r.by) > recentMost {
		t.Errorf("%d quotes are kept, want at most %d", len(r.by), recentMost)
	}
}
