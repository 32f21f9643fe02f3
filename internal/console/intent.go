package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// intentView is one intent with its past, and what may be done about it.
type intentView struct {
	Intent   intents.Intent
	Watch    intents.Watch
	Events   []intents.Event // oldest first
	Evidence *intents.Event  // the last that was answered or seen; nil: none
	Decide   *decideView     // nil: nothing is to be decided
	Cancels  bool            // it may be called off
}

// intent shows one; asked for it, with what the other side says now.
func (c *Console) intent(w http.ResponseWriter, r *http.Request, who Person) {
	v, err := c.read(r.Context(), r.PathValue("id"))
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	if v.Decide != nil && r.URL.Query().Get("ask") != "" {
		v.Decide.see(v.Watch, c.ask(r.Context(), v.Watch))
	}
	c.seen(w, r, who, "intent", page{Title: v.Intent.ID, Body: v})
}

// read reads all of an intent. Errors: intents.ErrNotFound.
func (c *Console) read(ctx context.Context, id string) (intentView, error) {
	w, err := desk.Read(ctx, c.cfg.Reviews, id)
	if err != nil {
		return intentView{}, err
	}
	v := intentView{Intent: w.Intent, Watch: w}
	if v.Events, err = c.cfg.Intents.Events(ctx, id); err != nil {
		return v, err
	}
	for i, e := range v.Events {
		if e.Kind == intents.Evidence || e.Kind == intents.Contradicted {
			v.Evidence = &v.Events[i]
		}
	}
	v.Cancels = v.Intent.PrunedAt.IsZero() && (v.Intent.State == intents.Created || v.Intent.State == intents.Authorized)
	if v.Intent.PrunedAt.IsZero() && (v.Intent.State == intents.NeedsReview || v.Intent.State == intents.Failed) {
		v.Decide = newDecide(w)
	}
	return v, nil
}

// now is what the other side says, for a page that is open already, and what may be decided then.
func (c *Console) now(w http.ResponseWriter, r *http.Request, who Person) {
	id := r.PathValue("id")
	if r.Header.Get("HX-Request") == "" {
		http.Redirect(w, r, "/intents/"+url.PathEscape(id)+"?ask=1", http.StatusSeeOther)
		return
	}
	v, err := c.read(r.Context(), id)
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	if v.Decide == nil { // it was decided meanwhile: the whole page is out of date
		w.Header().Set("HX-Refresh", "true")
		return
	}
	v.Decide.see(v.Watch, c.ask(r.Context(), v.Watch))
	c.part(w, "intent", "fresh", page{Who: who, Body: v})
}

// cancel calls one off.
func (c *Console) cancel(w http.ResponseWriter, r *http.Request, who Person) {
	id := r.PathValue("id")
	_, err := desk.Cancel(r.Context(), c.cfg.Intents, id, who.Name)
	if late, ok := errors.AsType[*desk.LateError](err); ok {
		c.again(w, r, who, http.StatusConflict, formView{}, notice{Bad: true, Title: "Too late to call it off",
			Text: "It was claimed before: money may have left. " + late.Error()})
		return
	}
	c.did(w, r, who, "canceled", err)
}

// note adds a line to a timeline.
func (c *Console) note(w http.ResponseWriter, r *http.Request, who Person) {
	err := desk.AddNote(r.Context(), c.cfg.Intents, r.PathValue("id"), who.Name, r.PostFormValue("note"))
	if _, empty := errors.AsType[*intents.InvalidError](err); empty {
		c.again(w, r, who, http.StatusUnprocessableEntity, formView{}, notice{Bad: true, Title: "The note is empty", Text: "Nothing was written."})
		return
	}
	c.did(w, r, who, "noted", err)
}

// drop uses an intent's slot for nothing.
func (c *Console) drop(w http.ResponseWriter, r *http.Request, who Person) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*c.cfg.Ask)
	defer cancel()
	_, err := c.cfg.Others.Drop(ctx, r.PathValue("id"), who.Name)
	if err == nil || errors.Is(err, intents.ErrNotFound) || errors.Is(err, intents.ErrUnavailable) {
		c.did(w, r, who, "dropped", err)
		return
	}
	c.again(w, r, who, http.StatusConflict, formView{}, notice{Bad: true, Title: "The slot is as it was", Text: c.cfg.Redact(err.Error())})
}

// did leads back to the intent's page, which tells what was done.
func (c *Console) did(w http.ResponseWriter, r *http.Request, who Person, what string, err error) {
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	http.Redirect(w, r, "/intents/"+url.PathEscape(r.PathValue("id"))+"?did="+what, http.StatusSeeOther)
}

// again shows the intent as it is now, says what was not done, and keeps what the person wrote.
func (c *Console) again(w http.ResponseWriter, r *http.Request, who Person, status int, f formView, n notice) {
	v, err := c.read(r.Context(), r.PathValue("id"))
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	if v.Decide != nil {
		v.Decide.keep(f)
	}
	c.seenWith(w, r, who, status, "intent", page{Title: v.Intent.ID, Notice: &n, Body: v})
}
