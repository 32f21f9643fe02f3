package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ruling is a verdict with what goes with it. alarm is for a person.
type ruling struct {
	verdict     intents.Verdict
	ref         string
	after, calm time.Duration
	alarm       string
}

const (
	configWait = time.Minute // refused by the edge or for our configuration: a person has to act first
	busyWait   = time.Second // told to slow down, not for how long
)

// judge is the table of the package comment.
func (a answer) judge(id string) ruling {
	switch a.status {
	case 0:
		return a.judgeSilence()
	case 200, 201, 202:
		return a.judgeGood(id)
	case 402:
		return a.judgeUnpaid(id)
	case 400, 422:
		return a.judgeBad()
	case 429:
		wait := cmp.Or(a.retryAfter, busyWait)
		return ruling{verdict: intents.NotSent, after: wait, calm: wait}
	case 401, 403, 404, 405, 406, 407, 410, 411, 413, 414, 415, 421, 426, 431:
		return ruling{verdict: intents.NotSent, after: cmp.Or(a.retryAfter, configWait), alarm: "the endpoint refuses our calls"}
	}
	return ruling{after: a.retryAfter, calm: a.retryAfter}
}

func (a answer) judgeSilence() ruling {
	if a.wrote {
		return ruling{}
	}
	if _, ok := errors.AsType[*blockedError](a.err); ok {
		return ruling{verdict: intents.NotSent, after: intents.MostRetry, alarm: "the endpoint has an address that must not be dialed"}
	}
	return ruling{verdict: intents.NotSent}
}

func (a answer) judgeGood(id string) ruling {
	p, ok := a.report()
	word := p.word()
	switch {
	case ok && p.declines(id):
		return ruling{verdict: intents.Declined}
	case a.status == 202:
		return ruling{verdict: intents.Accepted, ref: p.ref()}
	case !ok || p.ID != id:
		return ruling{}
	case word == done || word == none:
		return ruling{verdict: intents.Done, ref: p.ref()}
	case word == pending:
		return ruling{verdict: intents.Accepted, ref: p.ref()}
	}
	return ruling{}
}

// judgeUnpaid: 402 is used for a payment that was declined and for an account of ours that ran dry.
func (a answer) judgeUnpaid(id string) ruling {
	if p, ok := a.report(); ok && p.declines(id) {
		return ruling{verdict: intents.Declined}
	}
	return ruling{}
}

func (a answer) judgeBad() ruling {
	switch {
	case !a.whole:
		return ruling{}
	case keyClash(a.body):
		return ruling{alarm: "the endpoint knows our key with other bytes"}
	case a.status == 400 && !isObject(a.body):
		return ruling{alarm: "400 without a JSON object: a gateway, not the provider"}
	}
	return ruling{verdict: intents.Declined}
}

// keyClash says whether a refusal speaks of the idempotency key, in the words providers use.
func keyClash(body []byte) bool {
	s := strings.ToLower(string(body))
	return strings.Contains(s, "idempot") || strings.Contains(s, "key") && (strings.Contains(s, "reuse") || strings.Contains(s, "different"))
}

func isObject(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && json.Valid(body)
}

// report is what a provider says of a payment.
type report struct {
	ID        string `json:"id"`
	Reference string `json:"reference"`
	Status    string `json:"status"`
}

// report reads a whole body that is one JSON object and nothing else.
func (a answer) report() (report, bool) {
	var p report
	if !a.whole || !isObject(a.body) || json.Unmarshal(a.body, &p) != nil {
		return report{}, false
	}
	return p, true
}

// declines says whether the report is that our payment failed. One that names no id answers our call.
func (p report) declines(id string) bool {
	return p.word() == failed && (p.ID == id || p.ID == "")
}

// ref is what the provider calls the payment, cut to what a line and a column can bear.
func (p report) ref() string { return plain(cmp.Or(p.Reference, p.ID), 200) }

// word is the class of a status word. The order is how much weight a report has against others of its id.
type word int

const (
	none word = iota
	failed
	other // a word we do not know
	pending
	done
)

func (p report) word() word {
	switch strings.ToLower(p.Status) {
	case "":
		return none
	case "done", "paid", "settled", "completed", "complete", "succeeded", "success", "ok":
		return done
	case "pending", "processing", "in_progress", "accepted", "queued", "created", "received", "new":
		return pending
	case "failed", "declined", "rejected", "refused", "canceled", "cancelled":
		return failed
	}
	return other
}
