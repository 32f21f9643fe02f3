package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// listView is a page of intents.
type listView struct {
	Filter filterForm
	States []intents.State // all there are
	Rows   []intents.Intent
	Older  string // where older ones are; empty: there are none
	First  bool   // nothing is newer
	Poll   string // where the list is asked for again
}

// filterForm is a filter as it stands in the address.
type filterForm struct {
	Query, Route, Account, Asset string
	States                       map[intents.State]bool
}

// chosen says whether anything is left out.
func (f filterForm) Chosen() bool {
	return f.Query != "" || f.Route != "" || f.Account != "" || f.Asset != "" || len(f.States) > 0
}

// list shows intents, newest first. A search for an id that is known leads straight there.
func (c *Console) list(w http.ResponseWriter, r *http.Request, who Person) {
	f, form, err := filterOf(r.URL.Query())
	if err != nil {
		c.fail(w, r, who, http.StatusBadRequest, "This filter is not one", err.Error())
		return
	}
	if form.Query != "" {
		if in, err := c.cfg.Reviews.Get(r.Context(), form.Query); err == nil {
			http.Redirect(w, r, "/intents/"+url.PathEscape(in.ID), http.StatusSeeOther)
			return
		}
	}
	rows, err := c.cfg.Reviews.List(r.Context(), f)
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	v := listView{Filter: form, States: intents.States(), Rows: rows, First: f.Before == 0, Poll: r.URL.RequestURI()}
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

// filterOf reads a filter from an address. Errors: *intents.InvalidError.
func filterOf(q url.Values) (intents.Filter, filterForm, error) {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	form := filterForm{Query: text("q"), Route: text("route"), Account: text("account"), Asset: text("asset"), States: map[intents.State]bool{}}
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
	if before := q.Get("before"); before != "" {
		key, err := strconv.ParseInt(before, 10, 64)
		if err != nil || key < 1 {
			return f, form, &intents.InvalidError{Field: "before", Value: before, Want: "the place where a page ended"}
		}
		f.Before = key
	}
	return f, form, nil
}
