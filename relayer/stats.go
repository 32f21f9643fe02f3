package relayer

import "sync/atomic"

// Stats counts deliveries by what they came to. Deliveries that changed nothing count in none.
type Stats struct {
	Sent      int64 // accepted or done, and written
	Retry     int64 // left for another look: let go, not sent, unknown
	Abandoned int64 // cut by the drain deadline; not also counted as retry
	Panics    int64
}

type stats struct{ sent, retry, abandoned, panics atomic.Int64 }

func (s *stats) read() Stats {
	return Stats{Sent: s.sent.Load(), Retry: s.retry.Load(), Abandoned: s.abandoned.Load(), Panics: s.panics.Load()}
}
