package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
)

// idMark stands for the id in a lookup URL.
const idMark = "{id}"

// Observe asks the lookup for every slot that has bytes. Without a lookup, and for an id that the lookup does not know,
// nothing is proved. It returns an error when not one lookup could be made, or the context ended meanwhile: look later.
func (s *Sender) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	seen := make([]intents.Observation, len(ws))
	errs := make([]error, len(ws))
	var g errgroup.Group
	g.SetLimit(s.cfg.Lookups)
	asked := 0
	for i, w := range ws {
		seen[i].Slot = w.Slot
		if s.cfg.Lookup == "" || len(w.Attempts) == 0 {
			continue
		}
		asked++
		g.Go(func() error {
			seen[i], errs[i] = s.lookup(ctx, w)
			return nil
		})
	}
	_ = g.Wait() // the goroutines return nil
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 0 && (len(errs) == asked || ctx.Err() != nil) {
		return nil, errs[0]
	}
	return seen, nil
}

// lookup asks for one slot. With an error nothing was learned, which the observation says as well.
func (s *Sender) lookup(ctx context.Context, w intents.Watch) (intents.Observation, error) {
	a := w.Attempts[0]
	o := intents.Observation{Slot: w.Slot, No: a.No}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(s.cfg.Lookup, idMark, url.PathEscape(a.Name)), nil)
	if err != nil {
		return o, fmt.Errorf("lookup at %s: %s", s.scope, s.scrub.err(err))
	}
	s.dress(req)
	ans := s.call(req)
	o.After, o.Evidence = ans.retryAfter, s.evidence(ans, "")
	switch {
	case ans.status == 200:
		o.Fact, o.Ref = ans.fact(a.Name)
	case ans.status == 0:
		return o, fmt.Errorf("lookup at %s: %s", ans.host, s.scrub.err(ans.err))
	case ans.status != 404:
		return o, fmt.Errorf("lookup at %s: status %d", ans.host, ans.status)
	}
	return o, nil
}

// fact is what a lookup's answer proves about an id. Of several reports with exactly this id a done one wins, then a
// pending one, then one we cannot read: as long as one payment may live nothing is dead.
func (a answer) fact(id string) (intents.Fact, string) {
	ps, more := a.reports()
	var best report
	for _, p := range ps {
		if p.ID == id && (best.ID == "" || p.stand() > best.stand()) {
			best = p
		}
	}
	if best.ID == "" {
		return intents.NotSeen, ""
	}
	switch best.word() {
	case done:
		return intents.Final, best.ref()
	case pending, none:
		return intents.Pending, best.ref()
	case failed:
		if !more { // the next page may hold a better one
			return intents.Reverted, best.ref()
		}
	}
	return intents.NotSeen, ""
}

// stand orders reports of one id: one without a word is one that waits.
func (p report) stand() word {
	if w := p.word(); w != none {
		return w
	}
	return pending
}

// reports reads one object, a list of them, or {"data": list, "has_more": …}.
func (a answer) reports() (ps []report, more bool) {
	if !a.whole {
		return nil, false
	}
	if bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("[")) {
		if json.Unmarshal(a.body, &ps) != nil {
			return nil, false
		}
		return ps, false
	}
	var page struct {
		Data []report `json:"data"`
		More bool     `json:"has_more"`
	}
	if json.Unmarshal(a.body, &page) == nil && page.Data != nil {
		return page.Data, page.More
	}
	if p, ok := a.report(); ok {
		return []report{p}, false
	}
	return nil, false
}
