package main_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"

	"github.com/nsqrelayer/relayer/intents"
	devnsq "github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// exampleSender holds every call until it is released.
type exampleSender struct {
	mu       sync.Mutex
	flying   []string
	both     chan struct{} // closed when two calls are in flight
	released chan struct{}
}

func (s *exampleSender) Plan(context.Context, intents.Intent) (intents.Plan, error) {
	return intents.Plan{Slot: intents.Key, Again: intents.Always}, nil
}

func (s *exampleSender) Prepare(_ context.Context, in intents.Intent, slot intents.Slot, _ intents.Kind, _ []intents.Attempt) (intents.Attempt, error) {
	return intents.Attempt{Slot: slot, Bytes: []byte(in.ID), Name: in.ID}, nil
}

func (s *exampleSender) Submit(_ context.Context, a intents.Attempt) intents.Result {
	s.fly(a.Name)
	<-s.released
	return intents.Result{Verdict: intents.Accepted, Ref: "0x" + a.Name[len("pi_"):]}
}

func (s *exampleSender) fly(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flying = append(s.flying, name); len(s.flying) == 2 {
		slices.Sort(s.flying)
		close(s.both)
	}
}

func (s *exampleSender) Observe(context.Context, []intents.Watch) ([]intents.Observation, error) {
	return nil, nil
}

// exampleHandler brings deliveries to the worker, as the program does.
type exampleHandler struct{ worker *relayer.Worker }

func (h *exampleHandler) Handle(work, lease context.Context, d nsqworker.Delivery) nsqworker.Disposition {
	out := h.worker.Handle(work, lease, relayer.Delivery{ID: d.ID, Body: d.Body, Published: d.Published, Until: d.Until})
	if delay, ok := out.Requeued(); ok {
		return nsqworker.Requeue(delay)
	}
	if out.Finished() {
		return nsqworker.Finish()
	}
	return nsqworker.Leave()
}

// Six intents, a pool of two, and a stop while both are sending: the two finish, the four were never handed out.
func Example() {
	ctx := context.Background()
	queue, err := devnsq.Start(ctx, devnsq.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer queue.Stop()

	store := memstore.New(memstore.Config{})
	pub, _ := nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{queue.NSQDTCP}})
	defer pub.Close()
	const n = 6
	for i := range n {
		in := intents.Intent{ID: fmt.Sprintf("pi_%04d", i+1), Route: "payouts", Account: "acct_1", Destination: "you", Asset: "ETH", Amount: intents.NewAmount(1)}
		store.Create(ctx, in, true, "example")
		body, _ := intents.EncodeReference(in.ID)
		if err := pub.Publish(ctx, "payouts", body); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("enqueue %d message(s); pool of 2 workers, 2 sends in flight at most\n", n)

	sender := &exampleSender{both: make(chan struct{}), released: make(chan struct{})}
	throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 2})
	handler := &exampleHandler{}
	consumer, err := nsqworker.New(nsqworker.Config{Topic: "payouts", Channel: "relayer", NSQDs: []string{queue.NSQDTCP}, Concurrency: 2}, handler)
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := relayer.Config{Route: "payouts", Topic: "payouts", Concurrency: 2}
	handler.worker, err = relayer.NewWorker(cfg, store, store, sender, throttle, relayer.NewProbe(store, consumer, nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- consumer.Run(running) }()

	<-sender.both
	fmt.Printf("send    %v in flight\n", sender.flying)
	fmt.Println("stop    requested: stop leasing, let the in-flight sends finish")
	stop()
	close(sender.released)
	if err := <-stopped; err != nil {
		fmt.Println(err)
	}
	s := handler.worker.Stats()
	fmt.Printf("pool    stopped: sent %d, retry %d, abandoned %d, panics %d\n", s.Sent, s.Retry, s.Abandoned, s.Panics)

	left := n - int(s.Sent)
	fmt.Printf("queue   %d message(s) left, next lease ok=%v\n", left, leases(queue.NSQDTCP, left))
	for i := range n {
		in, _ := store.Get(ctx, fmt.Sprintf("pi_%04d", i+1))
		fmt.Printf("%s %-12s v%d tx=%s\n", in.ID, in.State, in.Version, in.Ref)
	}

	// Output:
	// enqueue 6 message(s); pool of 2 workers, 2 sends in flight at most
	// send    [pi_0001 pi_0002] in flight
	// stop    requested: stop leasing, let the in-flight sends finish
	// pool    stopped: sent 2, retry 0, abandoned 0, panics 0
	// queue   4 message(s) left, next lease ok=true
	// pi_0001 confirming   v4 tx=0x0001
	// pi_0002 confirming   v4 tx=0x0002
	// pi_0003 authorized   v2 tx=
	// pi_0004 authorized   v2 tx=
	// pi_0005 authorized   v2 tx=
	// pi_0006 authorized   v2 tx=
}

// leases says whether another consumer gets exactly the messages that are left, each on its first delivery.
func leases(addr string, left int) bool {
	cfg := nsq.NewConfig()
	cfg.MaxInFlight = left + 1
	c, err := nsq.NewConsumer("payouts", "relayer", cfg)
	if err != nil {
		return false
	}
	got := make(chan uint16, left+1)
	c.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error {
		got <- m.Attempts
		return nil
	}))
	c.SetLogger(nil, nsq.LogLevelMax)
	if err := c.ConnectToNSQD(addr); err != nil {
		return false
	}
	defer func() { c.Stop(); <-c.StopChan }()
	for range left {
		select {
		case attempts := <-got:
			if attempts != 1 {
				return false
			}
		case <-time.After(time.Minute):
			return false
		}
	}
	return true
}
