package nsqworker

import (
	"context"
	"errors"
	"net/url"
	"sync"
)

// Queue is what NSQ holds for the channel, over all nsqds that were asked.
type Queue struct {
	Depth    int64 // waits to be given out
	InFlight int64 // with clients
	Deferred int64 // put off
	Clients  int   // connections that take messages
	Paused   bool  // topic or channel, at any nsqd
	NSQDs    int   // that answered
}

// add counts what one nsqd said.
func (q *Queue) add(r statsReply) {
	q.NSQDs++
	for _, t := range r.Topics {
		q.Paused = q.Paused || t.Paused
		for _, c := range t.Channels {
			q.Depth, q.InFlight, q.Deferred = q.Depth+c.Depth, q.InFlight+c.InFlight, q.Deferred+c.Deferred
			q.Clients += len(c.Clients)
			q.Paused = q.Paused || c.Paused
		}
	}
}

var errNoNSQD = errors.New("no nsqd is known yet")

// Queue asks every nsqd that is known, at once. Errors: none of them answered, or none is known.
func (w *Worker) Queue(ctx context.Context) (Queue, error) {
	var q Queue
	var asked sync.WaitGroup
	var mu sync.Mutex
	failed := errNoNSQD
	for _, n := range w.nodes.all() {
		asked.Go(func() {
			r, err := w.stats(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			q.add(r)
		})
	}
	asked.Wait()
	if q.NSQDs == 0 {
		return q, failed
	}
	return q, nil
}

// stats asks one nsqd about our channel.
func (w *Worker) stats(ctx context.Context, n *node) (statsReply, error) {
	n.mu.Lock()
	addr := n.http
	n.mu.Unlock()
	q := url.Values{"format": {"json"}, "include_mem": {"false"}, "topic": {w.cfg.Topic}, "channel": {w.cfg.Channel}}
	var r statsReply
	err := getJSON(ctx, w.http, addr, "/stats?"+q.Encode(), &r)
	return r, err
}
