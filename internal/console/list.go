package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// listView is a page of intents.
type listView struct {
	Filter filterForm
	States []intents.State // all there are
	Ages   []age
	Rows   []intents.Intent
	Older  string // where older ones are; empty: there are none
	First  bool   // nothing is newer
	Poll   string // where the list is asked for again
}

// filterForm is a filter as it stands in the address.
type filterForm struct {
	Query, Route, Account, Asset, Since string
	States                              map[intents.State]bool
}

// age is how far back a list may go.
type age struct{ Value, Words string }

func ages() []age {
	return []age{{"1h", "in the last hour"}, {"24h", "in the last day"}, {"168h", "in the last week"}, {"720h", "in the last 30 days"}}
}

// Chosen says whether anything is left out.
func (f filterForm) Chosen() bool {
	return f.Query != "" || f.Route != "" || f.Account != "" || f.Asset != "" || f.Since != "" || len(f.States) > 0
}

// list shows intents, newest first. A search for one that is known leads straight there.
func (c *Console) list(w http.ResponseWriter, r *http.Request, who Person) {
	f, form, err := c.filterOf(r.URL.Query())
	if err != nil {
		c.fail(w, r, who, http.StatusBadRequest, "This filter is not one", err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), c.cfg.Search)
	defer cancel()
	if id := c.sought(ctx, form.Query); id != "" {
		http.Redirect(w, r, "/intents/"+url.PathEscape(id), http.StatusSeeOther)
		return
	}
	rows, err := c.cfg.Reviews.List(ctx, f)
	if ctx.Err() != nil {
		c.fail(w, r, who, http.StatusServiceUnavailable, "This takes too long to find", "There are very many intents. Say when it was created, its state, or its id.")
		return
	}
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	v := listView{Filter: form, States: intents.States(), Ages: ages(), Rows: rows, First: f.Before == 0, Poll: r.URL.RequestURI()}
	if len(rows) == f.Limit {
		q := r.URL.Query()
		q.Set("before", strconv.FormatInt(rows[len(rows)-1].Key, 10))
		v.Older = "/intents?" + q.Encode()
	}
	if r.Header.Get("HX-Request") != "" {
		c.part(w, "intents", "rows", v)
		return
	}
	c.seen(w, r, who, "intents", page{Title: "Intents", Body: v})
}

// sought is the id of the one intent that is meant: by its id, or by the name of an attempt of it while it is open.
// Empty: none, or it cannot be told now.
func (c *Console) sought(ctx context.Context, query string) string {
	if query == "" {
		return ""
	}
	if in, err := c.cfg.Reviews.Get(ctx, query); err == nil {
		return in.ID
	}
	id, err := c.cfg.Intents.Named(ctx, query)
	if err != nil {
		return ""
	}
	return id
}

// filterOf reads a filter from an address. Errors: *intents.InvalidError.
func (c *Console) filterOf(q url.Values) (intents.Filter, filterForm, error) {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	form := filterForm{Query: text("q"), Route: text("route"), Account: text("account"), Asset: text("asset"), Since: text("since"), States: map[intents.State]bool{}}
	f := intents.Filter{Route: form.Route, Account: form.Account, Asset: form.Asset, Ref: form.Query, Limit: intents.DefaultLimit}
	for _, name := range q["state"] {
		if name == "" {
			continue
		}
		s, err := intents.ParseState(name)
		if err != nil {
			return f, form, err
		}
		f.States = append(f.States, s)
		form.States[s] = true
	}
	if form.Since != "" {
		d, err := time.ParseDuration(form.Since)
		if err != nil || d <= 0 {
			return f, form, &intents.InvalidError{Field: "since", Value: form.Since, Want: "how long ago, such as 24h"}
		}
		f.Since = c.cfg.Now().Add(-d)
	}
	if before := q.Get("before"); before != "" {
		key, err := strconv.ParseInt(before, 10, 64)
		if err != nil || key < 1 {
			return f, form, &intents.InvalidError{Field: "before", Value: before, Want: "the place where a page ended"}
		}
		f.Before = key
	}
	return f, form, nil
}
