package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/nsqrelayer/relayer/intents"
)

type streamInput struct {
	Route string   `query:"route"`
	State []string `query:"state,explode" enum:"created,authorized,settling,confirming,settled,failed,canceled,needs_review" doc:"Into which the intent went; may be repeated"`
	Last  string   `header:"Last-Event-ID" doc:"Go on after this event; none: from now on"`
}

func (a *api) addStream() {
	o := a.describe(intents.ScopeRead, op(http.MethodGet, "/v1/stream", "stream-events", "Follow the events of all intents (server-sent events)", http.StatusOK))
	o.Description += " Each event is in the order in which it was written, none is left out; id is where to go on with Last-Event-ID."
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[intents.FeedView](), true, "FeedView")
	o.Responses["200"] = &huma.Response{Description: "Events of the name intent, with data as in the schema", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: schema}}}
	huma.Register(a.huma, o, func(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
		s, err := a.follow(ctx, in)
		if err != nil {
			return nil, a.problem(ctx, o.OperationID, err)
		}
		return &huma.StreamResponse{Body: s.serve}, nil
	})
}

// stream is one who follows.
type stream struct {
	*api
	place  intents.Cursor
	filter intents.FeedFilter
	out    *http.ResponseController
	w      http.ResponseWriter
}

// mostFollowed is how many events are read at a time.
const mostFollowed = 200

// follow finds out where to begin, and takes a place among the streams.
func (a *api) follow(ctx context.Context, in *streamInput) (*stream, error) {
	s := &stream{api: a, filter: intents.FeedFilter{Route: in.Route}}
	for _, name := range in.State {
		st, err := intents.ParseState(name)
		if err != nil {
			return nil, err
		}
		s.filter.States = append(s.filter.States, st)
	}
	var err error
	if in.Last != "" {
		if s.place, err = intents.ParseCursor(in.Last); err != nil {
			p := newProblem(codeInvalid, err.Error())
			p.Errors = []Flaw{{"header.Last-Event-ID", err.Error()}}
			return nil, p
		}
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
	defer cancel()
	if _, next, err := a.cfg.Store.Feed(ctx, s.place, s.filter, 1); err != nil {
		return nil, err
	} else if in.Last == "" {
		s.place = next
	}
	select {
	case a.streams <- struct{}{}:
		return s, nil
	default:
		return nil, newProblem(codeStreams, fmt.Sprintf("%d streams are open", a.cfg.Streams))
	}
}

// serve writes events until who follows has gone or the server ends. The server's own deadlines are for answers that end.
func (s *stream) serve(hc huma.Context) {
	defer func() { <-s.streams }()
	r, w := humago.Unwrap(hc)
	s.w, s.out = w, http.NewResponseController(w)
	_ = s.out.SetReadDeadline(time.Time{}) // where it cannot be set there is none
	w.Header().Set("Content-Type", "text/event-stream")
	if s.write(fmt.Sprintf("retry: 1000\nid: %s\n\n", s.place)) != nil {
		return
	}
	tick := time.NewTicker(s.cfg.Follow)
	defer tick.Stop()
	alive := time.Now()
	for {
		wrote, err := s.more(r.Context())
		if err == nil && !wrote && time.Since(alive) >= s.cfg.KeepAlive {
			wrote, err = true, s.write(fmt.Sprintf(": alive\nid: %s\n\n", s.place))
		}
		if err != nil {
			return
		}
		if wrote {
			alive = time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.cfg.Ending:
			return
		case <-tick.C:
		}
	}
}

// more writes what has come. While the store cannot be asked nothing comes; what is behind a restored database ends the stream,
// and who comes again is told.
func (s *stream) more(ctx context.Context) (wrote bool, err error) {
	for ctx.Err() == nil {
		ask, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		events, next, err := s.cfg.Store.Feed(ask, s.place, s.filter, mostFollowed)
		cancel()
		if _, ahead := errors.AsType[*intents.CursorError](err); ahead {
			return wrote, err
		}
		if err != nil {
			return wrote, nil
		}
		for _, e := range events {
			wrote = true
			if err := s.event(e); err != nil {
				return wrote, err
			}
		}
		if next == s.place {
			return wrote, nil
		}
		s.place = next
	}
	return wrote, ctx.Err()
}

func (s *stream) event(e intents.FeedEvent) error {
	data, err := json.Marshal(intents.FeedJSON(e))
	if err != nil {
		return err
	}
	return s.write(fmt.Sprintf("id: %s\nevent: intent\ndata: %s\n\n", e.Place, data))
}

// writeFor bounds one write: who does not read is left.
const writeFor = 10 * time.Second

func (s *stream) write(text string) error {
	_ = s.out.SetWriteDeadline(time.Now().Add(writeFor)) // where it cannot be set there is none
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}
