package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/nsqio/go-nsq"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	rowHandlers = 256
	rowConns    = 100
	rowChannel  = "row"
)

// workRow is a bare consumer: for each message it reads the intent, claims it in one commit, settles it in another, and
// finishes the message. What it leaves must pass the relayer's audit.
func workRow(ctx context.Context, t task) (figure, error) {
	s, all, err := seeded(ctx, t)
	if err != nil {
		return figure{}, err
	}
	defer s.Close()
	rows, err := openRows(t.dsn)
	if err != nil {
		return figure{}, err
	}
	defer rows.db.Close()
	if err := rows.warm(ctx); err != nil {
		return figure{}, err
	}
	topic := "peers." + strings.ToLower(rand.Text()[:10])
	if err := publish(ctx, t.nsqd, topic, all); err != nil {
		return figure{}, err
	}
	f, err := consume(ctx, t, topic, rows)
	if err != nil {
		return figure{}, err
	}
	wrong, err := s.Audit(ctx)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("audit: %v and %d more", wrong[0], len(wrong)-1)
	}
	return f, err
}

// publish makes a topic whose messages are ids.
func publish(ctx context.Context, addr, topic string, all []intents.Intent) error {
	p, err := nsq.NewProducer(addr, nsq.NewConfig())
	if err != nil {
		return err
	}
	defer p.Stop()
	p.SetLoggerLevel(nsq.LogLevelWarning)
	return each(ctx, rowHandlers, len(all), func(_ context.Context, n int) error { return p.Publish(topic, []byte(all[n].ID)) })
}

// consume counts from the first delivery to the last commit.
func consume(ctx context.Context, t task, topic string, r *rows) (figure, error) {
	cfg := nsq.NewConfig()
	cfg.MaxInFlight = rowHandlers
	cfg.OutputBufferTimeout = 25 * time.Millisecond
	c, err := nsq.NewConsumer(topic, rowChannel, cfg)
	if err != nil {
		return figure{}, err
	}
	c.SetLoggerLevel(nsq.LogLevelWarning)
	h := &rowHandler{ctx: ctx, rows: r, tally: newTally(t.intents)}
	c.AddConcurrentHandlers(h, rowHandlers)
	defer func() {
		c.Stop()
		<-c.StopChan
	}()
	if err := c.ConnectToNSQD(t.nsqd); err != nil {
		return figure{}, err
	}
	if err := h.tally.wait(ctx); err != nil {
		return figure{}, err
	}
	return h.watch.Load().figure(t.intents), nil
}

// rowHandler works one message at a time in each of its goroutines.
type rowHandler struct {
	ctx   context.Context // of the run; go-nsq gives none
	rows  *rows
	watch atomic.Pointer[watch]
	tally *tally
}

// HandleMessage settles the intent of a message.
func (h *rowHandler) HandleMessage(m *nsq.Message) error {
	if h.watch.Load() == nil {
		w := startWatch()
		h.watch.CompareAndSwap(nil, &w)
	}
	err := h.rows.settle(h.ctx, string(m.Body))
	h.tally.add(err)
	return err
}

// rows is the table of intents as a service of one's own would use it.
type rows struct {
	db                    *sqlx.DB
	read, claim, complete *sqlx.Stmt
}
