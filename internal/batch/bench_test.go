package batch_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/batch"
)

// free commits nothing and takes lasts for it.
type free struct {
	answers []batch.Answer[int]
	lasts   time.Duration
}

func (f *free) Commit(_ context.Context, ops []int) ([]batch.Answer[int], error) {
	if f.lasts > 0 {
		time.Sleep(f.lasts)
	}
	return f.answers[:len(ops)], nil
}

func (f *free) Resolve(context.Context, []int) ([]batch.Answer[int], error) { panic("never unsure") }

func BenchmarkQueue(b *testing.B) {
	for name, bb := range map[string]struct {
		callers int // a processor
		lasts   time.Duration
	}{
		"callers=1": {1, 0}, "callers=256": {256, 0}, "callers=256/commit=1ms": {256, time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) {
			batches, keys := 0, make([]string, 4096)
			for i := range keys {
				keys[i] = strconv.Itoa(i)
			}
			var callers atomic.Int64
			q := batch.New(&free{answers: make([]batch.Answer[int], 512), lasts: bb.lasts},
				func(i int) string { return keys[i] }, nil,
				batch.Config{Observe: func(int, time.Duration) { batches++ }})
			go q.Run()
			b.SetParallelism(bb.callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				i := int(callers.Add(1))
				for pb.Next() {
					if _, err := q.Do(b.Context(), i); err != nil {
						b.Error(err)
					}
				}
			})
			q.Close()
			b.ReportMetric(float64(b.N)/float64(batches), "rows/batch")
		})
	}
}
