package nsqworker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqio/go-nsq"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

const benchConcurrency = 256

// BenchmarkConsume takes messages, does nothing and FINs, as a Worker and as a bare go-nsq consumer on the same nsqd.
func BenchmarkConsume(b *testing.B) {
	b.Run("worker", func(b *testing.B) { b.ReportMetric(benchConsume(b, consumeWorker), "msgs/s") })
	b.Run("bare", func(b *testing.B) { b.ReportMetric(benchConsume(b, consumeBare), "msgs/s") })
	b.Run("ratio", func(b *testing.B) {
		bare := benchConsume(b, consumeBare)
		b.ReportMetric(benchConsume(b, consumeWorker)/bare, "worker/bare")
	})
}

// benchConsume returns messages per second.
func benchConsume(b *testing.B, consume func(b *testing.B, nsqd string, done func()) (stop func())) float64 {
	d := nsqtest.Start(b)
	d.CreateChannel("bench", "c")
	body := string(make([]byte, 200))
	for range b.N {
		d.Publish("bench", body)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	empty := make(chan struct{})
	b.ResetTimer()
	start := time.Now()
	stop := consume(b, d.TCP(), func() {
		if left.Add(-1) == 0 {
			close(empty)
		}
	})
	<-empty
	took := time.Since(start)
	b.StopTimer()
	stop()
	return float64(b.N) / took.Seconds()
}

func consumeWorker(b *testing.B, nsqd string, done func()) (stop func()) {
	w, err := nsqworker.New(nsqworker.Config{
		Topic: "bench", Channel: "c", NSQDs: []string{nsqd}, Concurrency: benchConcurrency,
	}, nsqworker.HandlerFunc(func(_, _ context.Context, _ nsqworker.Delivery) nsqworker.Disposition {
		done()
		return nsqworker.Finish()
	}))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

func consumeBare(b *testing.B, nsqd string, done func()) (stop func()) {
	cfg := nsq.NewConfig()
	cfg.MaxInFlight = benchConcurrency
	cfg.OutputBufferTimeout = 25 * time.Millisecond
	c, err := nsq.NewConsumer("bench", "c", cfg)
	if err != nil {
		b.Fatal(err)
	}
	c.SetLogger(nil, nsq.LogLevelError)
	c.AddConcurrentHandlers(nsq.HandlerFunc(func(*nsq.Message) error { done(); return nil }), benchConcurrency)
	if err := c.ConnectToNSQD(nsqd); err != nil {
		b.Fatal(err)
	}
	return func() { c.Stop(); <-c.StopChan }
}
