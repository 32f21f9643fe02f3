package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// orderOf reads a person's order. The version is the one that the page showed.
func orderOf(r *http.Request, who Person) intents.Order {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	version, _ := strconv.Atoi(text("version")) // the store refuses a version that never was
	return intents.Order{
		Verb: intents.Verb(text("verb")), Version: version, Actor: who.Name, Reason: text("reason"), Ref: text("ref"),
		Unconfirmed: text("unconfirmed") != "", MayPayTwice: text("twice") != "",
	}
}

// decide carries an order out, or says why not, on the page as it is now.
func (c *Console) decide(w http.ResponseWriter, r *http.Request, who Person) {
	o := orderOf(r, who)
	out, err := c.carryOut(r.Context(), r.PathValue("id"), o)
	if err != nil {
		c.refuse(w, r, who, o, err)
		return
	}
	did := string(o.Verb)
	switch {
	case out.ByProof:
		did = "proof"
	case out.Again:
		did = "again"
	}
	c.did(w, r, who, did, nil)
}

// errUnsaid: what is missing is asked for before anybody is disturbed.
var errUnsaid = &intents.InvalidError{Field: "reason", Want: "why you decide so, in your own words: it stays in the timeline with your name"}

func (c *Console) carryOut(ctx context.Context, id string, o intents.Order) (desk.Outcome, error) {
	if o.Reason == "" {
		return desk.Outcome{}, errUnsaid
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.cfg.Ask)
	defer cancel()
	w, err := desk.Read(ctx, c.cfg.Reviews, id)
	if err != nil {
		return desk.Outcome{}, err
	}
	other, done, err := c.cfg.Others.Other(ctx, w.Intent.Route)
	if err != nil {
		return desk.Outcome{}, &desk.UnansweredError{Err: err}
	}
	defer done()
	return desk.New(c.cfg.Reviews, other, c.cfg.Looker, w).Decide(ctx, o)
}

// refuse says why an order was not carried out. Nothing was written.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, who Person, o intents.Order, err error) {
	f := formView{Do: desk.Deed(o.Verb), Reason: o.Reason, Ref: o.Ref}
	moved, isMoved := errors.AsType[*intents.MovedError](err)
	refused, isRefused := errors.AsType[*desk.RefusedError](err)
	silent, isSilent := errors.AsType[*desk.UnansweredError](err)
	late, isLate := errors.AsType[*intents.TransitionError](err)
	bad, isBad := errors.AsType[*intents.InvalidError](err)
	switch {
	case isMoved:
		c.again(w, r, who, http.StatusConflict, formView{}, stale(moved.By))
	case isRefused:
		f.Against = insist(refused.Order)
		c.again(w, r, who, http.StatusConflict, f, notice{Bad: true, Title: "Refused, nothing was done", Text: refused.Order.Why + wayOut(refused.Order.Way)})
	case isSilent:
		c.again(w, r, who, http.StatusBadGateway, f, notice{Bad: true, Title: "The other side cannot be asked, nothing was done", Text: c.cfg.Redact(silent.Err.Error())})
	case isLate:
		c.again(w, r, who, http.StatusConflict, formView{}, notice{Bad: true, Title: "Nothing is left to decide", Text: "It is " + stateWords(late.From) + "."})
	case isBad:
		c.again(w, r, who, http.StatusUnprocessableEntity, f, notice{Bad: true, Title: "Something is missing, nothing was done", Text: "The " + bad.Field + ": " + bad.Want + "."})
	default:
		c.broken(w, r, who, err)
	}
}

// insist is what stands against a reference, where the person may insist on it.
func insist(o *intents.OrderError) string {
	if o.Way != "unconfirmed" {
		return ""
	}
	return o.Why
}

// wayOut says what to do about a refusal.
func wayOut(way string) string {
	switch way {
	case "cancel":
		return ". Use its slot for nothing first (below); decide when that is beyond recall."
	case "unconfirmed":
		return ". If you know better, say so below and settle it all the same."
	case "twice":
		return ". Tick below that you take the risk."
	}
	return "."
}

// stale tells what happened while a page was looked at.
func stale(by intents.Event) notice {
	var said struct{ Why, Note string }
	_ = json.Unmarshal(by.Detail, &said) // evidence need not be an order
	text := by.Actor + " moved it from " + stateWords(by.From) + " to " + stateWords(by.To) + " at " + stamp(by.At)
	if said.Why != "" {
		text += ", saying: " + said.Why
	}
	return notice{Bad: true, Title: "Nothing was done: your page was out of date", Text: text + ". Below is how it stands now."}
}
