package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg Config) *Sink {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func faulty(t *testing.T, spec string) *Sink { return start(t, Config{Faults: mustParse(t, spec)}) }

// answer is what a caller sees.
type answer struct {
	status   int
	payment  Payment
	replayed bool
}

func do(ctx context.Context, method, url, key, body string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	// A connection of its own: on a used one net/http repeats a request with an idempotency key by itself.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, replayed: resp.Header.Get("Idempotent-Replayed") == "true"}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	_ = json.Unmarshal(raw, &a.payment)
	return a, nil
}

func pay(t *testing.T, s *Sink, key, body string) answer {
	t.Helper()
	a, err := do(t.Context(), http.MethodPost, s.URL+"/v1/payments", key, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func lookup(t *testing.T, s *Sink, path string) answer {
	t.Helper()
	a, err := do(t.Context(), http.MethodGet, s.URL+path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wantEffects(t *testing.T, s *Sink, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, s.Effects()); diff != "" {
		t.Error("effects:", diff)
	}
}

func awaitEffect(t *testing.T, s *Sink) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for len(s.Effects()) == 0 {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("no effect")
		}
	}
}

func TestOneEffectAKey(t *testing.T) {
	s := start(t, Config{})
	first := pay(t, s, "pi_1", `{"amount":"1"}`)
	if first.status != 200 || first.replayed || first.payment.ID != "pi_1" || first.payment.Status != done ||
		!strings.HasPrefix(first.payment.Reference, "pay_") {
		t.Errorf("first answer: %+v", first)
	}
	again := pay(t, s, "pi_1", `{"amount":"1"}`)
	if !again.replayed || again.status != 200 || again.payment != first.payment {
		t.Errorf("replay: %+v, want what was said first: %+v", again, first)
	}
	if other := pay(t, s, "pi_2", `{"amount":"1"}`); other.payment.Reference == first.payment.Reference {
		t.Errorf("two payments share the reference %s", other.payment.Reference)
	}
	wantEffects(t, s, map[string]int{"pi_1": 1, "pi_2": 1})
}

func TestSameKeyOtherBody(t *testing.T) {
	s := start(t, Config{})
	pay(t, s, "pi_1", `{"amount":"1"}`)
	if a := pay(t, s, "pi_1", `{"amount":"2"}`); a.status != 422 {
		t.Errorf("answer: %+v", a)
	}
	wantEffects(t, s, map[string]int{"pi_1": 1})
}

func TestWithoutKeyEveryCallCounts(t *testing.T) {
	s := start(t, Config{})
	for range 2 {
		if a := pay(t, s, "", `{"id":"pi_1"}`); a.payment.ID != "pi_1" || a.replayed {
			t.Errorf("answer: %+v", a)
		}
	}
	wantEffects(t, s, map[string]int{"pi_1": 2})
	var page struct{ Total, Twice int }
	if err := json.Unmarshal(fetch(t, s.URL+"/effects"), &page); err != nil || page.Total != 2 || page.Twice != 1 {
		t.Errorf("/effects says %+v, %v", page, err)
	}
}

func fetch(t *testing.T, url string) []byte {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestConcurrentCallsOfOneKey(t *testing.T) {
	s := start(t, Config{})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := do(t.Context(), http.MethodPost, s.URL, "pi_1", `{}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantEffects(t, s, map[string]int{"pi_1": 1})
}

func TestLookup(t *testing.T) {
	s := start(t, Config{})
	paid := pay(t, s, "pi_1", `{}`)
	for _, path := range []string{"/lookup/pi_1", "/lookup?id=pi_1"} {
		if a := lookup(t, s, path); a.status != 200 || a.payment != paid.payment {
			t.Errorf("%s: %+v, want %+v", path, a, paid.payment)
		}
	}
	if a := lookup(t, s, "/lookup/pi_2"); a.status != 404 {
		t.Errorf("unknown key: %+v", a)
	}
}

func TestRefusedCalls(t *testing.T) {
	s := start(t, Config{})
	for body, want := range map[string]int{`{"id":`: 400, `[]`: 400, `"` + strings.Repeat("x", maxBody) + `"`: 413} {
		if a := pay(t, s, "pi_1", body); a.status != want {
			t.Errorf("body %.10s: status %d, want %d", body, a.status, want)
		}
	}
	wantEffects(t, s, map[string]int{})
}

func TestFaultsThatCommit(t *testing.T) {
	for spec, wantStatus := range map[string]int{
		"commit-500=100%": 500, "commit-reset=100%": 0, "commit-timeout=100%:50ms": 0,
	} {
		t.Run(spec, func(t *testing.T) {
			s := faulty(t, spec)
			a, err := do(t.Context(), http.MethodPost, s.URL, "pi_1", `{}`)
			if a.status != wantStatus || (err == nil) != (wantStatus != 0) {
				t.Errorf("answer %+v, %v", a, err)
			}
			wantEffects(t, s, map[string]int{"pi_1": 1})
			if a := lookup(t, s, "/lookup/pi_1"); a.payment.Status != done {
				t.Errorf("lookup: %+v", a)
			}
		})
	}
}

func TestFaultsThatDoNothing(t *testing.T) {
	for spec, wantStatus := range map[string]int{"refuse-503=100%": 503, "refuse-429=100%": 429, "reset=100%": 0} {
		t.Run(spec, func(t *testing.T) {
			s := faulty(t, spec)
			a, err := do(t.Context(), http.MethodPost, s.URL, "pi_1", `{}`)
			if a.status != wantStatus || (err == nil) != (wantStatus != 0) {
				t.Errorf("answer %+v, %v", a, err)
			}
			wantEffects(t, s, map[string]int{})
			if a := lookup(t, s, "/lookup/pi_1"); a.status != 404 {
				t.Errorf("lookup: %+v", a)
			}
		})
	}
}

func TestCallerWhoGivesUpIsCharged(t *testing.T) {
	s := faulty(t, "commit-timeout=100%")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := do(ctx, http.MethodPost, s.URL, "pi_1", `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	awaitEffect(t, s) // on a busy machine the call may still be on its way when its caller gives up
	wantEffects(t, s, map[string]int{"pi_1": 1})
}

func TestSlowAnswers(t *testing.T) {
	s := faulty(t, "slow=100%:120ms")
	began := time.Now()
	if a := pay(t, s, "pi_1", `{}`); a.status != 200 {
		t.Errorf("answer: %+v", a)
	}
	if took := time.Since(began); took < 120*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

func TestAcceptedIsDoneLater(t *testing.T) {
	l := newLedger()
	at := time.Now()
	roll := func(int) rule { return rule{fault: accept202, delay: time.Second} }
	o := l.take(call{key: "pi_1", id: "pi_1"}, at, roll, 3)
	if o.payment.Status != processing || l.effects["pi_1"] != 1 {
		t.Errorf("accepted: %+v, effects %v", o, l.effects)
	}
	for after, want := range map[time.Duration]string{999 * time.Millisecond: processing, time.Second: done} {
		if p, _ := l.lookup("pi_1", at.Add(after)); p.Status != want || p.Reference != o.payment.Reference {
			t.Errorf("after %v: %+v, want %s", after, p, want)
		}
	}
}

func TestAcceptedOverHTTP(t *testing.T) {
	s := faulty(t, "accept-202=100%:1ns")
	first := pay(t, s, "pi_1", `{}`)
	if first.status != 202 || first.payment.Status != processing {
		t.Errorf("answer: %+v", first)
	}
	if a := lookup(t, s, "/lookup/pi_1"); a.payment.Status != done {
		t.Errorf("lookup: %+v", a)
	}
}

func TestDeclineIsForGoodAndFirstOnly(t *testing.T) {
	s := faulty(t, "decline=100%")
	for _, replayed := range []bool{false, true} {
		a := pay(t, s, "pi_1", `{}`)
		if a.status != 402 || a.payment.Status != declined || a.replayed != replayed || a.payment.Reference != "" {
			t.Errorf("answer: %+v", a)
		}
	}
	wantEffects(t, s, map[string]int{})
	l := newLedger()
	faults := []rule{{fault: refuse503}, {fault: decline}}
	roll := func(nth int) rule { return faults[nth-1] }
	l.take(call{key: "pi_2", id: "pi_2"}, time.Now(), roll, 3)
	if o := l.take(call{key: "pi_2", id: "pi_2"}, time.Now(), roll, 3); o.payment.Status != done {
		t.Errorf("second call: %+v, want done", o)
	}
}

func TestFaultsInARowAreLimited(t *testing.T) {
	s := start(t, Config{Faults: mustParse(t, "refuse-503=50%,commit-500=50%"), MaxFaults: 2})
	for round := range 3 {
		for n, want := range []bool{false, false, true} {
			if a := pay(t, s, "pi_1", `{}`); (a.status == 200) != want {
				t.Errorf("round %d call %d: status %d", round, n, a.status)
			}
		}
	}
	wantEffects(t, s, map[string]int{"pi_1": 1})
}

// Whoever asks until it has an answer has each payment once, whatever goes wrong on the way.
func TestAllSettleOnceUnderFaults(t *testing.T) {
	s := start(t, Config{Seed: 7, Faults: mustParse(t,
		"commit-timeout=10%:5ms,commit-500=10%,commit-reset=10%,refuse-503=10%,reset=10%,slow=10%:1ms,accept-202=10%")})
	want := map[string]int{}
	var wg sync.WaitGroup
	for i := range 50 {
		id := fmt.Sprintf("pi_%d", i)
		want[id] = 1
		wg.Go(func() {
			for range 4 { // three faults in a row, then none
				if a, err := do(t.Context(), http.MethodPost, s.URL, id, `{}`); err == nil && a.status < 300 {
					return
				}
			}
			t.Errorf("%s never came through", id)
		})
	}
	wg.Wait()
	wantEffects(t, s, want)
}

func TestStopEndsWaitingAnswers(t *testing.T) {
	s := faulty(t, "commit-timeout=100%:1h")
	failed := make(chan error, 1)
	go func() {
		_, err := do(context.Background(), http.MethodPost, s.URL, "pi_1", `{}`)
		failed <- err
	}()
	awaitEffect(t, s)
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if err := <-failed; err == nil {
		t.Error("an answer that was to be lost came")
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Start(t.Context(), Config{Addr: l.Addr().String()}); err == nil {
		t.Error("started on a taken port")
	}
}

func TestLatency(t *testing.T) {
	s := start(t, Config{Latency: 80 * time.Millisecond})
	began := time.Now()
	pay(t, s, "pi_1", `{}`)
	if took := time.Since(began); took < 80*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}
