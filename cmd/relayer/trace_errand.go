package main

import (
	"context"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/api"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/internal/tracing"
)

// errand is the creation of one intent and what follows from it.
type errand struct {
	given  string // the traceparent of who asks; of an intent that has its own it is not used
	stored string // that of the intent; empty until it is stored
}

type errandKey struct{}

// errand lets a creation and the message after it find each other.
func (t *traces) errand(ctx context.Context, given string) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, errandKey{}, &errand{given: given})
}

// web makes an errand of each request.
func (t *traces) web(h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(t.errand(r.Context(), r.Header.Get("traceparent"))))
	})
}

// creator traces what stores intents.
func (t *traces) creator(c creator) creator {
	if t == nil {
		return c
	}
	return tracedCreator{c, t}
}

// records traces the store of an API.
func (t *traces) records(s *pgstore.Store) api.Store {
	if t == nil {
		return s
	}
	return tracedRecords{s, tracedCreator{s, t}}
}

type tracedRecords struct {
	*pgstore.Store
	create tracedCreator
}

func (s tracedRecords) Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error) {
	return s.create.Create(ctx, in, authorize, actor)
}

type tracedCreator struct {
	creator
	t *traces
}

// Create gives an intent that has no traceparent the one of its creation.
func (c tracedCreator) Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error) {
	e, _ := ctx.Value(errandKey{}).(*errand)
	parent := in.Traceparent
	if parent == "" && e != nil {
		parent = e.given
	}
	s := c.t.tracer.Start(parent, tracing.Internal, "create", time.Now(), tracing.String("relayer.intent", in.ID), tracing.String("relayer.route", in.Route))
	if in.Traceparent == "" {
		in.Traceparent = s.Traceparent()
	}
	got, err := c.creator.Create(ctx, in, authorize, actor)
	if err == nil {
		s.Set(stateOf(got))
		if e != nil {
			e.stored = got.Traceparent
		}
	}
	s.End(failed(err, "not created"))
	return got, err
}

// publisher traces the messages about what was created.
func (t *traces) publisher(p desk.Publisher) desk.Publisher {
	if t == nil || p == nil {
		return p
	}
	return tracedPublisher{p, t}
}

type tracedPublisher struct {
	desk.Publisher
	t *traces
}

// Publish makes a span of a message that follows a creation.
func (p tracedPublisher) Publish(ctx context.Context, topic string, body []byte) error {
	e, _ := ctx.Value(errandKey{}).(*errand)
	if e == nil || e.stored == "" {
		return p.Publisher.Publish(ctx, topic, body)
	}
	s := p.t.tracer.Start(e.stored, tracing.Producer, "publish "+topic, time.Now(), messaging(topic, "publish")...)
	err := p.Publisher.Publish(ctx, topic, body)
	s.End(failed(err, "not published"))
	return err
}

// announcer is publisher for a command, which closes what it publishes through.
func (t *traces) announcer(p publisher) publisher {
	if _, none := p.(unpublished); t == nil || none {
		return p
	}
	return closedPublisher{tracedPublisher{p, t}, p}
}

type closedPublisher struct {
	tracedPublisher
	own publisher
}

func (c closedPublisher) Close() { c.own.Close() }
