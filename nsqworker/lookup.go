package nsqworker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	httpTimeout = 2 * time.Second
	maxReply    = 16 << 20
)

func newHTTPClient() *http.Client {
	return &http.Client{Timeout: httpTimeout, Transport: &http.Transport{IdleConnTimeout: 30 * time.Second}}
}

// getJSON asks an nsqd or nsqlookupd.
func getJSON(ctx context.Context, c *http.Client, addr, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &statusError{addr: addr, code: resp.StatusCode}
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(into)
}

type statusError struct {
	addr string
	code int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s answered %d", e.addr, e.code) }

// producers is what nsqlookupd says of nsqds, at /lookup and /nodes.
type producers struct {
	Producers []struct {
		Broadcast string `json:"broadcast_address"`
		TCP       int    `json:"tcp_port"`
		HTTP      int    `json:"http_port"`
	} `json:"producers"`
}

// found is what the nsqlookupds know together: HTTP addresses by TCP address.
type found struct {
	nsqds map[string]string
	errs  map[string]error // by nsqlookupd, nil for those that answered
}

// ask asks all nsqlookupds at once. One that does not know the topic has answered.
func ask(ctx context.Context, c *http.Client, lookupds []string, path string) found {
	f := found{nsqds: map[string]string{}, errs: map[string]error{}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, addr := range lookupds {
		wg.Go(func() {
			var p producers
			err := getJSON(ctx, c, addr, path, &p)
			mu.Lock()
			defer mu.Unlock()
			f.add(addr, p, err)
		})
	}
	wg.Wait()
	return f
}

func (f found) add(lookupd string, p producers, err error) {
	if s, ok := err.(*statusError); ok && s.code == http.StatusNotFound {
		err = nil
	}
	f.errs[lookupd] = err
	for _, n := range p.Producers {
		f.nsqds[net.JoinHostPort(n.Broadcast, strconv.Itoa(n.TCP))] = net.JoinHostPort(n.Broadcast, strconv.Itoa(n.HTTP))
	}
}

func (f found) complete() bool {
	for _, err := range f.errs {
		if err != nil {
			return false
		}
	}
	return true
}

// lookState is the last answer of each nsqlookupd, for Health.
type lookState struct {
	mu   sync.Mutex
	errs map[string]error
}

// lookup asks the nsqlookupds once. What they do not name any more stays while we are connected to it, or while one of
// them does not answer.
func (w *Worker) lookup(ctx context.Context, dialers *sync.WaitGroup) {
	f := ask(ctx, w.http, w.cfg.Lookupds, "/lookup?topic="+url.QueryEscape(w.cfg.Topic))
	if ctx.Err() != nil {
		return
	}
	w.logLookup(ctx, f)
	for tcp, http := range f.nsqds {
		w.learn(ctx, dialers, tcp, http)
	}
	if f.complete() {
		w.forgetOld(time.Now().Add(-forgetAfter))
	}
}

func (w *Worker) logLookup(ctx context.Context, f found) {
	w.look.mu.Lock()
	defer w.look.mu.Unlock()
	for addr, err := range f.errs {
		if was := w.look.errs[addr]; err != nil && (was == nil || was.Error() != err.Error()) {
			w.log.ErrorContext(ctx, "nsqlookupd does not answer", "nsqlookupd", addr, "error", err)
		}
	}
	w.look.errs = f.errs
}

// forgetOld drops nsqds last named before then that we hold nothing of.
func (w *Worker) forgetOld(then time.Time) {
	for _, n := range w.nodes.all() {
		if w.fixed(n.addr) || !n.forgettable(then) {
			continue
		}
		n.forget()
		w.nodes.drop(n)
		_ = w.consumer().DisconnectFromNSQD(n.addr) // ends go-nsq's own reconnecting; an error says there is none
		w.log.InfoContext(w.base, "nsqd forgotten", "nsqd", n.addr)
	}
}

func (n *node) forgettable(then time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.forget == nil || !n.seen.Before(then) {
		return false
	}
	for _, k := range n.links {
		if k.up || len(k.leases) > 0 {
			return false
		}
	}
	return true
}
