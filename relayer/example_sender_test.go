package relayer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// bank is a way out to a bank that makes one transfer of a key, remembers keys for a day, and tells what became of one.
type bank struct{ url, token string }

// transfer is what the bank reads, and what an attempt's bytes are.
type transfer struct {
	Key   string `json:"key"`
	To    string `json:"to"`
	Cents string `json:"cents"`
}

func (b *bank) Plan(_ context.Context, in intents.Intent) (intents.Plan, error) {
	if in.Asset != "EUR" {
		return intents.Plan{}, &intents.RefusedError{Why: "the bank transfers EUR only"}
	}
	return intents.Plan{Slot: intents.Key, Scope: "bank", Again: intents.For(23 * time.Hour), Seen: true}, nil
}

func (b *bank) Prepare(_ context.Context, in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt) (intents.Attempt, error) {
	if kind != intents.First {
		return intents.Attempt{}, &intents.RefusedError{Why: "a key takes one attempt"}
	}
	if len(prior) > 0 {
		return prior[0], nil
	}
	body, err := json.Marshal(transfer{in.ID, in.Destination, in.Amount.String()})
	return intents.Attempt{Slot: slot, No: 1, Kind: kind, Bytes: body, Name: in.ID}, err
}

func (b *bank) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	var t transfer
	if json.Unmarshal(a.Bytes, &t) != nil || t.Key == "" || t.Key != a.Name {
		return intents.Result{Verdict: intents.NotSent, Evidence: evidence("these are no bytes of ours")}
	}
	if ctx.Err() != nil {
		return intents.Result{Verdict: intents.NotSent, Evidence: evidence(ctx.Err().Error())}
	}
	connected := false // before, not a byte can have left
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	status, ref, err := b.call(traced, http.MethodPost, "/transfers", a.Bytes)
	switch {
	case err != nil && !connected:
		return intents.Result{Verdict: intents.NotSent, Evidence: evidence(err.Error())}
	case err != nil: // the answer is lost: it may have been made
		return intents.Result{Evidence: evidence(err.Error())}
	case status == http.StatusCreated && ref != "":
		return intents.Result{Verdict: intents.Done, Ref: ref, Evidence: evidence("201")}
	case status == http.StatusUnprocessableEntity: // in this bank's documents: looked at, and never will be made
		return intents.Result{Verdict: intents.Declined, Evidence: evidence("422")}
	case status == http.StatusTooManyRequests:
		return intents.Result{Verdict: intents.NotSent, Calm: 5 * time.Second, Evidence: evidence("429")}
	}
	return intents.Result{Evidence: evidence(fmt.Sprint(status))} // a gateway's 500 proves nothing
}

func (b *bank) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	seen := make([]intents.Observation, len(ws))
	for i, w := range ws {
		seen[i].Slot = w.Slot
		if len(w.Attempts) == 0 {
			continue
		}
		status, ref, err := b.call(ctx, http.MethodGet, "/transfers/"+url.PathEscape(w.Attempts[0].Name), nil)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			seen[i].No, seen[i].Fact, seen[i].Ref, seen[i].Evidence = w.Attempts[0].No, intents.Final, ref, evidence("200")
		} // 404: not seen, which proves nothing: the call may be on its way
	}
	return seen, nil
}

// call gives status and reference of an answer that came whole.
func (b *bank) call(ctx context.Context, method, path string, body []byte) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+b.token) // added when it is sent: what is stored can be read
	once := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := once.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var answer struct{ Ref string }
	if resp.StatusCode/100 == 2 {
		err = json.NewDecoder(resp.Body).Decode(&answer)
	}
	return resp.StatusCode, answer.Ref, err
}

func evidence(said string) []byte {
	b, _ := json.Marshal(map[string]string{"bank": said})
	return b
}

// bridge brings messages of NSQ to a worker.
type bridge struct{ worker *relayer.Worker }

func (h *bridge) Handle(work, lease context.Context, d nsqworker.Delivery) nsqworker.Disposition {
	out := h.worker.Handle(work, lease, relayer.Delivery{ID: d.ID, Topic: "intents.bank", Body: d.Body, Published: d.Published, Until: d.Until})
	if delay, ok := out.Requeued(); ok {
		return nsqworker.Requeue(delay)
	}
	if out.Finished() {
		return nsqworker.Finish()
	}
	return nsqworker.Leave()
}

// A sender of one's own at work: NSQ in, a bank out. With intents/pgstore in the place of the memory store, a Sweeper and an
// Observer beside the worker, it is what relayer run does for a route.
func Example_ownSender() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	atBank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"ref":"transfer 1"}`)
	}))
	defer atBank.Close()
	nsqd, end := exampleNSQD()
	defer end()

	store := memstore.New(memstore.Config{})
	handler := &bridge{}
	consumer, err := nsqworker.New(nsqworker.Config{Topic: "intents.bank", Channel: "relayer", NSQDs: []string{nsqd}, Concurrency: 4}, handler)
	if err != nil {
		fmt.Println(err)
		return
	}
	throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 5, InFlight: 4, ReadShare: 0.2})
	probe := relayer.NewProbe(store, consumer, nil)
	cfg := relayer.Config{Route: "bank", Topic: "intents.bank", Concurrency: 4, AcceptFull: true}
	handler.worker, err = relayer.NewWorker(cfg, store, store, &bank{atBank.URL, "secret"}, throttle, probe)
	if err != nil {
		fmt.Println(err)
		return
	}
	go probe.Run(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- consumer.Run(ctx) }()

	publish(nsqd, intents.Intent{ID: "pi_0001", Account: "acct_1", Destination: "DE02120300000000202051", Asset: "EUR", Amount: intents.NewAmount(1050)})
	in := settled(store, "pi_0001")
	fmt.Println(in.ID, in.State, in.Ref)
	stop()
	fmt.Println("stopped:", <-stopped)

	// Output:
	// pi_0001 settled transfer 1
	// stopped: <nil>
}
