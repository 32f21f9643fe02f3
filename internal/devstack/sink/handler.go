package sink

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

const maxBody = 1 << 20

func (s *Sink) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /effects", s.showEffects)
	mux.HandleFunc("GET /lookup/{key}", func(w http.ResponseWriter, r *http.Request) { s.lookup(w, r.PathValue("key")) })
	mux.HandleFunc("GET /lookup", func(w http.ResponseWriter, r *http.Request) { s.lookup(w, r.URL.Query().Get("id")) })
	mux.HandleFunc("POST /", s.pay)
	return mux
}

func (s *Sink) pay(w http.ResponseWriter, r *http.Request) {
	c, status, err := read(w, r)
	if err != nil {
		refuse(w, status, err.Error())
		return
	}
	roll := func(nth int) rule { return s.cfg.Faults.roll(s.cfg.Seed, c.id, nth) }
	o := s.ledger.take(c, time.Now(), roll, s.cfg.MaxFaults)
	s.cfg.Logger.DebugContext(r.Context(), "sink call", "id", c.id, "fault", string(o.rule.fault), "replayed", o.replayed)
	if !s.wait(r.Context(), s.cfg.Latency) {
		panic(http.ErrAbortHandler)
	}
	if o.conflict {
		refuse(w, http.StatusUnprocessableEntity, "this idempotency key was used with another body")
		return
	}
	s.answer(w, r, o)
}

// read takes the call apart. The payment is named by its key, or by the body's id if it has none.
func read(w http.ResponseWriter, r *http.Request) (call, int, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return call{}, http.StatusRequestEntityTooLarge, err
	}
	var fields struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return call{}, http.StatusBadRequest, err
	}
	c := call{key: r.Header.Get("Idempotency-Key"), id: fields.ID, body: sha256.Sum256(body)}
	if c.key != "" {
		c.id = c.key
	}
	return c, 0, nil
}

// answer sends what was booked, or what the fault makes of it.
func (s *Sink) answer(w http.ResponseWriter, r *http.Request, o outcome) {
	switch o.rule.fault {
	case commitTimeout:
		s.wait(r.Context(), o.rule.delay)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	case commitReset, reset:
		panic(http.ErrAbortHandler)
	case commit500:
		refuse(w, http.StatusInternalServerError, "internal error")
	case refuse503:
		refuse(w, http.StatusServiceUnavailable, "unavailable, nothing was done")
	case refuse429:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "too many requests, nothing was done")
	case slow:
		if !s.wait(r.Context(), o.rule.delay) {
			panic(http.ErrAbortHandler)
		}
		send(w, o)
	default:
		send(w, o)
	}
}

func send(w http.ResponseWriter, o outcome) {
	if o.replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	status := map[string]int{
		done: http.StatusOK, processing: http.StatusAccepted, declined: http.StatusPaymentRequired,
	}[o.payment.Status]
	reply(w, status, o.payment)
}

// wait reports whether d passed before the caller hung up or the sink stopped.
func (s *Sink) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.stopping:
	}
	return false
}

func (s *Sink) lookup(w http.ResponseWriter, key string) {
	p, ok := s.ledger.lookup(key, time.Now())
	if !ok {
		refuse(w, http.StatusNotFound, "no such payment")
		return
	}
	reply(w, http.StatusOK, p)
}

// showEffects answers what was done: how many effects, how many payments with more than one, and each with its count.
func (s *Sink) showEffects(w http.ResponseWriter, _ *http.Request) {
	var page struct {
		Total   int            `json:"total"`
		Twice   int            `json:"twice"`
		Effects map[string]int `json:"effects"`
	}
	page.Effects = s.Effects()
	for _, n := range page.Effects {
		page.Total += n
		if n > 1 {
			page.Twice++
		}
	}
	reply(w, http.StatusOK, page)
}

func refuse(w http.ResponseWriter, status int, why string) {
	reply(w, status, map[string]string{"error": why})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that has gone away is not our trouble
}
